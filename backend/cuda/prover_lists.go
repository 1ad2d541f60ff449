package cuda

import (
	"context"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	gpu "cuzk/cuda"
)

// task is the sum over one list for some proofs, or what must be done before. It is
// done in slices of the points, each for all of the proofs.
type task struct {
	stage   string
	share   float64 // of the whole
	proofs  []*proof
	prepare func(context.Context) error // no list

	list    *list
	lane    lane
	scratch func() gpu.Memory
	values  func(*proof) values
}

// taskH is the sum over h for one proof.
func (r *round) taskH(p *proof) task {
	return task{
		stage: StageH, share: 0.5, proofs: []*proof{p}, list: &r.key.h, lane: r.workspace.lane,
		scratch: func() gpu.Memory { return r.behind(1) }, values: func(p *proof) values { return p.h },
	}
}

// others are the sums over l, a and b for all proofs.
func (r *round) others() (out []task) {
	prepare := func(stage string, fn func(context.Context) error) {
		out = append(out, task{stage: stage, proofs: r.proofs, prepare: fn})
	}
	query := func(stage string, share float64, q *query) {
		for _, l := range []*list{&q.bits, &q.others} {
			if l.n > 0 {
				out = append(out, task{
					stage: stage, share: share * float64(l.n) / float64(q.bits.n+q.others.n), proofs: r.proofs, list: l, lane: r.other,
					scratch: func() gpu.Memory { return r.scratch }, values: func(p *proof) values { return p.values },
				})
			}
		}
	}
	prepare(StageL, func(context.Context) error { return r.all() })
	query(StageL, 0.08, &r.key.l)
	prepare(StageA, func(context.Context) error { return r.selected(&r.key.selA, &r.sets.a) })
	query(StageA, 0.08, &r.key.a)
	prepare(StageB, func(context.Context) error { return r.selected(&r.key.selB, &r.sets.b) })
	query(StageB, 0.04, &r.key.b1)
	query(StageB, 0.06, &r.key.b2)
	return out
}

// sliced are the stages of tasks, a slice each.
func (r *round) sliced(tasks ...task) (out []stage) {
	for _, t := range tasks {
		if t.list == nil {
			out = append(out, stage{t.stage, 0, t.proofs, t.prepare})
			continue
		}
		t.list.slices(func(from, n int) {
			share := t.share * float64(n) / float64(t.list.n)
			out = append(out, stage{t.stage, share, t.proofs, func(ctx context.Context) error { return r.slice(ctx, &t, from, n) }})
		})
	}
	return out
}

// slice adds the points from ... from+n-1 to the sums of the task's proofs.
func (r *round) slice(ctx context.Context, t *task, from, n int) (err error) {
	points := t.list.mem
	if t.list.home != nil {
		s, err := r.feed.next(ctx)
		if err != nil {
			return err
		}
		defer r.feed.done(s)
		points = s.points
	}
	for _, p := range t.proofs {
		if t.list.curve == curveG2 {
			err = t.sumG2(ctx, p, points, from, n)
		} else {
			err = t.sumG1(ctx, p, points, from, n)
		}
		if err != nil {
			return fmt.Errorf("query %s, assignment %d: %w", t.list.query, p.number, err)
		}
	}
	return nil
}

func (t *task) sumG1(ctx context.Context, p *proof, points gpu.Memory, from, n int) (err error) {
	s, v, to := t.lane.m.summer(), t.values(p), sumOf(p.sums, t.list.query)
	var sum bls12381.G1Affine
	if t.list.bits {
		sum, err = s.BitsG1(ctx, points, v.bits.slice(from, n), t.scratch())
	} else {
		sum, err = s.MSMG1(ctx, points, v.others.slice(from, n), t.scratch())
	}
	to.Add(to, &sum)
	return err
}

func (t *task) sumG2(ctx context.Context, p *proof, points gpu.Memory, from, n int) (err error) {
	s, v, to := t.lane.m.summer(), t.values(p), &p.sums.B2
	var sum bls12381.G2Affine
	if t.list.bits {
		sum, err = s.BitsG2(ctx, points, v.bits.slice(from, n), t.scratch())
	} else {
		sum, err = s.MSMG2(ctx, points, v.others.slice(from, n), t.scratch())
	}
	to.Add(to, &sum)
	return err
}

// sumOf is where a query's sum in G1 belongs.
func sumOf(s *backend.Sums, query string) *bls12381.G1Affine {
	switch query {
	case "h":
		return &s.H
	case "l":
		return &s.L
	case "a":
		return &s.A
	default:
		return &s.B1
	}
}

// carver cuts the memory of the other lane, behind the assignments where those are
// there.
func (r *round) carver() carver {
	at := int64(0)
	if r.plan.Slice > 0 {
		at = int64(len(r.proofs)) * r.needed
	}
	return carver{mem: r.other.arena.Slice(at, r.other.arena.Bytes-at)}
}

// all takes every aux variable.
func (r *round) all() error {
	n, c := r.layout.Counts, r.carver()
	for _, p := range r.proofs {
		p.values = values{Bits{p.witness.bits, n.Bits}, Scalars{p.witness.elements, n.Aux - n.Bits, Montgomery}}
	}
	r.scratch = c.rest()
	return nil
}

// selected enqueues the choice of those with a point.
func (r *round) selected(s *sel, m *members) error {
	bits, others := m.points()
	c := r.carver()
	for _, p := range r.proofs {
		p.values = values{Bits{c.take(int64(bits+31) / 32 * 4), bits}, Scalars{c.take(int64(others) * fr.Bytes), others, Montgomery}}
	}
	r.scratch = c.rest()
	inputs := int64(s.first.count) * fr.Bytes
	return enqueue(r.other.m, func(q *steps) {
		n := r.layout.Counts
		for _, p := range r.proofs {
			to := p.values.others.Memory
			q.selectBits(p.witness.bits, s.bits, p.values.bits.Words)
			q.selectElements(p.witness.inputs, n.Inputs, s.first, to)
			q.selectElements(p.witness.elements, n.Aux-n.Bits, s.elements, to.Slice(inputs, to.Bytes-inputs))
		}
	})
}

// rest is what has not been taken.
func (c *carver) rest() gpu.Memory { return c.mem.Slice(c.used, c.mem.Bytes-c.used) }

// stream is a round with slices that are brought meanwhile.
func (r *round) stream(ctx context.Context) error {
	var tasks []task
	var list []stage
	for _, p := range r.proofs {
		h := r.taskH(p)
		tasks = append(tasks, h)
		list = append(list, r.each(StageUpload, 0.02, p, func(ctx context.Context, p *proof) error {
			p.witness = r.placed(r.behind(2))
			return r.upload(ctx, p)
		}))
		list = slices.Concat(list, r.quotients(p), r.sliced(h))
	}
	for i, p := range r.proofs {
		list = append(list, r.each(StageUpload, 0, p, func(ctx context.Context, p *proof) error {
			at := int64(i) * r.needed
			p.witness = r.placed(r.arena.Slice(at, r.arena.Bytes-at))
			return r.upload(ctx, p)
		}))
	}
	others := r.others()
	list = append(list, r.sliced(others...)...)
	return r.feed.with(ctx, append(tasks, others...), func(ctx context.Context) error { return r.stages(ctx, list...) })
}
