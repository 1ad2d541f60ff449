package poseidon

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// The modulus, its words from the lowest, and −1/r mod 2^64.
const (
	r0   = 0xffffffff00000001
	r1   = 0x53bda402fffe5bfe
	r2   = 0x3339d80809a1d805
	r3   = 0x73eda753299d7d48
	rInv = 0xfffffffeffffffff
)

// maxDot is the longest inner product that dot takes, that of the last of the
// first t partial rounds. Its sum of n products reduces to less than
// (0.46·n + 1)·r < 2^261 (see multiples).
const maxDot = 3 * maxWidth

// multiples[i] is the greatest multiple of r that is at most i·2^254, modulo
// 2^256. A value v < 128·2^254 less multiples[v>>254] is below 2^254 + r < 2r.
var multiples = func() (table [128][4]uint64) {
	// Walk i·2^254 and keep it reduced; what was taken off is the multiple.
	var rest, off [4]uint64
	for i := range table {
		table[i] = off
		rest[3] += 1 << 62
		if s, below := sub4(&rest, &[4]uint64{r0, r1, r2, r3}); !below {
			rest = s
			off = add4(&off, &[4]uint64{r0, r1, r2, r3})
		}
	}
	return table
}()

func sub4(a, b *[4]uint64) (z [4]uint64, below bool) {
	var c uint64
	for i := range z {
		z[i], c = bits.Sub64(a[i], b[i], c)
	}
	return z, c != 0
}

func add4(a, b *[4]uint64) (z [4]uint64) {
	var c uint64
	for i := range z {
		z[i], c = bits.Add64(a[i], b[i], c)
	}
	return z
}

// dotGeneric is the inner product in portable Go. For each word of x the
// products with all of y are summed without reduction, then one word is
// reduced: n products cost n multiplications of 4×4 words and one reduction.
func dotGeneric(z *fr.Element, x, y []fr.Element) {
	var a0, a1, a2, a3, a4, a5 uint64
	for w := range 4 {
		for k := range x {
			a0, a1, a2, a3, a4, a5 = mulAdd(a0, a1, a2, a3, a4, a5, x[k][w], &y[k])
		}
		m := a0 * rInv
		a0, a1, a2, a3, a4, a5 = mulAdd(a0, a1, a2, a3, a4, a5, m, &fr.Element{r0, r1, r2, r3})
		a0, a1, a2, a3, a4, a5 = a1, a2, a3, a4, a5, 0
	}
	v, _ := sub4(&[4]uint64{a0, a1, a2, a3}, &multiples[a4<<2|a3>>62])
	if s, below := sub4(&v, &[4]uint64{r0, r1, r2, r3}); !below {
		v = s
	}
	*z = v
}

// mulAdd adds x·y to the six words a.
func mulAdd(a0, a1, a2, a3, a4, a5, x uint64, y *fr.Element) (_, _, _, _, _, _ uint64) {
	h0, l0 := bits.Mul64(x, y[0])
	h1, l1 := bits.Mul64(x, y[1])
	h2, l2 := bits.Mul64(x, y[2])
	h3, l3 := bits.Mul64(x, y[3])
	var c uint64
	l1, c = bits.Add64(l1, h0, 0)
	l2, c = bits.Add64(l2, h1, c)
	l3, c = bits.Add64(l3, h2, c)
	h3 += c // at most 2^64 − 2
	a0, c = bits.Add64(a0, l0, 0)
	a1, c = bits.Add64(a1, l1, c)
	a2, c = bits.Add64(a2, l2, c)
	a3, c = bits.Add64(a3, l3, c)
	a4, c = bits.Add64(a4, h3, c)
	return a0, a1, a2, a3, a4, a5 + c
}
