package sha256

import (
	"math/bits"

	"cuzk/r1cs"
)

// Witness appends the bits of a compression to w, in order of allocation, and
// moves the state on. block and state are the values of all bits, constant ones
// included; they must fit the plan's shape.
func (p *Plan) Witness(w *r1cs.Writer, block *[blockWords]uint32, state *[stateWords]uint32) {
	var m [rounds]uint32
	copy(m[:], block[:])
	p.writeSchedule(w, &m)
	p.writeRounds(w, &m, state)
}

func (p *Plan) writeSchedule(w *r1cs.Writer, m *[rounds]uint32) {
	for i := blockWords; i < rounds; i++ {
		x, y := m[i-15], m[i-2]
		s0a := bits.RotateLeft32(x, -7) ^ bits.RotateLeft32(x, -18)
		s0b := s0a ^ x>>3
		s1a := bits.RotateLeft32(y, -17) ^ bits.RotateLeft32(y, -19)
		s1b := s1a ^ y>>10
		sum := uint64(m[i-16]) + uint64(s0b) + uint64(m[i-7]) + uint64(s1b)
		m[i] = uint32(sum)
		switch {
		case p.full[0]>>(i-blockWords)&1 == 1:
			w.Word(uint64(s0a)|uint64(s0b&(1<<29-1))<<32, 61)
			w.Word(uint64(s1a)|uint64(s1b&(1<<22-1))<<32, 54)
			w.Word(sum, 34)
		case !p.constant:
			s := &p.schedule[i-blockWords]
			s.s0a.write(w, uint64(s0a))
			s.s0b.write(w, uint64(s0b))
			s.s1a.write(w, uint64(s1a))
			s.s1b.write(w, uint64(s1b))
			s.sum.write(w, sum)
		}
	}
}

// writeRounds keeps a and e as whole sums, of which the variables are the low
// 32 bits.
func (p *Plan) writeRounds(w *r1cs.Writer, m *[rounds]uint32, state *[stateWords]uint32) {
	a, b, c, d := uint64(state[0]), state[1], state[2], state[3]
	e, f, g, h := uint64(state[4]), state[5], state[6], state[7]
	for i := range rounds {
		A, E := uint32(a), uint32(e)
		s1a := bits.RotateLeft32(E, -6) ^ bits.RotateLeft32(E, -11)
		s1b := s1a ^ bits.RotateLeft32(E, -25)
		ch := g ^ E&(f^g)
		s0a := bits.RotateLeft32(A, -2) ^ bits.RotateLeft32(A, -13)
		s0b := s0a ^ bits.RotateLeft32(A, -22)
		bc := b & c
		maj := A&(b^c) ^ bc
		pair := spread(maj) | spread(bc)<<1
		if p.full[1]>>i&1 == 1 {
			w.Word(e, 35)
			w.Word(uint64(s1a)|uint64(s1b)<<32, 64)
			w.Word(uint64(ch), 32)
			w.Word(a, 35)
			w.Word(uint64(s0a)|uint64(s0b)<<32, 64)
			w.Word(pair, 64)
		} else {
			r := &p.rounds[i]
			r.e.write(w, e)
			r.s1a.write(w, uint64(s1a))
			r.s1b.write(w, uint64(s1b))
			r.ch.write(w, uint64(ch))
			r.a.write(w, a)
			r.s0a.write(w, uint64(s0a))
			r.s0b.write(w, uint64(s0b))
			r.maj.write(w, pair)
		}
		t1 := uint64(h) + uint64(s1b) + uint64(ch) + uint64(k[i]) + uint64(m[i])
		h, g, f, e = g, f, E, t1+uint64(d)
		d, c, b, a = c, b, A, t1+uint64(s0b)+uint64(maj)
	}
	sums := [stateWords]uint64{a, uint64(b), uint64(c), uint64(d), e, uint64(f), uint64(g), uint64(h)}
	for i := range state {
		sum := sums[i] + uint64(state[i])
		p.final[i].write(w, sum)
		state[i] = uint32(sum)
	}
}

// spread moves bit i to bit 2i.
func spread(x uint32) uint64 {
	v := uint64(x)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	v = (v | v<<2) & 0x3333333333333333
	return (v | v<<1) & 0x5555555555555555
}
