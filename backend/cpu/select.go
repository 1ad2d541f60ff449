package cpu

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// sel sorts an assignment that fits the circuit.
func (p *prover) sel(w *r1cs.Assignment) *selection {
	s := &selection{ones: r1cs.NewBitset(p.auxSlot() + p.layout.Counts.Aux)}
	for i := range w.Inputs {
		s.put(i, &w.Inputs[i])
	}
	from := bitReader{words: w.Bits}
	element, first := 0, p.auxSlot()
	for i, kinds := range p.kinds {
		s.ones[first/64+i] |= from.deposit(kinds)
		n := min(64, p.layout.Counts.Aux-64*i)
		for rest := ^kinds & (^uint64(0) >> (64 - n)); rest != 0; rest &= rest - 1 {
			s.put(first+64*i+bits.TrailingZeros64(rest), &w.Elements[element])
			element++
		}
	}
	return s
}

// put files the value of a slot.
func (s *selection) put(slot int, x *fr.Element) {
	switch {
	case x.IsZero():
	case x.IsOne():
		s.ones.Set(slot)
	default:
		s.others = append(s.others, uint32(slot))
		s.values = append(s.values, *x)
	}
}

// bitReader hands out bits in order.
type bitReader struct {
	words []uint64
	at    int
}

// take is the next n bits, 0 to 64.
func (r *bitReader) take(n int) uint64 {
	if n == 0 {
		return 0
	}
	word, off := r.at>>6, r.at&63
	x := r.words[word] >> off
	if off+n > 64 {
		x |= r.words[word+1] << (64 - off)
	}
	r.at += n
	return x & (^uint64(0) >> (64 - n))
}

// deposit puts the next bits at the places that are set in mask, lowest first.
// Kinds come in long runs, so whole runs are moved.
func (r *bitReader) deposit(mask uint64) (out uint64) {
	for mask != 0 {
		from := bits.TrailingZeros64(mask)
		n := bits.TrailingZeros64(^(mask >> from))
		out |= r.take(n) << from
		mask &^= ^uint64(0) >> (64 - n) << from
	}
	return out
}
