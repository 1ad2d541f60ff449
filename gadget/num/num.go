// Package num holds the gadgets on field elements: equality, sums, selection,
// bit decomposition and packing.
//
// Rows and order follow bellpepper-core 0.2 gadgets/num.rs, bellperson 0.27
// gadgets/multipack.rs and storage-proofs-core 19.1 gadgets (circuits.md A.3,
// A.4, A.6).
package num

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/r1cs"
)

// CapacityBits is how many bits surely fit into a field element.
const CapacityBits = 254

// ElementBits is the bit length of the modulus.
const ElementBits = 255

var powers [256]fr.Element // powers of two

var minusOne fr.Element

func init() {
	powers[0].SetOne()
	for i := 1; i < len(powers); i++ {
		powers[i].Double(&powers[i-1])
	}
	minusOne.Neg(&powers[0])
}

// Power is 2^i, i below 256.
func Power(i int) fr.Element { return powers[i] }

// Inputize makes v public: input i with the row i·1 = v.
func Inputize(s r1cs.System, v r1cs.Var) r1cs.Var {
	in := s.AllocInput(func() fr.Element { return s.Value(v) })
	s.Enforce(r1cs.V(in), r1cs.V(r1cs.One), r1cs.V(v))
	return in
}

// Equal enforces a·1 = b.
func Equal(s r1cs.System, a, b r1cs.Var) {
	s.Enforce(r1cs.V(a), r1cs.V(r1cs.One), r1cs.V(b))
}

// Add allocates a + b with the row (a + b)·1 = sum.
func Add(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	sum := s.Alloc(func() fr.Element {
		x, y := s.Value(a), s.Value(b)
		return *x.Add(&x, &y)
	})
	s.Enforce(r1cs.V(a).Plus(b), r1cs.V(r1cs.One), r1cs.V(sum))
	return sum
}

// Mul allocates a·b with the row a·b = product.
func Mul(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	p := s.Alloc(func() fr.Element {
		x, y := s.Value(a), s.Value(b)
		return *x.Mul(&x, &y)
	})
	s.Enforce(r1cs.V(a), r1cs.V(b), r1cs.V(p))
	return p
}

// Pick allocates "a if cond else b" with the row (b − a)·cond = b − picked.
func Pick(s r1cs.System, cond, a, b r1cs.Var) r1cs.Var {
	c := s.Alloc(func() fr.Element {
		if s.Bit(cond) {
			return s.Value(a)
		}
		return s.Value(b)
	})
	s.Enforce(r1cs.V(b).Minus(a), r1cs.V(cond), r1cs.V(b).Minus(c))
	return c
}

// Select reads from[index], the index given by bits, lowest first; there are
// 2^len(bits) elements. It consumes the highest bit first: len(from) − 1 rows.
func Select(s r1cs.System, from, bits []r1cs.Var) r1cs.Var {
	state := from
	for i := len(bits) - 1; i >= 0; i-- {
		half := len(state) / 2
		next := make([]r1cs.Var, half)
		for j := range next {
			next[j] = Pick(s, bits[i], state[half+j], state[j])
		}
		state = next
	}
	return state[0]
}

// ToBits decomposes v into 255 bits, lowest first, each a boolean row, then the
// row 0·0 = Σ 2^k·bit_k − v. It does not force the canonical representative.
func ToBits(s r1cs.System, v r1cs.Var) []r1cs.Var {
	bits := AllocBitsOf(s, func() fr.Element { return s.Value(v) })
	lc := make(r1cs.LC, 0, ElementBits+1)
	for k, b := range bits {
		lc = lc.Add(powers[k], b)
	}
	s.Enforce(nil, nil, lc.Minus(v))
	return bits
}

// AllocBitsOf allocates the 255 bits of a value, lowest first.
func AllocBitsOf(s r1cs.System, value func() fr.Element) []r1cs.Var {
	bits := make([]r1cs.Var, ElementBits)
	var limbs [fr.Limbs]uint64
	for k := range bits {
		bits[k] = boolean.Alloc(s, func() bool {
			if k == 0 { // the canonical form is asked for once, at the first bit
				x := value()
				limbs = x.Bits()
			}
			return limbs[k>>6]>>(k&63)&1 == 1
		})
	}
	return bits
}

// packed is Σ 2^k·bit_k.
func packed(bits []boolean.Bit) r1cs.LC {
	lc := make(r1cs.LC, 0, len(bits)+1)
	for k, b := range bits {
		lc = b.AddTo(lc, powers[k])
	}
	return lc
}

func packedValue(s r1cs.System, bits []boolean.Bit) (x fr.Element) {
	for k, b := range bits {
		if b.Value(s) {
			x.Add(&x, &powers[k])
		}
	}
	return x
}

// PackInputs makes one public input of every 254 bits, lowest first, with the
// row Σ 2^k·bit_k · 1 = input.
func PackInputs(s r1cs.System, bits []boolean.Bit) {
	for len(bits) > 0 {
		n := min(len(bits), CapacityBits)
		chunk := bits[:n]
		in := s.AllocInput(func() fr.Element { return packedValue(s, chunk) })
		s.Enforce(packed(chunk), r1cs.V(r1cs.One), r1cs.V(in))
		bits = bits[n:]
	}
}

// Pack allocates the number whose bits, lowest first, are the first 254 given,
// with the row Σ 2^k·bit_k · 1 = v. No bits give the row 0·1 = v.
func Pack(s r1cs.System, bits []boolean.Bit) r1cs.Var {
	bits = bits[:min(len(bits), CapacityBits)]
	v := s.Alloc(func() fr.Element { return packedValue(s, bits) })
	s.Enforce(packed(bits), r1cs.V(r1cs.One), r1cs.V(v))
	return v
}

// Bits wraps plain variables.
func Bits(vs []r1cs.Var) []boolean.Bit {
	out := make([]boolean.Bit, len(vs))
	for i, v := range vs {
		out[i] = boolean.Is(v)
	}
	return out
}

// AllocUint64 allocates the 64 bits of x, lowest first.
func AllocUint64(s r1cs.System, x func() uint64) []r1cs.Var {
	bits := make([]r1cs.Var, 64)
	for k := range bits {
		bits[k] = boolean.Alloc(s, func() bool { return x()>>k&1 == 1 })
	}
	return bits
}
