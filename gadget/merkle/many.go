package merkle

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/num"
	"cuzk/r1cs"
)

// WritePaths writes the witnesses of several Poseidon paths of one shape, level
// by level side by side, which hashes several times as fast as one path after
// the other (poseidon.WitnessMany). Path i goes to ws[i]; the paths must not
// depend on each other.
func WritePaths(ws []*r1cs.Writer, paths []Path, leaves []fr.Element) {
	n := len(paths)
	if n == 0 {
		return
	}
	nodes := append([]fr.Element(nil), leaves...)
	var (
		all = make([]fr.Element, 8*n)
		in  = make([][]fr.Element, n)
		dst = make([][]fr.Element, n)
	)
	for l, a := range paths[0].Arities {
		p := paths[0].Hash(a).(Poseidon)
		for i, w := range ws {
			st := &paths[i].Steps[l]
			w.Word(uint64(st.Index), uint(bitsOf(a)))
			copy(w.Reserve(a-1), st.Siblings)
			in[i] = all[8*i : 8*i+a]
			num.WriteInsert(w, &nodes[i], st.Index, st.Siblings, in[i])
			dst[i] = w.Reserve(p.WitnessLen())
		}
		p.WitnessMany(dst, in)
		for i := range nodes {
			nodes[i] = dst[i][len(dst[i])-1]
		}
	}
	for i, w := range ws {
		x := fr.NewElement(Index(paths[i].Arities, paths[i].Steps))
		w.Input(&x)
	}
}

// Counts are the values that Write writes, leaf and root excluded.
func (p Path) Counts() r1cs.Counts {
	n := r1cs.Counts{Inputs: 1}
	for _, a := range p.Arities {
		bits, elements := num.InsertCounts(a)
		n.Bits += bitsOf(a) + bits
		n.Aux += bitsOf(a) + bits + a - 1 + elements + p.Hash(a).(Poseidon).WitnessLen()
	}
	return n
}

// bitsOf is the number of position bits of a level.
func bitsOf(arity int) int { return bits.TrailingZeros(uint(arity)) }
