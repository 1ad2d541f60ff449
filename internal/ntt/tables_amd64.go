//go:build !purego

package ntt

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// tables are the twiddles of a domain.
type tables struct {
	log int // of the domain's size

	// g^e is low[e mod 2^split]·high[e/2^split], for e below 2N
	split     int
	low, high []fr.Element

	phi    []limbs // φ(b)
	odd    []limbs // odd[h+j] = g^((2j+1)·N/2h), j < h, for the halves h within a row
	roots  []limbs // powers of a root of unity of order 2·len(roots)
	offRow []limbs // place q of a row: g^-k, k what q adds to a coefficient's number

	inverse block      // what c is multiplied by: 1/2N
	coset   fr.Element // what a is multiplied by, beside g^-k: 1/2N³
}

// newTables makes the tables for passes of at most levels, the last of row.
func newTables(log, levels, row int) (*tables, error) {
	g, err := fft.Generator(2 << log)
	if err != nil {
		return nil, err
	}
	t := &tables{log: log, split: log/2 + 1}
	t.low = powers(&g, 1<<t.split)
	var step fr.Element
	step.Exp(g, big.NewInt(1<<t.split))
	t.high = powers(&step, 2<<log>>t.split)

	t.phi = t.list(1<<(levels-1), func(b int) int {
		e := 0
		for i := 0; b>>i > 0; i++ {
			e -= b >> i & 1 * (t.size() >> (i + 1))
		}
		return e
	})
	t.odd = t.list(1<<row, func(i int) int {
		if i == 0 {
			return 0
		}
		h := 1 << (bitLen(i) - 1)
		return (2*(i-h) + 1) * (t.size() / (2 * h))
	})
	t.roots = t.list(1<<(levels-1), func(p int) int { return p * (2 * t.size() >> levels) })
	t.offRow = t.list(1<<row, func(q int) int { return -reverse(q, row) << (log - row) })
	t.scales()
	return t, nil
}

// scales makes the last factors. A product of two elements is short of 2^4: their
// radix is 2^256, that of products 2^260.
func (t *tables) scales() {
	var n, s fr.Element
	n.SetUint64(uint64(t.size()))
	n.Inverse(&n)
	s.SetUint64(8)
	s.Mul(&s, &n)
	var all [lanes]fr.Element
	for j := range all {
		all[j] = s
	}
	t.inverse = spread(&all)
	t.coset.Mul(&s, n.Square(&n))
}

// size is N.
func (t *tables) size() int { return 1 << t.log }

// power is g^e for any e.
func (t *tables) power(e int) (x fr.Element) {
	e &= 2*t.size() - 1
	x.Mul(&t.low[e&(1<<t.split-1)], &t.high[e>>t.split])
	return x
}

// list is n powers of g as factors.
func (t *tables) list(n int, exponent func(i int) int) []limbs {
	out := make([]limbs, n)
	for i := range out {
		x := t.power(exponent(i))
		out[i] = factor(&x)
	}
	return out
}

// lanesOf is eight powers of g as factors.
func (t *tables) lanesOf(exponent func(j int) int) block {
	var x [lanes]fr.Element
	for j := range x {
		x[j] = t.power(exponent(j))
	}
	return spread(&x)
}

// offCoset is what a is multiplied by in eight rows, beside offRow.
func (t *tables) offCoset(row int) block {
	var x [lanes]fr.Element
	n := t.log - bitLen(len(t.offRow)) + 1 // rows, in bits
	for j := range x {
		x[j] = t.power(-reverse(row+j, n))
		x[j].Mul(&x[j], &t.coset)
	}
	return spread(&x)
}

// powers is 1, x, x², ...
func powers(x *fr.Element, n int) []fr.Element {
	out := make([]fr.Element, n)
	out[0].SetOne()
	for i := 1; i < n; i++ {
		out[i].Mul(&out[i-1], x)
	}
	return out
}

func bitLen(x int) int {
	n := 0
	for ; x > 0; x >>= 1 {
		n++
	}
	return n
}
