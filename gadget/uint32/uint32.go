// Package uint32 holds 32-bit words of bits as SHA-256 uses them, and sums of
// words checked many to a row.
//
// A [Word] is 32 bits, lowest first, each a variable, a negated variable or a
// constant. Rotations and shifts cost nothing; the gates go bit by bit, lowest
// first, through package boolean, where constants fold. [Add] allocates the
// full sum, carries included, and leaves the equality of the sum to a
// [MultiEq], which packs several into one row.
//
// Rows and order follow bellperson 0.27 gadgets/uint32.rs and multieq.rs
// (circuits.md A.5).
//
// Import it under another name: its own hides the built-in type.
package uint32

import (
	"math/bits"

	"cuzk/gadget/boolean"
	"cuzk/r1cs"
)

// Size is the number of bits of a word.
const Size = 32

// Word is 32 bits, lowest first. The zero value is the constant 0.
type Word [Size]boolean.Bit

// Const is a constant word.
func Const(x uint32) (w Word) {
	for k := range w {
		w[k] = boolean.Const(x>>k&1 == 1)
	}
	return w
}

// FromBE makes a word of 32 bits, highest first.
func FromBE(bits []boolean.Bit) (w Word) {
	for k := range w {
		w[Size-1-k] = bits[k]
	}
	return w
}

// BE lists the bits, highest first.
func (w Word) BE() []boolean.Bit {
	out := make([]boolean.Bit, Size)
	for k := range w {
		out[Size-1-k] = w[k]
	}
	return out
}

// IsConst tells whether all bits are constants, and the value then.
func (w Word) IsConst() (x uint32, ok bool) {
	for k, b := range w {
		if !b.IsConst() {
			return 0, false
		}
		if b.Form() == boolean.True {
			x |= 1 << k
		}
	}
	return x, true
}

// Value reads the word; only inside a value function.
func (w Word) Value(s r1cs.System) (x uint32) {
	for k, b := range w {
		if b.Value(s) {
			x |= 1 << k
		}
	}
	return x
}

// RotR rotates n places towards the lowest bit.
func (w Word) RotR(n int) (out Word) {
	for k := range w {
		out[k] = w[(k+n)%Size]
	}
	return out
}

// ShR shifts n places towards the lowest bit; zeros come in.
func (w Word) ShR(n int) (out Word) {
	copy(out[:], w[n:])
	return out
}

// Xor is a ⊕ b.
func Xor(s r1cs.System, a, b Word) (out Word) {
	for k := range out {
		out[k] = boolean.Xor(s, a[k], b[k])
	}
	return out
}

// Ch is SHA-256's choice: b where a is one, c where it is zero.
func Ch(s r1cs.System, a, b, c Word) (out Word) {
	for k := range out {
		out[k] = boolean.Ch(s, a[k], b[k], c[k])
	}
	return out
}

// Maj is SHA-256's majority of three.
func Maj(s r1cs.System, a, b, c Word) (out Word) {
	for k := range out {
		out[k] = boolean.Maj(s, a[k], b[k], c[k])
	}
	return out
}

// SumBits is how many bits hold the sum of n words: 33 for 2, 34 for 3 and 4,
// 35 for 5 to 8, 36 for 9 and 10.
func SumBits(n int) int { return bits.Len64(uint64(n) * (1<<Size - 1)) }

// Add is the sum of 2 to 10 words modulo 2^32. It allocates the [SumBits] bits
// of the whole sum and hands their equality with Σ words to eq. Constant words
// give a constant; nothing is allocated then.
func Add(s r1cs.System, eq *MultiEq, words ...Word) (out Word) {
	if x, ok := ConstSum(words); ok {
		return Const(x)
	}
	n := SumBits(len(words))
	var sum uint64
	bit := make([]boolean.Bit, n)
	for k := range bit {
		bit[k] = boolean.Is(boolean.Alloc(s, func() bool {
			if k == 0 { // the operands are read once, at the first bit
				sum = 0
				for i := range words {
					sum += uint64(words[i].Value(s))
				}
			}
			return sum>>k&1 == 1
		}))
	}
	eq.equal(words, bit)
	copy(out[:], bit)
	return out
}

// ConstSum is the sum of words modulo 2^32 if all of them are constants.
func ConstSum(words []Word) (sum uint32, ok bool) {
	for i := range words {
		x, ok := words[i].IsConst()
		if !ok {
			return 0, false
		}
		sum += x
	}
	return sum, true
}
