package cpu

import (
	"context"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/affine"
)

// chunkWords is how many words of slots a worker scans at a time: 32768 slots,
// a few milliseconds of additions.
const chunkWords = 512

// query is a list of points that belongs to a set of variables.
type query[A any] struct {
	name   string
	set    *slotSet
	points points[A]
}

// multiplier is what a sum of points times scalars needs, used for one query
// after another.
type multiplier[A any] struct {
	engine affine.Engine[A]
	sum    affine.MultiExp[A]
	list   affine.List[A]
}

// newMultiplier makes one for queries of about n points.
func newMultiplier[A any](e affine.Engine[A], n int) *multiplier[A] {
	sum := e.NewMultiExp(n, cores())
	return &multiplier[A]{e, sum, e.NewList(sum.Part())}
}

// close gives the memory back.
func (m *multiplier[A]) close() {
	m.sum.Close()
	m.list.Free()
}

// add adds the points at ascending positions times scalars, a part of
// them at most. The scalars are spent.
func (m *multiplier[A]) add(ctx context.Context, p points[A], positions []uint32, scalars []fr.Element) error {
	list := m.list.Part(0, len(positions))
	if err := p.read(ctx, list, positions); err != nil {
		return err
	}
	return m.sum.Add(ctx, list, scalars)
}

// sum is the sum over the set of point times value.
func (q *query[A]) sum(ctx context.Context, s *selection, m *multiplier[A], report func(float64)) (total A, err error) {
	// One multiplied point costs about as much as 16 additions.
	ones, others := float64(s.ones.Count()), float64(len(s.others))
	share := ones / (ones + 16*others + 1)
	all := m.engine.NewList(2)
	if total, err = q.sumOnes(ctx, s, m.engine, func(x float64) { report(share * x) }); err != nil {
		return total, err
	}
	all.Part(0, 1).Load([]A{total})
	cut := &cutter{s: s, set: q.set, most: m.sum.Part()}
	for cut.next() {
		if err := m.add(ctx, q.points, cut.positions, cut.values); err != nil {
			return total, err
		}
		report(share + (1-share)*float64(cut.at)/others)
	}
	if total, err = m.sum.Total(ctx); err != nil {
		return total, err
	}
	all.Part(1, 2).Load([]A{total})
	both := m.engine.NewSum()
	both.Add(all)
	return both.Total(), ctx.Err()
}

// cutter cuts the variables that need multiplication and belong to a set into
// pieces.
type cutter struct {
	s    *selection
	set  *slotSet
	most int // variables in a piece
	at   int // variables looked at

	positions []uint32 // the piece: positions of points
	values    []fr.Element
}

// next makes the next piece and tells whether there is one.
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

// sumOnes adds the points of the variables whose value is one.
func (q *query[A]) sumOnes(ctx context.Context, s *selection, e affine.Engine[A], report func(float64)) (total A, err error) {
	n := (len(s.ones) + chunkWords - 1) / chunkWords
	sums := []*onesSummer[A]{}
	progress := counter(n, report)
	err = each(ctx, n, func() func(int) error {
		o := &onesSummer[A]{set: q.set, reader: q.points.reader(), sum: e.NewSum(), list: e.NewList(chunkPoints)}
		sums = append(sums, o)
		return func(i int) error {
			defer progress()
			from := i * chunkWords
			return o.words(s, from, min(from+chunkWords, len(s.ones)))
		}
	})
	if len(sums) == 0 {
		return total, err
	}
	parts := make([]A, len(sums))
	for i, o := range sums {
		parts[i] = o.sum.Total()
		o.list.Free()
	}
	list := e.NewList(len(parts))
	list.Load(parts)
	all := sums[0].sum
	all.Add(list)
	return all.Total(), err
}

// onesSummer is one worker of sumOnes.
type onesSummer[A any] struct {
	set       *slotSet
	reader    *reader[A]
	sum       affine.Sum[A]
	list      affine.List[A]
	positions []uint32
}

// words adds the points of the words from to to-1 of the set of ones.
func (o *onesSummer[A]) words(s *selection, from, to int) error {
	o.positions = o.positions[:0]
	for i := from; i < to; i++ {
		members, before := o.set.bits[i], o.set.before[i]
		for pick := s.ones[i] & members; pick != 0; pick &= pick - 1 {
			below := members & (pick&-pick - 1)
			o.positions = append(o.positions, before+uint32(bits.OnesCount64(below)))
		}
	}
	for p := o.positions; len(p) > 0; {
		n := min(len(p), chunkPoints)
		list := o.list.Part(0, n)
		if err := o.reader.positions(list, p[:n]); err != nil {
			return err
		}
		o.sum.Add(list)
		p = p[n:]
	}
	return nil
}
