package merkle

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/gadget/num"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

func path(arities ...int) Path {
	return Path{Tree: "R", Arities: arities, Hash: PoseidonOf}
}

// TestPathDigest compares the matrix with the reference's (circuits.md G.1):
// leaf and root are values that the gadget allocates, the leaf before and the
// root after the levels, so the root is given here as the reference does.
func TestPathDigest(t *testing.T) {
	for name, c := range map[string]struct {
		arities []int
		public  bool
	}{
		"por_poseidon_8_64leaves_private":    {[]int{8, 8}, false},
		"por_poseidon_8_64leaves_public":     {[]int{8, 8}, true},
		"por_poseidon_882_1024leaves_public": {[]int{8, 8, 8, 2}, true},
	} {
		t.Run(name, func(t *testing.T) {
			gadgettest.Digest(t, name, func(s r1cs.System) {
				node := gadgettest.Numbers(s, 1)[0]
				p := path(c.arities...)
				var index []r1cs.Var
				for i := range p.Arities {
					out := s.Call(p.level(i), []r1cs.Var{node})
					node, index = out[0], append(index, out[1:]...)
				}
				num.PackInputs(s, num.Bits(index))
				root := gadgettest.Numbers(s, 1)[0]
				num.Equal(s, node, root)
				if c.public {
					num.Inputize(s, root)
				}
			})
		})
	}
}

// filled is a path with values and the root they lead to.
func filled(leaf *fr.Element, index int, arities ...int) (Path, fr.Element) {
	p := path(arities...)
	node := *leaf
	for i, n := range arities {
		st := Step{Index: index % n}
		index /= n
		all := make([]fr.Element, n)
		for j := range all {
			all[j] = gadgettest.Number(100*i + j)
		}
		all[st.Index] = node
		st.Siblings = append(append(st.Siblings, all[:st.Index]...), all[st.Index+1:]...)
		node = PoseidonOf(n).(Poseidon).Hash(all)
		p.Steps = append(p.Steps, st)
	}
	return p, node
}

func TestPathWitness(t *testing.T) {
	leaf := gadgettest.Number(77)
	for index := range 64 {
		p, root := filled(&leaf, index, 8, 2, 4)
		if got := Index(p.Arities, p.Steps); got != uint64(index) {
			t.Fatalf("index %d spelled as %d", index, got)
		}
		gadgettest.SameWitness(t,
			func(s r1cs.System) []r1cs.Var {
				return []r1cs.Var{s.Alloc(func() fr.Element { return leaf }), s.Alloc(func() fr.Element { return root })}
			},
			func(s r1cs.System, v []r1cs.Var) { s.Call(p, v) },
			func(w *r1cs.Writer) {
				if got := p.Write(w, &leaf); got != root {
					t.Errorf("index %d: root %s, want %s", index, got.String(), root.String())
				}
			})
	}
}

// TestTamperedPath changes single variables and names the row that must fail.
// At index 11 the lowest position is 3: rows 0 to 2 are its bits, 3 is nor, 4
// is and, and the first pick whose condition holds and that reads the leaf is
// that of row 7 (b0 ? leaf : e0).
func TestTamperedPath(t *testing.T) {
	leaf := gadgettest.Number(5)
	p, root := filled(&leaf, 11, 8, 8)
	s := rtest.New()
	v := []r1cs.Var{s.Alloc(func() fr.Element { return leaf }), s.Alloc(func() fr.Element { return root })}
	s.Call(p, v)
	for _, c := range []struct {
		name string
		v    r1cs.Var
		row  int
		path string
	}{
		{"root", v[1], len2(p), "path-R 8-8"},
		{"leaf", v[0], 7, "path-R 8-8/merkle-level poseidon-8"},
		{"first position bit", r1cs.Aux(2), 4, "path-R 8-8/merkle-level poseidon-8"},
		{"index", r1cs.Input(1), len2(p) - 1, "path-R 8-8"},
	} {
		restore := s.Tamper(c.v)
		row, where := s.Unsatisfied()
		restore()
		if row != c.row || where != c.path {
			t.Errorf("%s changed: row %d in %q fails, want %d in %q", c.name, row, where, c.row, c.path)
		}
	}
}

// len2 is the number of the last row of a path of oct levels.
func len2(p Path) int { return 530*len(p.Arities) + 1 }
