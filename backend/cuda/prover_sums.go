package cuda

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
)

// meter adds up the progress of several assignments.
type meter struct {
	mu     sync.Mutex
	report func(stage string, done float64)
	done   float64
	total  float64
}

// end notes that a share of one assignment's work is done.
func (m *meter) end(stage string, share float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += share
	if m.report != nil {
		m.report(stage, min(m.done/m.total, 1))
	}
}

// proof is the work for one assignment.
type proof struct {
	*prover
	*workspace
	w     *r1cs.Assignment
	meter *meter

	timings sync.Mutex // guards sums.Timings
	sums    *backend.Sums
}

// stage is a piece of work and about what share it is of the whole.
type stage struct {
	name  string
	share float64
	work  func(context.Context) error
}

// run goes through the stages: the quotient and the sum over h in one lane, the
// other sums in the other.
func (r *proof) run(ctx context.Context) error {
	h := []stage{{StageEvaluate, 0.02, r.evaluate}, {StageQuotient, 0.2, r.quotient}, {StageH, 0.5, r.queryH}}
	others := []stage{{StageL, 0.08, r.queryL}, {StageA, 0.08, r.queryA}, {StageB, 0.1, r.queryB}}
	if err := r.stages(ctx, stage{StageUpload, 0.02, r.upload}); err != nil {
		return err
	}
	if r.plan.lanes == 1 {
		return r.stages(ctx, append(h, others...)...)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.stages(ctx, h...) })
	g.Go(func() error { return r.stages(ctx, others...) })
	return g.Wait()
}

// stages runs some one after another. A panic fails the proof, not the program.
func (r *proof) stages(ctx context.Context, list ...stage) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if err := s.work(ctx); err != nil {
			return fmt.Errorf("stage %s: %w", s.name, err)
		}
		r.end(s, time.Since(start))
	}
	return ctx.Err()
}

// end notes and reports a stage.
func (r *proof) end(s stage, took time.Duration) {
	r.timings.Lock()
	r.sums.Timings = append(r.sums.Timings, backend.Timing{Stage: s.name, Took: took})
	r.timings.Unlock()
	r.meter.end(s.name, s.share)
}

// enqueue runs fn with steps on a machine.
func enqueue(m machine, fn func(*steps)) error {
	return m.do(func(q queue) error {
		s := &steps{q: q, facts: m.facts()}
		fn(s)
		return s.err
	})
}

// settle waits for what is enqueued.
func settle(ctx context.Context, m machine) error {
	if err := m.do(func(q queue) error { return q.mark(0) }); err != nil {
		return err
	}
	return m.wait(ctx, 0)
}

func (r *proof) upload(ctx context.Context) error {
	for _, c := range []struct {
		to   gpu.Memory
		data []byte
	}{
		{r.witness.bits, rawBytes(r.w.Bits)}, {r.witness.elements, rawBytes(r.w.Elements)}, {r.witness.inputs, rawBytes(r.w.Inputs)},
	} {
		if err := r.m.send(ctx, c.to, bytesOf(c.data)); err != nil {
			return err
		}
	}
	return settle(ctx, r.m) // the other lane reads it too
}

// vector is one of the three vectors of the domain's size.
func (w *workspace) vector(i int) gpu.Memory {
	return w.arena.Slice(int64(i)*aligned(w.vectors), w.vectors)
}

// behind is the arena from vector i on.
func (w *workspace) behind(i int) gpu.Memory {
	at := int64(i) * aligned(w.vectors)
	return w.arena.Slice(at, w.arena.Bytes-at)
}

func (r *proof) evaluate(ctx context.Context) error {
	err := enqueue(r.m, func(s *steps) { s.evaluate(&r.rows, &r.witness, r.vector(0), r.vector(1), r.layout.M()) })
	if err != nil {
		return err
	}
	return settle(ctx, r.m)
}

