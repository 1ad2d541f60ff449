package cuda

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

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

// proof is the work for one assignment of a round.
type proof struct {
	w       *r1cs.Assignment
	number  int     // of the call's
	witness witness // on the device
	h       values  // coefficients
	others  int     // rows whose product is not small, where H is computed in values
	values  values  // as the query under way takes them

	timings sync.Mutex // guards sums.Timings
	sums    *backend.Sums
}

// spent adds to the time of a stage.
func (p *proof) spent(stage string, took time.Duration) {
	p.timings.Lock()
	defer p.timings.Unlock()
	for i := range p.sums.Timings {
		if t := &p.sums.Timings[i]; t.Stage == stage {
			t.Took += took
			return
		}
	}
	p.sums.Timings = append(p.sums.Timings, backend.Timing{Stage: stage, Took: took})
}

// round is the work for some assignments in one workspace. Where the whole key is
// on the device there is one assignment.
type round struct {
	*prover
	*workspace
	proofs  []*proof
	meter   *meter
	scratch gpu.Memory // for the sums over l, a and b
}

// stage is a piece of work for some of the proofs, and about what share it is of
// one proof's.
type stage struct {
	name   string
	share  float64
	proofs []*proof
	work   func(context.Context) error
}

// each is a stage of one proof.
func (r *round) each(name string, share float64, p *proof, work func(context.Context, *proof) error) stage {
	return stage{name, share, []*proof{p}, func(ctx context.Context) error { return work(ctx, p) }}
}

// quotients are the stages that make the coefficients of H.
func (r *round) quotients(p *proof) []stage {
	return []stage{r.each(StageEvaluate, 0.02, p, r.evaluate), r.each(StageQuotient, 0.2, p, r.quotient)}
}

// run goes through the stages: the quotient and the sum over h in one lane, the
// other sums in the other.
func (r *round) run(ctx context.Context) error {
	if r.plan.Slice > 0 {
		return r.stream(ctx)
	}
	p := r.proofs[0]
	p.witness = r.witness
	if err := r.stages(ctx, r.each(StageUpload, 0.02, p, r.upload)); err != nil {
		return err
	}
	var h []stage
	if r.plan.values != nil {
		h = r.inValues(p)
	} else {
		h = append(r.quotients(p), r.sliced(r.taskH(p))...)
	}
	others := r.sliced(r.others()...)
	if r.plan.lanes == 1 {
		return r.stages(ctx, append(h, others...)...)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.stages(ctx, h...) })
	g.Go(func() error { return r.stages(ctx, others...) })
	return g.Wait()
}

// guarded makes a panic fail the proof, not the program.
func guarded(work func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return work()
}

// stages runs some one after another.
func (r *round) stages(ctx context.Context, list ...stage) error {
	for _, s := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		start := time.Now()
		if err := guarded(func() error { return s.work(ctx) }); err != nil {
			return fmt.Errorf("stage %s: %w", s.name, err)
		}
		took := time.Since(start) / time.Duration(len(s.proofs))
		for _, p := range s.proofs {
			p.spent(s.name, took)
			r.meter.end(s.name, s.share)
		}
	}
	return ctx.Err()
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

func (r *round) upload(ctx context.Context, p *proof) error {
	for _, c := range []struct {
		to   gpu.Memory
		data []byte
	}{
		{p.witness.bits, rawBytes(p.w.Bits)}, {p.witness.elements, rawBytes(p.w.Elements)}, {p.witness.inputs, rawBytes(p.w.Inputs)},
	} {
		if err := r.m.send(ctx, c.to, bytesOf(c.data)); err != nil {
			return err
		}
	}
	return settle(ctx, r.m) // the other lane reads it too
}

// vector is one of the three vectors.
func (w *workspace) vector(i int) gpu.Memory {
	if i == 0 {
		return w.arena.Slice(0, w.first)
	}
	return w.arena.Slice(w.at(i), w.vectors)
}

// at is where vector i begins.
func (w *workspace) at(i int) int64 {
	if i == 0 {
		return 0
	}
	return w.first + int64(i-1)*aligned(w.vectors)
}

// behind is the arena from vector i on.
func (w *workspace) behind(i int) gpu.Memory {
	return w.arena.Slice(w.at(i), w.arena.Bytes-w.at(i))
}

func (r *round) evaluate(ctx context.Context, p *proof) error {
	err := enqueue(r.m, func(s *steps) { s.evaluate(&r.rows, &p.witness, r.vector(0), r.vector(1), r.layout.M()) })
	if err != nil {
		return err
	}
	return settle(ctx, r.m)
}

// quotient leaves the coefficients of H in the first vector.
func (r *round) quotient(ctx context.Context, p *proof) error {
	h, err := r.workspace.tables.run(r.vector(0), r.vector(1), r.vector(2))
	if err != nil {
		return err
	}
	if h.Ptr != r.vector(0).Ptr {
		return fmt.Errorf("the quotient is in another vector than the first")
	}
	p.h.others = Scalars{h, r.layout.Shape.H, Canonical}
	return settle(ctx, r.m)
}
