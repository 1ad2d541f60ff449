// Package conformance holds what every backend must pass: [Run] compares a
// backend's five group elements with their definitions, on circuits and
// assignments chosen to meet every branch, and checks the rules of
// [backend.Backend] on errors and cancellation.
//
// It is a package of its own so that package testing stays out of programs.
//
// The reference here shares with a backend the field, the curve and the
// expanded rows of r1cs, and nothing else: no transform, no multi-exponentiation.
package conformance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/groth16"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Circuits are the circuits that Run uses: sizes around words of 64 variables,
// and domains of 2^2 to 2^8 points.
func Circuits() []*Mixed {
	return []*Mixed{
		{Inputs: 1, Groups: 0, Seed: 1},
		{Inputs: 1, Groups: 2, Seed: 2},
		{Inputs: 5, Groups: 9, Seed: 3},
		{Inputs: 62, Groups: 3, Seed: 4},
		{Inputs: 63, Groups: 4, Seed: 5},
		{Inputs: 64, Groups: 12, Seed: 6},
	}
}

// Run is the conformance suite. newBackend is called once a test.
func Run(t *testing.T, newBackend func(testing.TB) backend.Backend) {
	for _, c := range Circuits() {
		t.Run(c.Name(), func(t *testing.T) { runSums(t, newBackend(t), c) })
	}
	t.Run("refuses", func(t *testing.T) { runRefusals(t, newBackend(t)) })
	t.Run("cancels", func(t *testing.T) { runCancel(t, newBackend(t)) })
}

