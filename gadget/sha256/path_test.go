package sha256_test

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/sha256"
	"cuzk/r1cs"
)

// TestPathDigest is a public path of 64 leaves as the reference's gadget test
// sets it up: leaf and root are values that the gadget allocates.
func TestPathDigest(t *testing.T) {
	const name, levels = "por_sha256_2_64leaves_public", 6
	gadgettest.Digest(t, name, func(s r1cs.System) {
		node := gadgettest.Numbers(s, 1)[0]
		var index []r1cs.Var
		for range levels {
			out := s.Call(merkle.Level{Arity: 2, Hash: sha256.Hash2{}}, []r1cs.Var{node})
			node, index = out[0], append(index, out[1:]...)
		}
		num.PackInputs(s, num.Bits(index))
		root := gadgettest.Numbers(s, 1)[0]
		num.Equal(s, node, root)
		num.Inputize(s, root)
	})
}

// TestLevelWitness hashes on the left and on the right.
func TestLevelWitness(t *testing.T) {
	for index := range 2 {
		node := gadgettest.Number(3)
		l := merkle.Level{Arity: 2, Hash: sha256.Hash2{}, Step: &merkle.Step{Index: index, Siblings: []fr.Element{gadgettest.Number(4)}}}
		gadgettest.SameWitness(t,
			func(s r1cs.System) []r1cs.Var { return gadgettest.Numbers(s, 4)[3:] },
			func(s r1cs.System, v []r1cs.Var) {
				node = s.Value(v[0])
				s.Call(l, v)
			},
			func(w *r1cs.Writer) { l.Write(w, &node) })
	}
}
