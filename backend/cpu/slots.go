package cpu

import (
	"math/bits"

	"cuzk/r1cs"
)

// Variables are numbered in slots: inputs first, then, from the next multiple
// of 64 on, the aux. So a word of a set belongs to inputs or to aux, and sets of
// aux that the circuit gives apply word by word.

// auxSlot is the slot of aux 0.
func (p *prover) auxSlot() int { return (p.layout.Counts.Inputs + 63) &^ 63 }

// slots is the set of the given inputs and aux as slots. nil stands for none.
func (p *prover) slots(inputs, aux r1cs.Bitset) *slotSet {
	words := r1cs.NewBitset(p.auxSlot() + p.layout.Counts.Aux)
	copy(words[:p.auxSlot()/64], inputs)
	copy(words[p.auxSlot()/64:], aux)
	return newSlotSet(words)
}

// fullBits is the set of all integers below n.
func fullBits(n int) r1cs.Bitset {
	s := r1cs.NewBitset(n)
	for i := range s {
		s[i] = ^uint64(0)
	}
	if n%64 != 0 {
		s[len(s)-1] = 1<<(n%64) - 1
	}
	return s
}

// slotSet is a set of slots that tells a member's position among the members,
// which is where its point lies in a query.
type slotSet struct {
	bits   r1cs.Bitset
	before []uint32 // members in the words before
}

func newSlotSet(s r1cs.Bitset) *slotSet {
	set := &slotSet{bits: s, before: make([]uint32, len(s))}
	n := 0
	for i, w := range s {
		set.before[i] = uint32(n)
		n += bits.OnesCount64(w)
	}
	return set
}

// position is how many members are below slot i.
func (s *slotSet) position(i int) int {
	w := s.bits[i>>6] & (1<<(i&63) - 1)
	return int(s.before[i>>6]) + bits.OnesCount64(w)
}

// words is the storage in words of 64 bits.
func (s *slotSet) words() int { return len(s.bits) + len(s.before)/2 }
