package cpu

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// selection is an assignment sorted by what its values cost: zeros cost
// nothing and are in neither list.
type selection struct {
	w      *r1cs.Assignment
	ones   r1cs.Bitset // slots whose value is one
	others []other     // variables with any other value, by ascending slot
}

// other is a variable that needs multi-exponentiation. Its value is found by
// number: inputs first, then elements.
type other struct{ slot, number uint32 }

// sel sorts an assignment that fits the circuit.
func (p *prover) sel(w *r1cs.Assignment) *selection {
	first := p.auxSlot()
	s := &selection{w: w, ones: r1cs.NewBitset(first + p.layout.Counts.Aux)}
	number := 0
	for ; number < len(w.Inputs); number++ {
		s.put(number, number)
	}
	from := bitReader{words: w.Bits}
	for i, kinds := range p.kinds {
		s.ones[first/64+i] |= from.deposit(kinds)
		n := min(64, p.layout.Counts.Aux-64*i)
		for rest := ^kinds & (^uint64(0) >> (64 - n)); rest != 0; rest &= rest - 1 {
			s.put(first+64*i+bits.TrailingZeros64(rest), number)
			number++
		}
	}
	return s
}

// put files the variable of a slot.
func (s *selection) put(slot, number int) {
	switch x := s.value(uint32(number)); {
	case x.IsZero():
	case x.IsOne():
		s.ones.Set(slot)
	default:
		s.others = append(s.others, other{uint32(slot), uint32(number)})
	}
}

// value is the value of the variable of a number.
func (s *selection) value(number uint32) *fr.Element {
	if n := uint32(len(s.w.Inputs)); number >= n {
		return &s.w.Elements[number-n]
	}
	return &s.w.Inputs[number]
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
