package r1cs

import "math/bits"

// Bitset is a set of small integers, bit i of word i/64.
type Bitset []uint64

// NewBitset holds integers below n.
func NewBitset(n int) Bitset { return make(Bitset, (n+63)/64) }

// Has tells whether i is in the set.
func (s Bitset) Has(i int) bool { return s[i>>6]>>(i&63)&1 == 1 }

// Set adds i.
func (s Bitset) Set(i int) { s[i>>6] |= 1 << (i & 63) }

// Count is the number of members.
func (s Bitset) Count() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// setRange adds from, from+1, ... from+n-1.
func (s Bitset) setRange(from, n int) {
	for n > 0 {
		k := min(n, 64-from&63)
		s[from>>6] |= ^uint64(0) >> (64 - k) << (from & 63)
		from, n = from+k, n-k
	}
}

// orAt adds every member of o moved up by at.
func (s Bitset) orAt(o Bitset, at int) {
	w, r := at>>6, uint(at&63)
	for i, x := range o {
		if x == 0 {
			continue
		}
		s[w+i] |= x << r
		if hi := x >> (64 - r); r > 0 && hi != 0 {
			s[w+i+1] |= hi
		}
	}
}
