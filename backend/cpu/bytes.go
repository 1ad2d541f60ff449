package cpu

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
	"cuzk/srs"
)

// KeyBytes is at least what [backend.Prover.Bytes] will be for a circuit with
// these counts and a key of this shape: known before either is opened.
func (b *Backend) KeyBytes(n r1cs.Counts, s srs.Shape) int64 {
	points := int64(s.H+s.L+s.A+s.B)*2*fp.Bytes + int64(s.B)*4*fp.Bytes
	if points > b.opt.Resident {
		points = 0
	}
	aux := int64(n.Aux+63) / 64
	slots := int64(n.Inputs+63)/64 + aux
	return points + 8*aux + 3*12*slots // which aux are bits, and three sets of slots
}

// WorkBytesOf is about what one call of Sums takes beside the key and the
// assignments: the vectors of the quotient, a slice of points of each group with
// scalars and digits, and the assignment sorted by value.
func (b *Backend) WorkBytesOf(n r1cs.Counts, s srs.Shape) int64 {
	m := int64(s.H) + 1
	slice := min(int64(b.opt.Slice), m)
	elements := int64(n.Aux-n.Bits) * 8
	return 3*fr.Bytes*m + slice*(6*fp.Bytes+2*(fr.Bytes+32)) + elements + int64(n.Aux/8)
}
