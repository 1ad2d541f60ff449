package r1cs_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/circuit/porep"
	"cuzk/circuit/post"
	"cuzk/r1cs"
	"cuzk/sector"
)

// randomAssignment fits counts; it need not satisfy anything.
func randomAssignment(n r1cs.Counts, seed uint64) *r1cs.Assignment {
	rnd := rand.New(rand.NewPCG(seed, 5))
	element := func() (x fr.Element) {
		x.SetUint64(rnd.Uint64())
		return *x.Square(x.Square(&x))
	}
	a := r1cs.NewAssignment(n)
	for i := 1; i < n.Inputs; i++ {
		a.Inputs[i] = element()
	}
	for i := range a.Elements {
		a.Elements[i] = element()
	}
	for i := range a.Bits {
		a.Bits[i] = rnd.Uint64()
	}
	if n.Bits%64 != 0 {
		a.Bits[len(a.Bits)-1] &= 1<<(n.Bits%64) - 1
	}
	return a
}

// TestProgramEqualsTree compares the flat arrays' meaning with the tree's, for
// circuits of this package's gadgets and for real ones.
func TestProgramEqualsTree(t *testing.T) {
	circuits := []r1cs.Circuit{circuit(0, 1), circuit(3, 5), post.Blank(post.Winning, sector.Size2KiB)}
	if !testing.Short() {
		circuits = append(circuits, porep.Blank(sector.Size2KiB))
	}
	for _, c := range circuits {
		t.Run(c.Name(), func(t *testing.T) {
			compiled := compile(t, c)
			programEqualsTree(t, compiled)
			again, err := r1cs.Decode(compiled.Encode())
			if err != nil {
				t.Fatal(err)
			}
			programEqualsTree(t, again)
		})
	}
}

func programEqualsTree(t *testing.T, c *r1cs.Compiled) {
	t.Helper()
	p, err := c.Program()
	if err != nil {
		t.Fatal(err)
	}
	n := c.Counts()
	w := randomAssignment(n, uint64(n.Rows))
	var got, want [3][]fr.Element
	for m := range got {
		got[m], want[m] = make([]fr.Element, n.Rows), make([]fr.Element, n.Rows)
		for i := range got[m] {
			got[m][i].SetUint64(77) // a row that nobody writes must show
		}
	}
	p.Evaluate(w, &got)
	if err := c.Evaluate(t.Context(), w, want[0], want[1], want[2]); err != nil {
		t.Fatal(err)
	}
	for m := range got {
		for i := range got[m] {
			if got[m][i] != want[m][i] {
				t.Fatalf("matrix %d, row %d: %s, the tree gives %s", m, i, got[m][i].String(), want[m][i].String())
			}
		}
	}
}

// TestEachRowSplitsInputs compares what EachRow gives with Evaluate, and the part of
// the inputs with an assignment that has nothing else.
func TestEachRowSplitsInputs(t *testing.T) {
	for _, ct := range []r1cs.Circuit{circuit(0, 1), circuit(3, 5), post.Blank(post.Winning, sector.Size2KiB)} {
		c := compile(t, ct)
		n := c.Counts()
		w, alone := randomAssignment(n, 3), r1cs.NewAssignment(n)
		copy(alone.Inputs, w.Inputs)
		var all, inputs, got, gotInputs [3][]fr.Element
		for _, v := range []*[3][]fr.Element{&all, &inputs, &got, &gotInputs} {
			for m := range v {
				v[m] = make([]fr.Element, n.Rows)
			}
		}
		err := errors.Join(c.Evaluate(t.Context(), w, all[0], all[1], all[2]), c.Evaluate(t.Context(), alone, inputs[0], inputs[1], inputs[2]),
			c.EachRow(t.Context(), w, func() func(int, *[3]fr.Element, *[3]fr.Element) {
				return func(row int, v, in *[3]fr.Element) {
					for m := range v {
						got[m][row], gotInputs[m][row] = v[m], in[m]
					}
				}
			}))
		if err != nil {
			t.Fatal(err)
		}
		for m := range got {
			if !slices.Equal(got[m], all[m]) || !slices.Equal(gotInputs[m], inputs[m]) {
				t.Errorf("%s: values in matrix %d differ", c.Name(), m)
			}
		}
	}
}
