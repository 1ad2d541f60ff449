package cuda

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"cuzk/backend"
	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
	"cuzk/groth16"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/srs"
)

// proverKernels are the kernels of a prover beside those of sums.
var proverKernels = []string{
	"rows_slices", "rows_longs", "rows_tail", "select_bits", "select_elements", "key_g1", "key_g2", "key_place_g1", "key_place_g2",
	"setup_basis", "setup_powers", "setup_slices", "setup_longs", "setup_inputs", "setup_reduce", "setup_combine", "setup_gather",
	"file_g1", "file_g2",
	"values_split", "values_rest", "values_products", "values_gather", "values_chunks", "values_sequence", "values_points", "values_rows",
}

var hostedProverProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hosted")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := hostedSources(dir); err != nil {
		return nil, err
	}
	for _, f := range []string{"rows", "setup", "values"} {
		if err := os.CopyFS(filepath.Join(dir, f), os.DirFS("../../kernels/"+f)); err != nil {
			return nil, err
		}
	}
	main, err := os.ReadFile(filepath.Join(dir, "msm/hosted/main.cc"))
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(main), `#include "../msm_tree.cu"`, `#include "../msm_tree.cu"
#include "../../rows/rows.cu"
#include "../../rows/select.cu"
#include "../../setup/setup.cu"
#include "../../setup/key.cu"
#include "../../setup/file.cu"
#include "../../values/values.cu"
#include "../../values/exponents.cu"`, 1)
	text = strings.Replace(text, "K(g2_ops)", "K(g2_ops), K("+strings.Join(proverKernels, "), K(")+")", 1)
	if err := os.WriteFile(filepath.Join(dir, "msm/hosted/main.cc"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "rows/atomic.cuh"), []byte("#pragma once\n#include \"../field/base.cuh\"\ninline void atomic_add64(uint64_t* p, uint64_t v) { *p += v; }\n"), 0o644); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "device")
	cmd := exec.Command("clang++-19", "-std=c++17", "-O2", "-w", "-I"+filepath.Join(dir, "field"), filepath.Join(dir, "msm/hosted/main.cc"), "-o", program)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(program)
})

// hostedMachine is the kernels on the CPU as a prover's machine. The quotient is
// computed by gnark-crypto's transforms, because its kernels are not compiled for
// the host.
type hostedMachine struct {
	*hosted
	mu            *sync.Mutex // one caller at a time
	sums          *Summer
	bytes, pinned int64
	sizes         map[uint64]int64
}

func newHostedMachine(t testing.TB) *hostedMachine {
	t.Helper()
	if _, err := exec.LookPath("clang++-19"); err != nil {
		t.Skip("the kernels are compiled for the host by clang++-19, which is not installed")
	}
	program, err := hostedProverProgram()
	if err != nil {
		t.Fatal(err)
	}
	h := startHosted(t, program)
	m := &hostedMachine{hosted: h, mu: &sync.Mutex{}, sizes: map[uint64]int64{}}
	m.sums = &Summer{dev: m}
	return m
}

func startHosted(t testing.TB, program []byte) *hosted {
	t.Helper()
	name := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(name, program, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, in, out := startPiped(t, name)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	d := &hosted{in: in, out: bufio.NewReader(out), calls: map[string]int{}}
	d.fact = facts{sms: 2, shared: 99 << 10, opsBlocks: map[string]int{"g1_ops": 1, "g2_ops": 1}}
	return d
}

// startPiped starts a program that was just written. A child that another test starts
// at the moment may hold it open for writing until it runs its own program.
func startPiped(t testing.TB, name string) (cmd *exec.Cmd, in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	for {
		cmd = exec.Command(name)
		cmd.Stderr = os.Stderr
		var err [3]error
		in, err[0] = cmd.StdinPipe()
		out, err[1] = cmd.StdoutPipe()
		err[2] = cmd.Start()
		if !errors.Is(err[2], syscall.ETXTBSY) {
			if err := errors.Join(err[:]...); err != nil {
				t.Fatal(err)
			}
			return cmd, in, out
		}
		time.Sleep(time.Millisecond)
	}
}

// do lets one goroutine at a time to the program.
func (m *hostedMachine) do(fn func(queue) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return fn(m.hosted)
}

func (m *hostedMachine) beside() (machine, error) { return m, nil }

func (m *hostedMachine) alloc(bytes int64) (gpu.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	mem, err := m.hosted.alloc(bytes)
	m.bytes += bytes
	m.sizes[mem.Ptr] = bytes
	return mem, err
}

func (m *hostedMachine) free(mem gpu.Memory) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes -= m.sizes[mem.Ptr]
	delete(m.sizes, mem.Ptr)
	return m.hosted.free(mem)
}

