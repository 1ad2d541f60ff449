// Package gadgettest holds what every gadget's test asks: does its matrix have
// the reference's digest, flat and compiled, and does every variable matter.
package gadgettest

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

// golden has a line a gadget: name, inputs, aux, rows, D1; copied from the
// reference's gadget runs (bellpepper-core 0.2.1, neptune 11, storage-proofs
// 19.1; licence MIT or Apache-2.0).
//
//go:embed gadgets.tsv
var golden string

func row(t *testing.T, name string) (n r1cs.Counts, d1 string) {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(golden))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), name+"\t"); ok {
			if _, err := fmt.Sscan(rest, &n.Inputs, &n.Aux, &n.Rows, &d1); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			return n, d1
		}
	}
	t.Fatalf("no golden digest of %s", name)
	return n, d1
}

// Digest runs a body flat and through the recorder and compares sizes and D1
// of both with the reference's.
func Digest(t *testing.T, name string, body func(r1cs.System)) {
	t.Helper()
	want, d1 := row(t, name)
	flat := r1cs.NewDigester()
	body(flat)
	compare(t, name+" flat", flat.Summary(), want, d1)
	c, err := r1cs.Compile(rtest.Func{Title: name, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	sum, err := c.Summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, name+" compiled", sum, want, d1)
}

func compare(t *testing.T, what string, got r1cs.Summary, want r1cs.Counts, d1 string) {
	t.Helper()
	if got.Inputs != want.Inputs || got.Aux != want.Aux || got.Rows != want.Rows {
		t.Errorf("%s: %d inputs, %d aux, %d rows; reference %d, %d, %d",
			what, got.Inputs, got.Aux, got.Rows, want.Inputs, want.Aux, want.Rows)
	}
	if h := hex.EncodeToString(got.D1[:]); h != d1 {
		t.Errorf("%s: D1 %s, reference %s", what, h, d1)
	}
}

// Numbers allocates n numbers without rows; their values are spread over the
// field and differ.
func Numbers(s r1cs.System, n int) []r1cs.Var {
	out := make([]r1cs.Var, n)
	for i := range out {
		out[i] = s.Alloc(func() fr.Element { return Number(i) })
	}
	return out
}

// Number is the value of the i-th of Numbers.
func Number(i int) (x fr.Element) {
	x.SetUint64(uint64(i) + 3)
	return *x.Exp(x, fr.Modulus().Rsh(fr.Modulus(), 3))
}

// Bits allocates n bits with their rows; bit i is bit i%64 of pattern.
func Bits(s r1cs.System, n int, pattern uint64) []r1cs.Var {
	out := make([]r1cs.Var, n)
	for i := range out {
		out[i] = boolean.Alloc(s, func() bool { return pattern>>(i&63)&1 == 1 })
	}
	return out
}

// EveryVariableMatters changes each variable of a satisfied run in turn and
// fails the test if all rows still hold.
func EveryVariableMatters(t *testing.T, body func(r1cs.System)) {
	t.Helper()
	s := rtest.New()
	body(s)
	if row, path := s.Unsatisfied(); row >= 0 {
		t.Fatalf("row %d in %s does not hold before anything was changed", row, path)
	}
	for i := range s.Aux {
		restore := s.Tamper(r1cs.Aux(i))
		if row, _ := s.Unsatisfied(); row < 0 {
			t.Errorf("aux %d can be changed unseen", i)
		}
		restore()
	}
	for i := 1; i < len(s.Inputs); i++ {
		restore := s.Tamper(r1cs.Input(i))
		if row, _ := s.Unsatisfied(); row < 0 {
			t.Errorf("input %d can be changed unseen", i)
		}
		restore()
	}
}

// SameWitness compares a direct generator with the gadget's body: the body runs
// on the values of setup, and what it allocates after must be what direct
// writes.
func SameWitness(t *testing.T, setup func(r1cs.System) []r1cs.Var, body func(r1cs.System, []r1cs.Var), direct func(*r1cs.Writer)) {
	t.Helper()
	r := r1cs.NewRunner()
	vars := setup(r)
	before := r.Assignment()
	body(r, vars)
	if r.Failed >= 0 {
		t.Fatalf("row %d in %v does not hold", r.Failed, r.FailedIn)
	}
	want := r.Assignment()
	n := r1cs.Counts{Inputs: len(r.Inputs), Aux: len(r.Aux), Bits: want.NumBits}
	got := r1cs.NewAssignment(n)
	copy(got.Inputs, before.Inputs)
	copy(got.Bits, before.Bits)
	copy(got.Elements, before.Elements)
	w := r1cs.NewWriter(got, r1cs.Place{Input: len(before.Inputs), Bit: before.NumBits, Element: len(before.Elements)})
	direct(w)
	w.Flush()
	if end := (r1cs.Place{Input: n.Inputs, Bit: n.Bits, Element: n.Aux - n.Bits}); w.Place() != end {
		t.Fatalf("direct witness ends at %+v, body at %+v", w.Place(), end)
	}
	for i := range want.Inputs {
		if got.Inputs[i] != want.Inputs[i] {
			t.Fatalf("input %d: direct %s, body %s", i, got.Inputs[i].String(), want.Inputs[i].String())
		}
	}
	for i := range want.NumBits {
		if got.Bit(i) != want.Bit(i) {
			t.Fatalf("bit %d: direct %v, body %v", i, got.Bit(i), want.Bit(i))
		}
	}
	for i := range want.Elements {
		if got.Elements[i] != want.Elements[i] {
			t.Fatalf("element %d: direct %s, body %s", i, got.Elements[i].String(), want.Elements[i].String())
		}
	}
}
