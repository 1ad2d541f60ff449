package cpu

import (
	"context"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/affine"
)

// chunkWords is how many words of slots a worker scans at a time: 32768 slots,
// some milliseconds of additions.
const chunkWords = 512

// query is a list of points that belongs to a set of variables.
type query[P affine.Point[F], F any, PF affine.Field[F]] struct {
	name   string
	set    *slotSet
	points points[P]
	msm    func([]P, []fr.Element) (P, error)
}

// sum is the sum over the set of point times value.
func (q *query[P, F, PF]) sum(ctx context.Context, s *selection, slice int, report func(float64)) (P, error) {
	// One multi-exponentiated point costs about as much as 16 additions.
	ones, others := float64(s.ones.Count()), float64(len(s.others))
	share := ones / (ones + 16*others + 1)
	plain, err := q.sumOnes(ctx, s, func(x float64) { report(share * x) })
	if err != nil {
		return plain, err
	}
	var total affine.Sum[P, F, PF]
	total.Add(&plain)
	cut := &cutter{s: s, set: q.set, most: min(slice, len(s.others))}
	for cut.next() {
		part, err := q.slice(ctx, cut.positions, cut.values)
		if err != nil {
			return part, err
		}
		total.Add(&part)
		report(share + (1-share)*float64(cut.at)/others)
	}
	return total.Total(), ctx.Err()
}

// cutter cuts the variables that need multi-exponentiation and belong to a set
// into slices.
type cutter struct {
	s    *selection
	set  *slotSet
	most int // variables in a slice
	at   int // variables looked at

	positions []uint32 // the slice: positions of points
	values    []fr.Element
}

// next makes the next slice and tells whether there is one.
func (c *cutter) next() bool {
	if c.positions == nil {
		c.positions, c.values = make([]uint32, 0, c.most), make([]fr.Element, 0, c.most)
	}
	c.positions, c.values = c.positions[:0], c.values[:0]
	for ; c.at < len(c.s.others) && len(c.values) < c.most; c.at++ {
		o := c.s.others[c.at]
		if c.set.bits.Has(int(o.slot)) {
			c.positions = append(c.positions, uint32(c.set.position(int(o.slot))))
			c.values = append(c.values, *c.s.value(o.number))
		}
	}
	return len(c.values) > 0
}

// slice is one multi-exponentiation.
func (q *query[P, F, PF]) slice(ctx context.Context, positions []uint32, values []fr.Element) (sum P, err error) {
	buf := make([]P, len(positions))
	err = each(ctx, (len(buf)+chunkPoints-1)/chunkPoints, func() func(int) error {
		return func(i int) error {
			from, to := i*chunkPoints, min((i+1)*chunkPoints, len(buf))
			return q.points.gather(buf[from:to], positions[from:to])
		}
	})
	if err != nil {
		return sum, err
	}
	return q.msm(buf, values)
}

// sumOnes adds the points of the variables whose value is one.
func (q *query[P, F, PF]) sumOnes(ctx context.Context, s *selection, report func(float64)) (total P, err error) {
	n := (len(s.ones) + chunkWords - 1) / chunkWords
	sums := []*onesSummer[P, F, PF]{}
	progress := counter(n, report)
	err = each(ctx, n, func() func(int) error {
		o := &onesSummer[P, F, PF]{q: q}
		sums = append(sums, o)
		return func(i int) error {
			defer progress()
			from := i * chunkWords
			return o.words(s, from, min(from+chunkWords, len(s.ones)))
		}
	})
	var all affine.Sum[P, F, PF]
	for _, o := range sums {
		part := o.sum.Total()
		all.Add(&part)
	}
	return all.Total(), err
}

// onesSummer is one worker of sumOnes.
type onesSummer[P affine.Point[F], F any, PF affine.Field[F]] struct {
	q         *query[P, F, PF]
	sum       affine.Sum[P, F, PF]
	positions []uint32
	buf       []P
}

// words adds the points of the words from to to-1 of the set of ones.
func (o *onesSummer[P, F, PF]) words(s *selection, from, to int) error {
	set := o.q.set
	o.positions = o.positions[:0]
	for i := from; i < to; i++ {
		members, before := set.bits[i], set.before[i]
		for pick := s.ones[i] & members; pick != 0; pick &= pick - 1 {
			below := members & (pick&-pick - 1)
			o.positions = append(o.positions, before+uint32(bits.OnesCount64(below)))
		}
	}
	if o.buf == nil {
		o.buf = make([]P, 1024)
	}
	for p := o.positions; len(p) > 0; {
		n := min(len(p), len(o.buf))
		if err := o.q.points.gather(o.buf[:n], p[:n]); err != nil {
			return err
		}
		for i := range n {
			o.sum.Add(&o.buf[i])
		}
		p = p[n:]
	}
	return nil
}
