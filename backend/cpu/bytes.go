package cpu

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/affine"
	"cuzk/r1cs"
	"cuzk/srs"
)

// KeyBytes is at least what [backend.Prover.Bytes] will be for a circuit with
// these counts: known before circuit or key is opened.
func (b *Backend) KeyBytes(n r1cs.Counts, _ srs.Shape) int64 {
	aux := int64(n.Aux+63) / 64
	slots := int64(n.Inputs+63)/64 + aux
	return 8*aux + 3*12*slots // which aux are bits, and three sets of slots
}

// WorkBytesOf is about what one call of Sums takes beside the key and the
// assignments: the vectors of the quotient and what its goroutines need, the
// buckets of three sums and what theirs need, and the assignment sorted by value.
func (b *Backend) WorkBytesOf(n r1cs.Counts, s srs.Shape) int64 {
	m := int64(s.H) + 1
	elements := n.Aux - n.Bits
	sums := affine.G1.NewMultiExp(int(m), cores()).Bytes() +
		affine.G1.NewMultiExp(elements, cores()).Bytes() +
		affine.G2.NewMultiExp(min(elements, s.B), cores()).Bytes()
	const pieces = 3 * 320 << 11 // of the vectors
	return 3*fr.Bytes*m + pieces*int64(cores()) + sums + int64(elements)*8 + int64(n.Aux/8)
}