func (m *hostedMachine) send(ctx context.Context, dst gpu.Memory, fill filler) error {
	data := make([]byte, dst.Bytes)
	if err := errors.Join(ctx.Err(), fill(data, 0)); err != nil {
		return err
	}
	return m.do(func(q queue) error { return q.upload(dst, data) })
}

func (m *hostedMachine) pin(bytes int64) (*pinned, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pinned += bytes
	return &pinned{data: make([]byte, bytes)}, nil
}

func (m *hostedMachine) unpin(p *pinned) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pinned -= int64(len(p.data))
	p.data = nil
	return nil
}

func (m *hostedMachine) copyIn(dst gpu.Memory, p *pinned, off int64) error {
	return m.do(func(q queue) error { return q.upload(dst, p.data[off:off+dst.Bytes]) })
}

func (m *hostedMachine) copyOut(p *pinned, off int64, src gpu.Memory) error {
	return m.do(func(q queue) error { return q.download(p.data[off:off+src.Bytes], src) })
}

func (m *hostedMachine) summer() *Summer { return m.sums }
func (m *hostedMachine) close() error    { return nil }

func (m *hostedMachine) giveUp(why error) error { return why }

func (m *hostedMachine) quotient(logN int, _ bool) (quotienter, error) {
	return &hostedQuotient{m, 1 << logN}, nil
}

type hostedQuotient struct {
	m *hostedMachine
	n int
}

func (q *hostedQuotient) bytes() int64          { return 0 }
func (q *hostedQuotient) close() error          { return nil }
func (q *hostedQuotient) on(machine) quotienter { return q }

func (q *hostedQuotient) run(a, b, _ gpu.Memory) (gpu.Memory, error) {
	v := [3][]fr.Element{make([]fr.Element, q.n), make([]fr.Element, q.n), make([]fr.Element, q.n)}
	for i, mem := range []gpu.Memory{a, b} {
		if err := q.m.do(func(d queue) error { return d.download(rawBytes(v[i]), mem) }); err != nil {
			return a, err
		}
	}
	for i := range v[2] {
		v[2][i].Mul(&v[0][i], &v[1][i])
	}
	h, err := conformance.Quotient(v[0], v[1], v[2])
	if err != nil {
		return a, err
	}
	for i := range h {
		h[i] = fr.Element(h[i].Bits())
	}
	return a, q.m.do(func(d queue) error { return d.upload(a, rawBytes(append(h, fr.Element{}))) })
}

func (q *hostedQuotient) coset(a, b gpu.Memory) error {
	g, err := fft.Generator(2 * uint64(q.n))
	if err != nil {
		return err
	}
	domain := fft.NewDomain(uint64(q.n), fft.WithShift(g))
	for _, mem := range []gpu.Memory{a, b} {
		v := make([]fr.Element, q.n)
		if err := q.m.do(func(d queue) error { return d.download(rawBytes(v), mem) }); err != nil {
			return err
		}
		domain.FFTInverse(v, fft.DIF)
		domain.FFT(v, fft.DIT, fft.OnCoset())
		slices.Reverse(v[1:]) // negated places
		if err := q.m.do(func(d queue) error { return d.upload(mem, rawBytes(v)) }); err != nil {
			return err
		}
	}
	return nil
}