// quotient leaves the coefficients of H in the first vector.
func (r *proof) quotient(ctx context.Context) error {
	h, err := r.workspace.tables.run(r.vector(0), r.vector(1), r.vector(2))
	if err != nil {
		return err
	}
	if h.Ptr != r.vector(0).Ptr {
		return fmt.Errorf("the quotient is in another vector than the first")
	}
	return settle(ctx, r.m)
}

func (r *proof) queryH(ctx context.Context) (err error) {
	n := r.layout.Shape.H
	r.sums.H, err = r.m.summer().MSMG1(ctx, r.key.h, Scalars{r.vector(0), n, Canonical}, r.behind(1))
	return err
}

// values are an assignment's, as a query takes them.
type values struct {
	bits    Bits
	others  Scalars
	scratch gpu.Memory
}

// all takes every aux variable.
func (r *proof) all() values {
	n := r.layout.Counts
	return values{Bits{r.witness.bits, n.Bits}, Scalars{r.witness.elements, n.Aux - n.Bits, Montgomery}, r.other.arena}
}

// selected enqueues the choice of those with a point, at the arena's beginning.
func (r *proof) selected(s *sel, m *members) (v values, err error) {
	bits, others := m.points()
	c := carver{mem: r.other.arena}
	v.bits = Bits{c.take(int64(bits+31) / 32 * 4), bits}
	v.others = Scalars{c.take(int64(others) * fr.Bytes), others, Montgomery}
	v.scratch = r.other.arena.Slice(c.used, r.other.arena.Bytes-c.used)
	inputs := int64(s.first.count) * fr.Bytes
	return v, enqueue(r.other.m, func(q *steps) {
		n := r.layout.Counts
		q.selectBits(r.witness.bits, s.bits, v.bits.Words)
		q.selectElements(r.witness.inputs, n.Inputs, s.first, v.others.Memory)
		q.selectElements(r.witness.elements, n.Aux-n.Bits, s.elements, v.others.Memory.Slice(inputs, v.others.Memory.Bytes-inputs))
	})
}

func (r *proof) queryL(ctx context.Context) (err error) {
	r.sums.L, err = r.sumG1(ctx, &r.key.l, r.all())
	return err
}

func (r *proof) queryA(ctx context.Context) error {
	v, err := r.selected(&r.key.selA, &r.sets.a)
	if err == nil {
		r.sums.A, err = r.sumG1(ctx, &r.key.a, v)
	}
	return err
}

func (r *proof) queryB(ctx context.Context) error {
	v, err := r.selected(&r.key.selB, &r.sets.b)
	if err == nil {
		r.sums.B1, err = r.sumG1(ctx, &r.key.b1, v)
	}
	if err == nil {
		r.sums.B2, err = r.sumG2(ctx, &r.key.b2, v)
	}
	return err
}

// sumG1 is the sum over both lists of a query.
func (r *proof) sumG1(ctx context.Context, q *query, v values) (sum bls12381.G1Affine, err error) {
	s := r.other.m.summer()
	bits, err := s.BitsG1(ctx, q.bits, v.bits, v.scratch)
	if err != nil {
		return sum, fmt.Errorf("query %s: %w", q.name, err)
	}
	others, err := s.MSMG1(ctx, q.others, v.others, v.scratch)
	if err != nil {
		return sum, fmt.Errorf("query %s: %w", q.name, err)
	}
	sum.Add(&bits, &others)
	return sum, nil
}

func (r *proof) sumG2(ctx context.Context, q *query, v values) (sum bls12381.G2Affine, err error) {
	s := r.other.m.summer()
	bits, err := s.BitsG2(ctx, q.bits, v.bits, v.scratch)
	if err != nil {
		return sum, fmt.Errorf("query %s: %w", q.name, err)
	}
	others, err := s.MSMG2(ctx, q.others, v.others, v.scratch)
	if err != nil {
		return sum, fmt.Errorf("query %s: %w", q.name, err)
	}
	sum.Add(&bits, &others)
	return sum, nil
}
