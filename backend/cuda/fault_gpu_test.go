package cuda

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
	"cuzk/groth16"
	"cuzk/r1cs"
	"cuzk/srs"
)

// faulty is a loaded key on a card with an assignment to prove.
type faulty struct {
	*prover
	t  *testing.T
	vk *srs.VerifyingKey
	ws []*r1cs.Assignment
}

func loadFaulty(t *testing.T, b *Backend) *faulty {
	c := &conformance.Mixed{Inputs: 3, Groups: 30, Seed: 5}
	circuit := conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	p, err := b.Load(t.Context(), circuit, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &faulty{p.(*prover), t, key.VK, []*r1cs.Assignment{r1cs.Run(c).Assignment()}}
}

// prove makes a proof with the usual check.
func (f *faulty) prove() error {
	_, err := groth16.Prove(f.t.Context(), f.prover, f.vk, f.ws, groth16.Fixed{R: fr.NewElement(3), S: fr.NewElement(4)}, nil)
	return err
}

func (f *faulty) put(mem gpu.Memory, data []byte) {
	f.t.Helper()
	if err := f.machine.do(func(q queue) error { return q.upload(mem, data) }); err != nil {
		f.t.Fatal(err)
	}
}

// flip turns a bit of each element of tables.
func (f *faulty) flip(tables []gpu.Memory) {
	f.t.Helper()
	for _, mem := range tables {
		data := fetch(f.t, f.machine, mem, mem.Bytes)
		for i := 0; i < len(data); i += fr.Bytes {
			data[i] ^= 2
		}
		f.put(mem, data)
	}
}

// refused proves with a fault, and again after its repair.
func (f *faulty) refused(name string, fault, repair func()) {
	f.t.Helper()
	fault()
	if err := f.prove(); !errors.Is(err, groth16.ErrSelfCheck) {
		f.t.Errorf("%s: %v", name, err)
	}
	repair()
	if err := f.prove(); err != nil {
		f.t.Errorf("%s repaired: %v", name, err)
	}
}

// skipping is a machine that leaves out the launches of a kernel.
type skipping struct {
	machine
	kernel string
}

func (m skipping) do(fn func(queue) error) error {
	return m.machine.do(func(q queue) error { return fn(skippingQueue{q, m.kernel}) })
}

type skippingQueue struct {
	queue
	kernel string
}

func (q skippingQueue) launch(kernel string, s shape, args ...any) error {
	if kernel == q.kernel {
		return nil
	}
	return q.queue.launch(kernel, s, args...)
}

// TestFaultsOnACardAreRefused: a bit flipped in what lies on a card, a kernel that
// did not run and another key's points give proofs that are refused; without the
// fault the next one is right.
func TestFaultsOnACardAreRefused(t *testing.T) {
	b := openFirst(t, Options{Memory: 4 << 30})
	f := loadFaulty(t, b)
	defer f.Close()
	if err := f.prove(); err != nil {
		t.Fatal(err)
	}
	q := f.tables.(*standQuotient).q
	places := map[string]gpu.Memory{
		"h": f.key.h.mem, "l": f.key.l.others.mem, "a": f.key.a.others.mem, "b_g1": f.key.b1.others.mem, "b_g2": f.key.b2.others.mem,
		"who is in a": f.key.selA.elements.masks, "scales": q.scale,
	}
	for name, mem := range places {
		before := fetch(t, f.machine, mem, min(mem.Bytes, 64*fr.Bytes))
		after := slices.Clone(before)
		for i := 0; i < len(after); i += 2 * fr.Bytes {
			after[i] ^= 2
		}
		f.refused("a bit of "+name, func() { f.put(mem, after) }, func() { f.put(mem, before) })
	}
	f.refused("a bit of every twiddle", func() { f.flip(q.mem.list) }, func() { f.flip(q.mem.list) })
	w := f.works[0]
	for _, kernel := range []string{"rows_slices", "select_elements"} {
		m, other := w.m, w.other.m
		f.refused("without "+kernel, func() { w.m, w.other.m = skipping{m, kernel}, skipping{other, kernel} }, func() { w.m, w.other.m = m, other })
	}
	secrets := Secrets(*groth16.InsecureSecrets())
	secrets.Tau.SetUint64(12345)
	stale, _, err := b.Setup(t.Context(), f.circuit, &secrets, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stale.Close()
	good := f.prover
	f.refused("another key's points", func() { f.prover = stale.(*prover) }, func() { f.prover = good })
	f.prover = good
}

// inChild is set in a process of its own that a test has started for itself.
const inChild = "CUZK_TEST_CHILD"

// TestIllegalAddress: after an illegal address everything on the context fails with
// its class, and closing does not hang. Opening the card again says the same class,
// where the driver wants a new process, or gives a card that proves. All of it happens
// in a process of its own, since other tests could not open the card afterwards.
func TestIllegalAddress(t *testing.T) {
	info := firstCard(t)
	if os.Getenv(inChild) != "" {
		illegalAddress(t, info)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestIllegalAddress$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), inChild+"=1")
	out, err := cmd.CombinedOutput()
	t.Logf("in a process of its own:\n%s", out)
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestIllegalAddress")) {
		t.Errorf("ended with %v", err)
	}
}

