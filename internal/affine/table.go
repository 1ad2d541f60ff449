package affine

import (
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/lanes"
)

// table implements [Table]: for each window j of w bits the points
// (2k+1)·2^(wj)·P with 0 <= k < 2^(w-1).
//
// Scalars are made odd (r, the order, is odd, so s or r-s is), and an odd number
// has digits that are all odd: with h = (s-1)/2, digit j is 2u+1-2^w for the
// window u of h, but for the last window, where it is 2u+1. So no digit is zero
// and every window is an addition like every other.
type table[P comparable, A any] struct {
	e     *engine[P, A]
	width int
	rows  [][]P // rows[j][k] = (2k+1)·2^(wj)·P
}

// WindowFor is the window width in bits that makes n multiplications cheapest,
// the making of the table included. No table is wider than 16: a G1 table is
// 64 MiB then, and wider ones gain less than they lose to the memory.
func WindowFor(n int) int {
	best, cost := 2, 0
	for w := 2; w <= 16; w++ {
		if c := windows(w) * (n + 1<<(w-1)); cost == 0 || c < cost {
			best, cost = w, c
		}
	}
	return best
}

// windows is the number of windows of w bits in a scalar.
func windows(w int) int { return (fr.Bits + w - 1) / w }

// NewTable makes the rows in parallel.
func (e *engine[P, A]) NewTable(p A, w int) Table[A] {
	t := &table[P, A]{e: e, width: w, rows: make([][]P, windows(w))}
	adder := e.adder()
	base := make([]P, 1)
	e.load(base, []A{p})
	var wg sync.WaitGroup
	for j := range t.rows {
		row := make([]P, 1<<(w-1))
		row[0] = base[0]
		t.rows[j] = row
		wg.Go(func() { e.oddMultiples(row) })
		for range w {
			adder.Accumulate(base, []P{base[0]}, inOrder[:1])
		}
	}
	wg.Wait()
	return t
}

// oddMultiples fills row[k] with (2k+1)·row[0] by doubling the filled part: the
// next n are the first n plus 2n·row[0].
func (e *engine[P, A]) oddMultiples(row []P) {
	adder := e.adder()
	step := []P{row[0]}
	ops := make([]Op, lanes.Batch)
	for n := 1; n < len(row); n *= 2 {
		adder.Accumulate(step, []P{step[0]}, inOrder[:1])
		for at := 0; at < n; at += len(ops) {
			part := ops[:min(len(ops), n-at)]
			for i := range part {
				part[i].A = uint32(at + i)
			}
			adder.Add(row[n+at:n+at+len(part)], row[:n], step, part)
		}
	}
}

// Mul adds one window for a batch of scalars at a time.
func (t *table[P, A]) Mul(dst []A, scalars []fr.Element) {
	m := &multiplier[P, A]{table: t, adder: t.e.adder()}
	n := min(lanes.Batch, len(dst))
	m.acc, m.halves, m.ops = make([]P, n), make([][4]uint64, n), make([]Op, n)
	for len(dst) > 0 {
		n := min(lanes.Batch, len(dst))
		m.mul(dst[:n], scalars[:n])
		dst, scalars = dst[n:], scalars[n:]
	}
}

// multiplier is the scratch of Mul.
type multiplier[P comparable, A any] struct {
	*table[P, A]
	adder  adder[P]
	acc    []P
	halves [][4]uint64 // (s-1)/2 of the odd scalar, its sign in the highest bit
	ops    []Op
}

func (m *multiplier[P, A]) mul(dst []A, scalars []fr.Element) {
	n := len(dst)
	for i := range n {
		m.halves[i] = half(&scalars[i])
	}
	for j := range m.rows {
		for i := range n {
			m.ops[i] = Op{A: uint32(i), B: m.digit(i, j)}
		}
		if j == 0 {
			m.first(m.acc[:n])
			continue
		}
		m.adder.Accumulate(m.acc, m.rows[j], m.ops[:n])
	}
	m.e.store(dst, m.acc[:n])
}

// first copies the points of the first window.
func (m *multiplier[P, A]) first(acc []P) {
	for i := range acc {
		ref := m.ops[i].B
		acc[i] = m.rows[0][ref&^minus]
		if ref&minus != 0 {
			m.e.negate(&acc[i])
		}
	}
}

const signBit = 1 << 63 // in the highest word of a scalar

// half is (s-1)/2 for an odd s; an even one is taken from r, with the sign bit.
func half(x *fr.Element) (h [4]uint64) {
	h = x.Bits()
	sign := uint64(0)
	if h[0]&1 == 0 {
		h, sign = fromOrder(h), signBit
	}
	for i := range h {
		h[i] >>= 1
		if i < 3 {
			h[i] |= h[i+1] << 63
		}
	}
	h[3] |= sign
	return h
}

// order is r in words, halfOrder (r-1)/2.
var order, halfOrder = words(fr.Modulus()), words(new(big.Int).Rsh(fr.Modulus(), 1))

func words(x *big.Int) (w [4]uint64) {
	for i := range w {
		w[i] = new(big.Int).Rsh(x, uint(64*i)).Uint64()
	}
	return w
}

// fromOrder is r - s.
func fromOrder(s [4]uint64) (d [4]uint64) {
	var borrow uint64
	for i := range d {
		d[i], borrow = bits.Sub64(order[i], s[i], borrow)
	}
	return d
}

// digit is where in row j the point of window j of scalar i is.
func (m *multiplier[P, A]) digit(i, j int) uint32 {
	h := &m.halves[i]
	half := uint32(1) << (m.width - 1)
	u := uint32(window(h, j*m.width, m.width))
	var ref uint32
	switch {
	case j == len(m.rows)-1:
		ref = u
	case u >= half:
		ref = u - half
	default:
		ref = (half - 1 - u) | minus
	}
	return ref ^ uint32(h[3]>>63)<<31
}

// window is bits [from, from+w) of s without the sign bit; bits above are zero.
func window(s *[4]uint64, from, w int) uint64 {
	word, off := from>>6, from&63
	x := s[word] >> off
	if word == 3 {
		x = s[word] &^ signBit >> off
	} else if off+w > 64 {
		x |= s[word+1] << (64 - off)
	}
	return x & (1<<w - 1)
}
