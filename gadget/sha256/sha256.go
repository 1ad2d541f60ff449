// Package sha256 is SHA-256 as a circuit and as a direct generator of that
// circuit's witness.
//
// Rows and order follow bellperson 0.27 gadgets/sha256.rs and filecoin-hashers
// sha256.rs (circuits.md A.5). Constants fold: the rows of a compression depend
// on which of its 512 message and 256 state bits are constants or negated,
// which is the shape of [Compression]. Over 512 variable bits and the initial
// state it has 25,840 rows and 25,814 variables, all of them bits.
//
// The compression function itself is written once (compress) over four
// operations on words. The circuit runs it on words of bits. A [Plan] is made by
// running it on forms alone, with what each gate does to each combination of
// forms looked up in a table that the gates themselves filled (outcome.go): it
// lists which bits of each operation are allocated, and [Plan.Witness] computes
// on machine words and appends whole words of bits. Where a rule of folding
// changes, table and plans change with it.
//
// Bits of a message and a digest are in SHA-256's order, the highest bit of
// each byte first. Field elements are little-endian: [NodeBits] and [Pack]
// translate.
//
// Import it under another name where crypto/sha256 is used too.
package sha256

import (
	"cuzk/gadget/boolean"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

// Sizes in bits.
const (
	BlockBits  = 512
	DigestBits = 256
	blockWords = BlockBits / u32.Size
	stateWords = DigestBits / u32.Size
)

var initial = [stateWords]uint32{
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
}

// Initial is the state before the first block.
func Initial() [stateWords]uint32 { return initial }

const rounds = 64

// k are the round constants (FIPS 180-4, 4.2.2).
var k = [rounds]uint32{
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
}

// State are the eight chaining words.
type State [stateWords]u32.Word

// InitialState is the state before the first block, as constants.
func InitialState() (st State) {
	for i, x := range initial {
		st[i] = u32.Const(x)
	}
	return st
}

// Bits are the 256 bits of a digest.
func (st State) Bits() []boolean.Bit {
	out := make([]boolean.Bit, 0, DigestBits)
	for _, w := range st {
		out = append(out, w.BE()...)
	}
	return out
}

// Sum is SHA-256 of a message of whole bytes: it pads and chains compressions
// from the initial state.
func Sum(s r1cs.System, message []boolean.Bit) []boolean.Bit {
	st := InitialState()
	for bits := Pad(message); len(bits) > 0; bits = bits[BlockBits:] {
		st = Compress(s, bits[:BlockBits], st)
	}
	return st.Bits()
}

// Pad is the message with its padding: a one, zeros, and the length in bits as
// 64 bits.
func Pad(message []boolean.Bit) []boolean.Bit {
	const lengthBits = 64
	out := append([]boolean.Bit(nil), message...)
	out = append(out, boolean.Const(true))
	for len(out)%BlockBits != BlockBits-lengthBits {
		out = append(out, boolean.Const(false))
	}
	n := uint64(len(message))
	for i := range lengthBits {
		out = append(out, boolean.Const(n>>(lengthBits-1-i)&1 == 1))
	}
	return out
}

// machine is what the compression function needs of words. Operations are in
// the reference's order; a sum of constants is a constant.
type machine interface {
	xor(a, b u32.Word) u32.Word
	ch(a, b, c u32.Word) u32.Word
	maj(a, b, c u32.Word) u32.Word
	add(words ...u32.Word) u32.Word
}

// sigma is the exclusive or of three rotations, of two and a shift if shift is
// set instead of the third.
func sigma(m machine, w u32.Word, r1, r2 int, third u32.Word) u32.Word {
	return m.xor(m.xor(w.RotR(r1), w.RotR(r2)), third)
}

// compress is the compression function. The working variables a and e stay
// lists of summands until they are read.
func compress(m machine, block *[blockWords]u32.Word, st *State) (out State) {
	w := schedule(m, block)
	a, b, c, d := []u32.Word{st[0]}, st[1], st[2], st[3]
	e, f, g, h := []u32.Word{st[4]}, st[5], st[6], st[7]
	for i := range rounds {
		E := resolve(m, e)
		s1 := sigma(m, E, 6, 11, E.RotR(25))
		ch := m.ch(E, f, g)
		t1 := []u32.Word{h, s1, ch, u32.Const(k[i]), w[i]}
		A := resolve(m, a)
		s0 := sigma(m, A, 2, 13, A.RotR(22))
		maj := m.maj(A, b, c)
		h, g, f, e = g, f, E, append(t1[:5:5], d)
		d, c, b, a = c, b, A, append(t1[:5:5], s0, maj)
	}
	out[0] = m.add(append(a, st[0])...)
	out[1] = m.add(st[1], b)
	out[2] = m.add(st[2], c)
	out[3] = m.add(st[3], d)
	out[4] = m.add(append(e, st[4])...)
	out[5] = m.add(st[5], f)
	out[6] = m.add(st[6], g)
	out[7] = m.add(st[7], h)
	return out
}

func schedule(m machine, block *[blockWords]u32.Word) (w [rounds]u32.Word) {
	copy(w[:], block[:])
	for i := blockWords; i < rounds; i++ {
		s0 := sigma(m, w[i-15], 7, 18, w[i-15].ShR(3))
		s1 := sigma(m, w[i-2], 17, 19, w[i-2].ShR(10))
		w[i] = m.add(w[i-16], s0, w[i-7], s1)
	}
	return w
}

// resolve is the value of a list of summands.
func resolve(m machine, sum []u32.Word) u32.Word {
	if len(sum) == 1 {
		return sum[0]
	}
	return m.add(sum...)
}

// gates runs the compression function as a circuit.
type gates struct {
	s  r1cs.System
	eq *u32.MultiEq
}

func (g gates) xor(a, b u32.Word) u32.Word     { return u32.Xor(g.s, a, b) }
func (g gates) ch(a, b, c u32.Word) u32.Word   { return u32.Ch(g.s, a, b, c) }
func (g gates) maj(a, b, c u32.Word) u32.Word  { return u32.Maj(g.s, a, b, c) }
func (g gates) add(words ...u32.Word) u32.Word { return u32.Add(g.s, g.eq, words...) }