func illegalAddress(t *testing.T, info gpu.Device) {
	d, err := Open(info)
	if err != nil {
		t.Fatal(err)
	}
	b := New(d, Options{Memory: 2 << 30})
	f := loadFaulty(t, b)
	if err := f.prove(); err != nil {
		t.Fatal(err)
	}
	err = enqueue(f.machine, func(s *steps) {
		nowhere := gpu.Memory{Ptr: 0x10, Bytes: 1 << 20}
		s.launch("key_g1", perPoint(128), nowhere, uint32(128), nowhere, nowhere)
	})
	if err == nil {
		err = settle(t.Context(), f.machine)
	}
	if !errors.Is(err, gpu.ErrSticky) || errors.Is(err, gpu.ErrDeviceLost) {
		t.Fatalf("the illegal launch: %v", err)
	}
	if err := f.prove(); !errors.Is(err, gpu.ErrSticky) {
		t.Errorf("a proof afterwards: %v", err)
	}
	start := time.Now()
	if err := errors.Join(f.Close(), b.Close(), d.Close()); !errors.Is(err, gpu.ErrSticky) {
		t.Errorf("closing: %v", err)
	}
	t.Logf("closing took %v", time.Since(start))
	start = time.Now()
	again, err := Open(info)
	if errors.Is(err, gpu.ErrSticky) {
		t.Logf("this driver lets the process open the card no more: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh := New(again, Options{Memory: 2 << 30})
	g := loadFaulty(t, fresh)
	t.Logf("opened again with its key in %v", time.Since(start))
	if err := errors.Join(g.prove(), g.Close(), fresh.Close()); err != nil {
		t.Error(err)
	}
	if left := again.Owner().Balance(); left != (gpu.Balance{}) {
		t.Errorf("left on the device: %+v", left)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// TestCancelledSumEndsSoon cancels a sum of 2^26 multiples soon after its start. The
// bound is wide, for cards that are shared; the time is logged.
func TestCancelledSumEndsSoon(t *testing.T) {
	b := openFirst(t, Options{})
	if b.dev.Info().Memory < 40<<30 {
		t.Skip("needs 40 GB on the card")
	}
	const n = 1 << 26
	m, err := b.stand()
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	before := b.dev.Owner().Balance()
	held := holding{m: m}
	defer held.free()
	points, scalars := manyTerms(t, m, &held, n)
	scratch, err := held.alloc(msmBytes(m.facts(), curveG1, n, 16<<30, 0))
	if err != nil {
		t.Fatal(err)
	}
	sum := func(ctx context.Context) (bls12381.G1Affine, time.Duration, error) {
		start := time.Now()
		s, err := m.sums.MSMG1(ctx, points, Scalars{scalars, n, Montgomery}, scratch)
		return s, time.Since(start), err
	}
	want, whole, err := sum(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{5 * time.Millisecond, whole / 2} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(after, cancel)
		_, took, err := sum(ctx)
		if err := settle(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		t.Logf("cancelled after %v of %v: ended %v later", after, whole, took-after)
		if !errors.Is(err, context.Canceled) || took-after > 2*time.Second {
			t.Errorf("cancelled after %v: %v after %v", after, err, took)
		}
	}
	if got, _, err := sum(t.Context()); err != nil || got != want {
		t.Errorf("afterwards %v, want %v, error %v", got, want, err)
	}
	if err := held.free(); err != nil {
		t.Error(err)
	}
	if after := b.dev.Owner().Balance(); after != before {
		t.Errorf("allocated %+v, before %+v", after, before)
	}
}

// manyTerms fills memory with n points and scalars, of which 2^16 are different.
func manyTerms(t *testing.T, m *stand, held *holding, n int64) (points, scalars gpu.Memory) {
	t.Helper()
	const some = 1 << 16
	_, _, g, _ := bls12381.Generators()
	list := bls12381.BatchScalarMultiplicationG1(&g, fastSample(some, 9))
	fill := func(unit int64, data []byte) gpu.Memory {
		mem, err := held.alloc(n * unit)
		if err != nil {
			t.Fatal(err)
		}
		err = m.dev.owner.Do(func(c *gpu.Context) error {
			if err := c.Upload(mem, data); err != nil {
				return err
			}
			for have := int64(len(data)); have < mem.Bytes; have *= 2 {
				if err := c.CopyOnDevice(mem.Slice(have, have), mem.Slice(0, have), m.stream); err != nil {
					return err
				}
			}
			return c.SyncStream(m.stream)
		})
		if err != nil {
			t.Fatal(err)
		}
		return mem
	}
	return fill(curveG1.point, rawBytes(list)), fill(fr.Bytes, rawBytes(fastSample(some, 10)))
}

// TestKernelsAreCompiled logs how long the driver takes for each module: the
// compiler's times on a machine whose cache is empty.
func TestKernelsAreCompiled(t *testing.T) {
	b := openFirst(t, Options{})
	start := time.Now()
	times, err := b.LoadTimed()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range times {
		t.Logf("%-14s %v", m.Name, m.Took.Round(time.Millisecond))
	}
	t.Logf("together %v", time.Since(start).Round(time.Millisecond))
}