// Key makes the key of a circuit in memory, from the known secrets.
func Key(t testing.TB, circuit *r1cs.Compiled) *srs.Key {
	t.Helper()
	var file memory
	open := func(vk *srs.VerifyingKey, s srs.Shape) (groth16.Sink, error) {
		file.start(vk, s)
		return &file, nil
	}
	if err := groth16.Setup(context.Background(), circuit, groth16.InsecureSecrets(), open, nil); err != nil {
		t.Fatal(err)
	}
	key, err := srs.NewKey(file.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// memory is a groth16.Sink that keeps the file.
type memory struct {
	bytes.Buffer
	lists []int // lengths of the lists to come
	left  int   // points still to come in the open list
}

func (m *memory) start(vk *srs.VerifyingKey, s srs.Shape) {
	m.Write(vk.Encode())
	m.lists = []int{s.H, s.L, s.A, s.B, s.B}
}

func (m *memory) point(b []byte) {
	for m.left == 0 {
		m.left, m.lists = m.lists[0], m.lists[1:]
		m.Write(binary.BigEndian.AppendUint32(nil, uint32(m.left)))
	}
	m.left--
	m.Write(b)
}

// G1 implements [groth16.Sink].
func (m *memory) G1(points []bls12381.G1Affine) error {
	for i := range points {
		b := points[i].RawBytes()
		m.point(b[:])
	}
	return nil
}

// G2 implements [groth16.Sink].
func (m *memory) G2(points []bls12381.G2Affine) error {
	for i := range points {
		b := points[i].RawBytes()
		m.point(b[:])
	}
	return nil
}

// Compile compiles a circuit or ends the test.
func Compile(t testing.TB, c r1cs.Circuit) *r1cs.Compiled {
	t.Helper()
	compiled, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// assignment is a named one.
type assignment struct {
	name string
	w    *r1cs.Assignment
}

// assignments are the circuit's own witness and others that do not satisfy it:
// sums are defined for every assignment, since c is a∘b by definition.
func assignments(c *Mixed, n r1cs.Counts) []assignment {
	minusOne := fr.One()
	minusOne.Neg(&minusOne)
	rng := rand.New(rand.NewPCG(7, c.Seed))
	random := func() (x fr.Element) {
		var b [48]byte
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		x.SetBytes(b[:])
		return x
	}
	few := func() fr.Element {
		k := rng.IntN(5)
		return []fr.Element{{}, fr.One(), minusOne, fr.NewElement(uint64(k + 2)), random()}[k]
	}
	constant := func(x fr.Element) func() fr.Element { return func() fr.Element { return x } }
	coin := func() bool { return rng.IntN(2) == 1 }
	yes, no := func() bool { return true }, func() bool { return false }
	return []assignment{
		{"witness", r1cs.Run(c).Assignment()},
		{"zeros", fill(n, no, constant(fr.Element{}))},
		{"ones", fill(n, yes, constant(fr.One()))},
		{"minus ones", fill(n, yes, constant(minusOne))},
		{"small", fill(n, coin, constant(fr.NewElement(3)))},
		{"random", fill(n, coin, random)},
		{"of every kind", fill(n, coin, few)},
	}
}

func fill(n r1cs.Counts, bit func() bool, element func() fr.Element) *r1cs.Assignment {
	w := r1cs.NewAssignment(n)
	for i := 1; i < n.Inputs; i++ {
		w.Inputs[i] = element()
	}
	at := r1cs.NewWriter(w, r1cs.Place{})
	for range n.Bits {
		at.Bit(bit())
	}
	for range n.Aux - n.Bits {
		x := element()
		at.Element(&x)
	}
	at.Flush()
	return w
}

func runSums(t *testing.T, b backend.Backend, c *Mixed) {
	circuit := Compile(t, c)
	key := Key(t, circuit)
	p := load(t, b, circuit, key)
	var ws []*r1cs.Assignment
	var alone []backend.Sums
	for _, a := range assignments(c, circuit.Counts()) {
		want, err := Reference(circuit, key, a.w)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.Sums(context.Background(), []*r1cs.Assignment{a.w}, nil)
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		if err := equal(&got[0], want); err != nil {
			t.Errorf("%s: %v", a.name, err)
		}
		ws, alone = append(ws, a.w), append(alone, got[0])
	}
	together, err := p.Sums(context.Background(), ws, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range together {
		if err := equal(&together[i], &alone[i]); err != nil {
			t.Errorf("assignment %d of a batch: %v", i, err)
		}
	}
}

func load(t *testing.T, b backend.Backend, circuit *r1cs.Compiled, key *srs.Key) backend.Prover {
	t.Helper()
	last := 0.0
	p, err := b.Load(context.Background(), circuit, key, func(done float64) {
		if done < last || done > 1 {
			t.Errorf("loading went from %v to %v", last, done)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if p.Bytes() < 0 {
		t.Errorf("prover holds %d bytes", p.Bytes())
	}
	return p
}

// equal names the first element that differs.
func equal(got, want *backend.Sums) error {
	for _, e := range []struct {
		name      string
		got, want bls12381.G1Affine
	}{{"H", got.H, want.H}, {"L", got.L, want.L}, {"A", got.A, want.A}, {"B1", got.B1, want.B1}} {
		if e.got != e.want {
			return fmt.Errorf("%s is %s, want %s", e.name, e.got.String(), e.want.String())
		}
	}
	if got.B2 != want.B2 {
		return fmt.Errorf("B2 is %s, want %s", got.B2.String(), want.B2.String())
	}
	return nil
}

// runRefusals: what does not fit is an error.
func runRefusals(t *testing.T, b backend.Backend) {
	c := &Mixed{Inputs: 3, Groups: 4, Seed: 9}
	circuit := Compile(t, c)
	key := Key(t, circuit)
	p := load(t, b, circuit, key)
	n := circuit.Counts()
	zero := r1cs.NewAssignment(n)
	zero.Inputs[0].SetZero()
	for name, w := range map[string]*r1cs.Assignment{
		"no assignment":     nil,
		"no values":         {},
		"an input less":     r1cs.NewAssignment(r1cs.Counts{Inputs: n.Inputs - 1, Aux: n.Aux, Bits: n.Bits}),
		"an element more":   r1cs.NewAssignment(r1cs.Counts{Inputs: n.Inputs, Aux: n.Aux + 1, Bits: n.Bits}),
		"a bit more":        r1cs.NewAssignment(r1cs.Counts{Inputs: n.Inputs, Aux: n.Aux + 1, Bits: n.Bits + 1}),
		"input 0 not one":   zero,
		"too few bit words": {Inputs: r1cs.NewAssignment(n).Inputs, NumBits: n.Bits, Elements: r1cs.NewAssignment(n).Elements},
	} {
		good := r1cs.Run(c).Assignment()
		if _, err := p.Sums(context.Background(), []*r1cs.Assignment{good, w}, nil); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	other := Compile(t, &Mixed{Inputs: 3, Groups: 5})
	if _, err := b.Load(context.Background(), other, key, nil); err == nil {
		t.Error("the key of another circuit was loaded")
	}
	if out, err := p.Sums(context.Background(), nil, nil); err != nil || len(out) != 0 {
		t.Errorf("no assignments: %d sums, error %v", len(out), err)
	}
}

// runCancel: a context cancelled before or in the middle ends the work with
// its error, and the prover still works afterwards.
func runCancel(t *testing.T, b backend.Backend) {
	c := &Mixed{Inputs: 2, Groups: 40, Seed: 11}
	circuit := Compile(t, c)
	p := load(t, b, circuit, Key(t, circuit))
	w := r1cs.Run(c).Assignment()
	many := slices.Repeat([]*r1cs.Assignment{w}, 50)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Sums(done, many, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before: error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	last := 0.0
	_, err := p.Sums(ctx, many, func(_ string, x float64) {
		last = max(last, x)
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled by the first report: error %v", err)
	}
	if last > 0.5 {
		t.Errorf("work went on to %.0f%% after it was cancelled", 100*last)
	}
	if _, err := p.Sums(context.Background(), many[:1], nil); err != nil {
		t.Errorf("after a cancelled run: %v", err)
	}
}
