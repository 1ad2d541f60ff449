package affine

import (
	"context"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/offheap"
)

// multiExp implements [MultiExp] by Pippenger's method with signed digits: for
// each window of w bits there are 2^(w-1) buckets, a point is added to or taken
// from the bucket of its digit, and in the end k times bucket k is summed bit by
// bit of k. What comes out is a point for each bit of the scalars.
type multiExp[P comparable, A any] struct {
	e       *engine[P, A]
	width   int         // of a window in bits
	part    int         // points that are sorted into buckets at a time
	buckets []places[P] // of each window, for the digits 1 to 2^(w-1) and their negatives
	workers []*worker[P, A]
	long    int // the bits of the longest scalar so far
}

const (
	// minWidth is the least width that is taken.
	minWidth = 4
	// fewBytes is what the buckets of a window may always take: they stay in the
	// second level cache then, 13 bits in G1, 12 in G2. Wider windows have fewer
	// additions and wait for memory instead; that pays for many points, up to
	// manyBytes.
	fewBytes, manyBytes = 1 << 19, 1 << 21
	// minPart is the least number of points that are sorted into buckets at a
	// time.
	minPart = 1 << 13
)

// NewMultiExp chooses the width that makes the additions fewest.
func (e *engine[P, A]) NewMultiExp(n, workers int) MultiExp[A] {
	best := 0
	m := &multiExp[P, A]{e: e}
	most := min(max(fewBytes, int64(n)*e.pointBytes()/64), manyBytes)
	for w := minWidth; e.pointBytes()<<(w-1) <= most; w++ {
		if cost := windowsOf(w, fr.Bits-1) * (n + 1<<w); best == 0 || cost < best {
			best, m.width = cost, w
		}
	}
	m.part = min(max(n, 1), max(minPart, 1<<m.width))
	m.buckets = make([]places[P], windowsOf(m.width, fr.Bits-1))
	m.workers = make([]*worker[P, A], min(workers, len(m.buckets)))
	return m
}

// Part implements [MultiExp].
func (m *multiExp[P, A]) Part() int { return m.part }

// windowsOf is how many windows of w bits a number of so many bits has, with one
// more for the sign.
func windowsOf(w, bits int) int { return (bits + w) / w }

// Add implements [MultiExp].
func (m *multiExp[P, A]) Add(ctx context.Context, points List[A], scalars []fr.Element) error {
	p := m.e.points(points)
	for len(scalars) > 0 {
		n := min(len(scalars), m.part)
		if err := m.addPart(ctx, p[:n], scalars[:n]); err != nil {
			return err
		}
		p, scalars = p[n:], scalars[n:]
	}
	return nil
}

func (m *multiExp[P, A]) addPart(ctx context.Context, points []P, scalars []fr.Element) error {
	long := m.prepare(scalars)
	m.long = max(m.long, long)
	return m.each(ctx, m.windows(long), func(w *worker[P, A], j int) {
		if m.buckets[j].p == nil {
			m.buckets[j] = newPlaces[P](1 << (m.width - 1))
		}
		w.add(&m.buckets[j], points, scalars, j, j == len(m.buckets)-1)
	})
}

// prepare makes integers of the scalars, ready to be cut into digits, and returns
// the length of the longest in bits. All workers share the work.
func (m *multiExp[P, A]) prepare(scalars []fr.Element) int {
	step := (len(scalars) + len(m.workers) - 1) / len(m.workers)
	longs := make([]int, len(m.workers))
	var wg sync.WaitGroup
	for k := range longs {
		mine := scalars[min(k*step, len(scalars)):min((k+1)*step, len(scalars))]
		wg.Go(func() {
			longs[k] = absolute(mine)
			m.recode(mine)
		})
	}
	wg.Wait()
	return slices.Max(longs)
}

// windows is how many windows scalars of so many bits need: with one bit more
// than they have, the halves that recode adds do not carry out of the highest.
func (m *multiExp[P, A]) windows(long int) int {
	return min(windowsOf(m.width, long+1), len(m.buckets))
}

