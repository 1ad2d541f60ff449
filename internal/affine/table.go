package affine

import (
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// scalarBits is the length of a scalar after Table has made it at most (r-1)/2.
const scalarBits = fr.Bits - 1

// Table holds multiples of one point for multiplication by many scalars: for
// each window j of w bits the points k·2^(wj)·P with 1 <= k <= 2^(w-1). It is
// immutable; several goroutines may multiply with it.
type Table[P Point[F], F any, PF Field[F]] struct {
	width int
	rows  [][]P // rows[j][k-1] = k·2^(wj)·P
}

// WindowFor is the window width in bits that makes n multiplications cheapest,
// the making of the table included. No table is wider than 17: a G1 table is
// 94 MiB then, and wider ones gain less than they lose to the memory.
func WindowFor(n int) int {
	best, cost := 2, 0
	for w := 2; w <= 17; w++ {
		if c := windows(w) * (n + 1<<(w-1)); cost == 0 || c < cost {
			best, cost = w, c
		}
	}
	return best
}

// windows is the number of windows of w bits. Digits are signed, so the last
// window must have room for a carry.
func windows(w int) int { return (scalarBits + w) / w }

// NewTable makes the table of p with windows of w bits (2 to 17). The rows are
// made in parallel.
func NewTable[P Point[F], F any, PF Field[F]](p P, w int) *Table[P, F, PF] {
	t := &Table[P, F, PF]{width: w, rows: make([][]P, windows(w))}
	var adder Adder[P, F, PF]
	var wg sync.WaitGroup
	base := []P{p}
	for j := range t.rows {
		row := make([]P, 1<<(w-1))
		row[0] = base[0]
		t.rows[j] = row
		wg.Go(func() { multiples[P, F, PF](row) })
		for range w {
			same := base[0]
			adder.Add(base, []P{same})
		}
	}
	wg.Wait()
	return t
}

// multiples fills row[k-1] = k·row[0] by doubling the filled part: the next k
// are the first k plus the last of them.
func multiples[P Point[F], F any, PF Field[F]](row []P) {
	var adder Adder[P, F, PF]
	step := make([]P, 0, lanes)
	for done := 1; done < len(row); {
		top := row[done-1]
		for at := 0; at < done; at += lanes {
			n := min(lanes, done-at)
			step = step[:0]
			for range n {
				step = append(step, top)
			}
			next := row[done+at : done+at+n]
			copy(next, row[at:])
			adder.Add(next, step)
		}
		done *= 2
	}
}

// Bytes is the size of the table for points of size bytes.
func (t *Table[P, F, PF]) Bytes(size int) int { return len(t.rows) * size << (t.width - 1) }

// Mul sets dst[i] to scalars[i]·P for all i, with one goroutine.
func (t *Table[P, F, PF]) Mul(dst []P, scalars []fr.Element) {
	m := multiplier[P, F, PF]{t: t}
	for len(dst) > 0 {
		n := min(lanes, len(dst))
		m.mul(dst[:n], scalars[:n])
		dst, scalars = dst[n:], scalars[n:]
	}
}

// multiplier is the scratch of Mul: one addition a window for all of its
// lanes together.
type multiplier[P Point[F], F any, PF Field[F]] struct {
	t       *Table[P, F, PF]
	adder   Adder[P, F, PF]
	scalars [lanes][4]uint64
	negate  [lanes]bool
	carry   [lanes]bool
	pick    [lanes]P
	neg     point[F]
}

func (m *multiplier[P, F, PF]) mul(dst []P, scalars []fr.Element) {
	for i := range dst {
		s := scalars[i]
		if m.negate[i] = s.LexicographicallyLargest(); m.negate[i] {
			s.Neg(&s)
		}
		m.scalars[i] = s.Bits()
		m.carry[i] = false
	}
	clear(dst)
	for j := range m.t.rows {
		for i := range dst {
			m.choose(i, j)
		}
		m.adder.Add(dst, m.pick[:len(dst)])
	}
}

// choose puts the multiple for window j of scalar i into pick[i]. Digits
// above half the window count down from the next one.
func (m *multiplier[P, F, PF]) choose(i, j int) {
	w := m.t.width
	digit := window(&m.scalars[i], j*w, w)
	if m.carry[i] {
		digit++
	}
	negate := m.negate[i]
	if m.carry[i] = digit > 1<<(w-1); m.carry[i] {
		digit, negate = 1<<w-digit, !negate
	}
	if digit == 0 {
		var inf P
		m.pick[i] = inf
		return
	}
	m.pick[i] = m.t.rows[j][digit-1]
	if negate {
		m.neg = point[F](m.pick[i])
		PF(&m.neg.Y).Neg(&m.neg.Y)
		m.pick[i] = P(m.neg)
	}
}

// window is bits [from, from+w) of s; bits above 256 are zero.
func window(s *[4]uint64, from, w int) int {
	word, off := from>>6, from&63
	if word > 3 {
		return 0
	}
	x := s[word] >> off
	if off+w > 64 && word < 3 {
		x |= s[word+1] << (64 - off)
	}
	return int(x & (1<<w - 1))
}