// hostedBackend makes provers on the CPU's kernels.
type hostedBackend struct {
	t     testing.TB
	limit int64
}

func (b *hostedBackend) Name() string { return "hosted" }

func (b *hostedBackend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	m := newHostedMachine(b.t)
	p, err := newProver(m, circuit, b.limit, Options{Works: 2})
	if err != nil {
		return nil, err
	}
	out, err := loaded(ctx, p, key, progress)
	if err == nil && p.Bytes() > p.plan.Total() {
		b.t.Errorf("prover of %s holds %d bytes, planned were %d", circuit.Name(), p.Bytes(), p.plan.Total())
	}
	b.t.Cleanup(func() {
		if m.bytes != 0 {
			b.t.Errorf("prover of %s left %d bytes on the device", circuit.Name(), m.bytes)
		}
	})
	return out, err
}

// TestHostedConformance runs the suite of all backends on the kernels compiled
// for the CPU.
func TestHostedConformance(t *testing.T) {
	t.Parallel()
	testutil.Slow(t, "a minute of one core")
	conformance.Run(t, func(t testing.TB) backend.Backend { return &hostedBackend{t, 1 << 30} })
}

// TestHostedProof compares the sums of one assignment with their definitions.
func TestHostedProof(t *testing.T) {
	t.Parallel()
	ctx, c := context.Background(), conformance.Circuits()[2]
	circuit := conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	b := &hostedBackend{t, 1 << 30}
	p, err := b.Load(ctx, circuit, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	w := r1cs.Run(c).Assignment()
	want, err := conformance.Reference(circuit, key, w)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Sums(ctx, []*r1cs.Assignment{w}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if g := got[0]; g.H != want.H || g.L != want.L || g.A != want.A || g.B1 != want.B1 || g.B2 != want.B2 {
		t.Errorf("sums are %+v, want %+v", g, want)
	}
}

// TestWrongDeviceIsNoticed flips bits of what lies on the device: the check of the
// finished proof must refuse it.
func TestWrongDeviceIsNoticed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds for every fault")
	}
	ctx, c := context.Background(), &conformance.Mixed{Inputs: 3, Groups: 3, Seed: 5}
	circuit := conformance.Compile(t, c)
	key := conformance.Key(t, circuit)
	b := &hostedBackend{t, 1 << 30}
	loaded, err := b.Load(ctx, circuit, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	p, ws := loaded.(*prover), []*r1cs.Assignment{r1cs.Run(c).Assignment()}
	prove := func() error {
		_, err := groth16.Prove(ctx, p, key.VK, ws, groth16.Fixed{R: fr.NewElement(3), S: fr.NewElement(4)}, nil)
		return err
	}
	if err := prove(); err != nil {
		t.Fatal(err)
	}
	for name, mem := range map[string]gpu.Memory{
		"h": p.key.h.mem, "l": p.key.l.others.mem, "a": p.key.a.others.mem, "b_g1": p.key.b1.others.mem, "b_g2": p.key.b2.others.mem,
		"the table of small multiples": {Ptr: p.one(t), Bytes: 32}, "who is in a": p.key.selA.elements.masks,
	} {
		before := fetch(t, p.machine, mem, 1)
		after := []byte{before[0] ^ 2}
		if err := p.machine.do(func(q queue) error { return q.upload(mem, after) }); err != nil {
			t.Fatal(err)
		}
		if err := prove(); !errors.Is(err, groth16.ErrSelfCheck) {
			t.Errorf("a bit of %s flipped: %v", name, err)
		}
		if err := p.machine.do(func(q queue) error { return q.upload(mem, before) }); err != nil {
			t.Fatal(err)
		}
	}
	if err := prove(); err != nil {
		t.Errorf("after the faults: %v", err)
	}
}

// one is where the rows' table has the number one.
func (p *prover) one(t *testing.T) uint64 {
	t.Helper()
	return binary.LittleEndian.Uint64(fetch(t, p.machine, p.rows.descriptor, 64)[56:]) + fr.Bytes*(smallLimit+1)
}