// each runs f for 0 to n-1 on all workers.
func (m *multiExp[P, A]) each(ctx context.Context, n int, f func(w *worker[P, A], j int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for k := range min(n, len(m.workers)) {
		if m.workers[k] == nil {
			m.workers[k] = newWorker(m)
		}
		wg.Go(func() {
			for ctx.Err() == nil {
				j := int(next.Add(1)) - 1
				if j >= n {
					return
				}
				f(m.workers[k], j)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// Total implements [MultiExp].
func (m *multiExp[P, A]) Total(ctx context.Context) (A, error) {
	sums := make([][]A, m.windows(m.long)) // sums[j][k] is to be taken 2^(jw+k) times
	err := m.each(ctx, len(sums), func(w *worker[P, A], j int) {
		if m.buckets[j].p != nil {
			sums[j] = w.weigh(&m.buckets[j])
			clear(m.buckets[j].set)
		}
	})
	m.long = 0
	var points []A
	for _, s := range sums {
		points = append(points, append(s, make([]A, m.width-len(s))...)...)
	}
	return m.e.horner(points), err
}

// Bytes implements [MultiExp].
func (m *multiExp[P, A]) Bytes() int64 {
	n := int64(1) << (m.width - 1)
	size := m.e.pointBytes()
	perWorker := size * (max(n, int64(m.part)) + 2*n)
	return size*(n*int64(len(m.buckets))+int64(m.part)) + perWorker*int64(len(m.workers))
}

// Close implements [MultiExp].
func (m *multiExp[P, A]) Close() {
	for j := range m.buckets {
		m.buckets[j].free()
	}
	for k, w := range m.workers {
		if w != nil {
			w.free()
			offheap.Free(w.tree)
		}
		m.workers[k] = nil
	}
}

// absolute replaces every scalar by itself or the order less it, whichever is
// smaller, as an integer, with signBit where it was negated. It returns the
// length of the longest in bits.
func absolute(scalars []fr.Element) int {
	var all [4]uint64
	for i := range scalars {
		s := (*[4]uint64)(&scalars[i])
		*s = scalars[i].Bits()
		sign := uint64(0)
		if moreThanHalf(s) {
			*s, sign = fromOrder(*s), signBit
		}
		for k := range s {
			all[k] |= s[k]
		}
		s[3] |= sign
	}
	for k := 3; k >= 0; k-- {
		if all[k] != 0 {
			return 64*k + bits.Len64(all[k])
		}
	}
	return 0
}

// moreThanHalf tells whether s is more than (r-1)/2.
func moreThanHalf(s *[4]uint64) bool {
	var borrow uint64
	for k := range s {
		_, borrow = bits.Sub64(halfOrder[k], s[k], borrow)
	}
	return borrow == 1
}

// recode adds half a window to every window but the last. A digit is then its
// window less the half, without carries from one to the next.
func (m *multiExp[P, A]) recode(scalars []fr.Element) {
	var halves [4]uint64
	for j := range len(m.buckets) - 1 {
		at := j*m.width + m.width - 1
		halves[at>>6] |= 1 << (at & 63)
	}
	for i := range scalars {
		s := (*[4]uint64)(&scalars[i])
		var carry uint64
		for k := range s {
			s[k], carry = bits.Add64(s[k], halves[k], carry)
		}
	}
}

// worker is what one goroutine needs.
type worker[P comparable, A any] struct {
	*multiExp[P, A]
	*reducer[P]
	digits []uint32 // of a window
	counts []uint32 // how many there are of each absolute value, then where they go

	tree  []P      // sums of buckets
	level []uint32 // what each weight has, or none
}

const none = ^uint32(0)

func newWorker[P comparable, A any](m *multiExp[P, A]) *worker[P, A] {
	n := 1 << (m.width - 1)
	return &worker[P, A]{multiExp: m, reducer: newReducer(m.e, max(n, m.part)),
		digits: make([]uint32, m.part), counts: make([]uint32, n+1)}
}

// add adds points to the buckets of window j, the last or not.
func (w *worker[P, A]) add(buckets *places[P], points []P, scalars []fr.Element, j int, last bool) {
	w.cut(scalars, j, last)
	w.sort(w.digits[:len(scalars)])
	w.sum(buckets, points)
}

// cut finds the digits of a window: their absolute values, with minus where the
// digit and the scalar have different signs.
func (w *worker[P, A]) cut(scalars []fr.Element, j int, last bool) {
	half := int64(1) << (w.width - 1)
	if last {
		half = 0
	}
	digits := w.digits[:len(scalars)]
	for i := range digits {
		s := (*[4]uint64)(&scalars[i])
		d := int64(window(s, j*w.width, w.width)) - half
		sign := d >> 63
		digits[i] = uint32(d^sign-sign) | uint32((uint64(sign)^s[3])>>63)<<31
	}
}

// sort makes a run of the points of each digit but zero: it counts, then places.
func (w *worker[P, A]) sort(digits []uint32) {
	clear(w.counts)
	for _, d := range digits {
		w.counts[d&^minus]++
	}
	w.begin()
	at := uint32(0)
	for k, n := range w.counts[1:] {
		w.counts[k+1] = at
		if at += n; n > 0 {
			w.run(uint32(k), at)
		}
	}
	w.refs = w.refs[:at]
	for i, d := range digits {
		if k := d &^ minus; k > 0 {
			w.refs[w.counts[k]] = uint32(i) | d&minus
			w.counts[k]++
		}
	}
}

// weigh is the sum over k of k times bucket k, bit by bit: entry i of the result
// is to be taken 2^i times.
//
// With X_k the points of weights 0 to 2n-1, the sum of k·X_k is the sum of odd
// X_k plus twice the sum over i of i·(X_2i + X_2i+1): a level of n pairs, with
// weights 0 to n-1. The bucket of the largest weight is a power of two alone.
func (w *worker[P, A]) weigh(buckets *places[P]) []A {
	n := len(buckets.p)
	if w.tree == nil {
		w.tree = offheap.Make[P](2 * n)
	}
	copy(w.tree, buckets.p)
	w.level = append(w.level[:0], none)
	for k, set := range buckets.set[:n-1] {
		if !set {
			w.level = append(w.level, none)
			continue
		}
		w.level = append(w.level, uint32(k))
	}
	w.begin()
	level, used := w.level, n
	for k := uint32(0); len(level) > 1; k++ {
		for i := 1; i < len(level); i += 2 {
			if level[i] != none {
				w.refs = append(w.refs, level[i])
			}
		}
		if n := uint32(len(w.refs)); n > w.end() {
			w.run(k, n)
		}
		level, used = w.pairs(level, used)
	}
	sums := newPlaces[P](w.width)
	if buckets.set[n-1] {
		sums.p[w.width-1] = buckets.p[n-1]
	}
	w.sum(&sums, w.tree)
	out := make([]A, w.width)
	w.e.store(out, sums.p)
	return out
}

// pairs adds the neighbours of a level; sums follow the first used points of the
// tree.
func (w *worker[P, A]) pairs(level []uint32, used int) ([]uint32, int) {
	made := 0
	for i := range len(level) / 2 {
		x, y := level[2*i], level[2*i+1]
		switch {
		case x == none:
			level[i] = y
		case y == none:
			level[i] = x
		default:
			level[i] = uint32(used + made)
			w.ops[made] = Op{A: x, B: y}
			made++
		}
	}
	n := used + made
	w.adder.Add(w.tree[used:n], w.tree[:used], w.tree[:used], w.ops[:made])
	return level[:len(level)/2], n
}

// hornerG1 is the sum of bits[k] times 2^k.
func hornerG1(bits []bls12381.G1Affine) (sum bls12381.G1Affine) {
	var s bls12381.G1Jac
	for k := len(bits) - 1; k >= 0; k-- {
		s.DoubleAssign()
		s.AddMixed(&bits[k])
	}
	return *sum.FromJacobian(&s)
}

// hornerG2 is hornerG1 in G2.
func hornerG2(bits []bls12381.G2Affine) (sum bls12381.G2Affine) {
	var s bls12381.G2Jac
	for k := len(bits) - 1; k >= 0; k-- {
		s.DoubleAssign()
		s.AddMixed(&bits[k])
	}
	return *sum.FromJacobian(&s)
}
