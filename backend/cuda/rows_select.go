package cuda

import (
	"math/bits"

	gpu "cuzk/cuda"
	"cuzk/r1cs"
)

// ranks is a set as 32-bit masks with the number of members before each.
type ranks struct {
	masks, before []uint32
	count         int
}

func newRanks(s r1cs.Bitset) ranks {
	r := ranks{masks: make([]uint32, 2*len(s)), before: make([]uint32, 2*len(s))}
	for i, w := range s {
		r.masks[2*i], r.masks[2*i+1] = uint32(w), uint32(w>>32)
	}
	for i, m := range r.masks {
		r.before[i] = uint32(r.count)
		r.count += bits.OnesCount32(m)
	}
	return r
}

// bytes is the device memory of the two arrays.
func (r *ranks) bytes() int64 { return 2 * aligned(4*int64(len(r.masks))) }

// within is the set of the positions, among the members of of, of those that are
// in s too: a set of variables of one kind by their number within the kind.
func within(s, of r1cs.Bitset) r1cs.Bitset {
	out := r1cs.NewBitset(of.Count())
	at := 0
	for i, members := range of {
		for rest := members; rest != 0; {
			from := bits.TrailingZeros64(rest)
			n := bits.TrailingZeros64(^(rest >> from)) // members in a row
			put(out, at, s[i]>>from, n)
			at += n
			rest &^= ^uint64(0) >> (64 - n) << from
		}
	}
	return out
}

// put sets bits at, at+1, ... to the n low bits of x.
func put(s r1cs.Bitset, at int, x uint64, n int) {
	x &= ^uint64(0) >> (64 - n)
	s[at>>6] |= x << (at & 63)
	if at&63+n > 64 {
		s[at>>6+1] |= x >> (64 - at&63)
	}
}

// complement is the integers below n that are not in s.
func complement(s r1cs.Bitset, n int) r1cs.Bitset {
	out := r1cs.NewBitset(n)
	for i := range out {
		out[i] = ^s[i]
	}
	if n%64 != 0 {
		out[len(out)-1] &= 1<<(n%64) - 1
	}
	return out
}

// deviceRanks is a set in device memory.
type deviceRanks struct {
	masks, before gpu.Memory
	count         int
}

// selectBits enqueues the bits of the members, moved together, into out.
func (s *steps) selectBits(words gpu.Memory, r deviceRanks, out gpu.Memory) {
	n := int(r.masks.Bytes / 4)
	s.fill(out, 0)
	if n > 0 {
		s.launch("select_bits", perThread(int64(n)), words, r.masks, r.before, uint32(n), out)
	}
}

// selectElements enqueues the elements of the members among n, moved together.
func (s *steps) selectElements(elements gpu.Memory, n int, r deviceRanks, out gpu.Memory) {
	if n > 0 {
		s.launch("select_elements", perThread(int64(n)), elements, r.masks, r.before, uint32(n), out)
	}
}
