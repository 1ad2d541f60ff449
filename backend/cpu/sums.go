package cpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/backend"
	"cuzk/internal/affine"
	"cuzk/internal/offheap"
	"cuzk/r1cs"
)

// Stages as progress and timings name them. The first three run one after
// another, beside the other four, which also run one after another.
const (
	StageEvaluate = "evaluate" // row values a and b
	StageQuotient = "quotient" // transforms
	StageH        = "h"        // sums over the queries
	StageL        = "l"
	StageA        = "a"
	StageB1       = "b_g1"
	StageB2       = "b_g2"
)

// Sums implements [backend.Prover]. Assignments are worked on one after
// another, each on all cores.
func (p *prover) Sums(ctx context.Context, ws []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	if p.layout == nil {
		return nil, errClosed
	}
	for i, w := range ws {
		if err := p.circuit.Fits(w); err != nil {
			return nil, fmt.Errorf("assignment %d of %d: %w", i, len(ws), err)
		}
	}
	out := make([]backend.Sums, len(ws))
	if len(ws) == 0 {
		return out, nil
	}
	v := newVectors(p.layout.M())
	defer v.free()
	for i, w := range ws {
		r := &run{prover: p, vectors: v, progress: progress, done: i, total: len(ws), sums: &out[i]}
		if err := r.all(ctx, w); err != nil {
			return nil, fmt.Errorf("circuit %s, assignment %d of %d: %w", p.circuit.Name(), i, len(ws), err)
		}
	}
	return out, nil
}

var errClosed = errors.New("prover is closed")

// vectors are the three vectors of the domain's size, used by one assignment
// after another.
type vectors struct{ a, b, c fr.Vector }

func newVectors(m int) *vectors {
	return &vectors{offheap.Make[fr.Element](m), offheap.Make[fr.Element](m), offheap.Make[fr.Element](m)}
}

func (v *vectors) free() {
	offheap.Free(v.a)
	offheap.Free(v.b)
	offheap.Free(v.c)
}

// run is the work for one assignment.
type run struct {
	*prover
	vectors     *vectors
	progress    func(string, float64)
	done, total int // assignments

	mu   sync.Mutex // guards progress and sums.Timings
	sums *backend.Sums
}

// all fills the sums.
func (r *run) all(ctx context.Context, w *r1cs.Assignment) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return r.sumH(ctx, w) })
	g.Go(func() error {
		s := r.sel(w)
		if err := r.sumB2(ctx, s); err != nil {
			return err
		}
		m := newMultiplier(affine.G1, len(s.others))
		defer m.close()
		return inOrder(
			func() error { return runQuery(ctx, r, &r.l, s, m, &r.sums.L) },
			func() error { return runQuery(ctx, r, &r.a, s, m, &r.sums.A) },
			func() error { return runQuery(ctx, r, &r.b1, s, m, &r.sums.B1) },
		)
	})
	return g.Wait()
}

func (r *run) sumB2(ctx context.Context, s *selection) error {
	m := newMultiplier(affine.G2, min(len(s.others), r.b2.points.from.N))
	defer m.close()
	return runQuery(ctx, r, &r.b2, s, m, &r.sums.B2)
}

func inOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stage runs a stage, reports its progress and notes its time.
func (r *run) stage(name string, work func(report func(float64)) error) error {
	start := time.Now()
	report := func(x float64) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.progress != nil {
			r.progress(name, (float64(r.done)+x)/float64(r.total))
		}
	}
	if err := work(report); err != nil {
		return fmt.Errorf("stage %s: %w", name, err)
	}
	report(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sums.Timings = append(r.sums.Timings, backend.Timing{Stage: name, Took: time.Since(start)})
	return nil
}

func runQuery[A any](ctx context.Context, r *run, q *query[A], s *selection, m *multiplier[A], to *A) error {
	return r.stage(q.name, func(report func(float64)) (err error) {
		*to, err = q.sum(ctx, s, m, report)
		return err
	})
}

// sumH evaluates the rows, divides, and sums query h.
func (r *run) sumH(ctx context.Context, w *r1cs.Assignment) error {
	v := r.vectors
	return inOrder(
		func() error {
			return r.stage(StageEvaluate, func(func(float64)) error { return r.rows(ctx, w, v.a, v.b) })
		},
		func() error {
			return r.stage(StageQuotient, func(report func(float64)) error { return quotient(ctx, v.a, v.b, v.c, report) })
		},
		func() error {
			return r.stage(StageH, func(report func(float64)) (err error) {
				r.sums.H, err = r.queryH(ctx, v.c[:len(v.c)-1], report)
				return err
			})
		},
	)
}

// rows evaluates the circuit's rows, then those that Groth16 appends: input i
// times zero is zero.
func (p *prover) rows(ctx context.Context, w *r1cs.Assignment, a, b fr.Vector) error {
	if err := p.circuit.Evaluate(ctx, w, a, b, nil); err != nil {
		return err
	}
	n := p.layout.Counts.Rows
	clear(a[n:])
	clear(b[n:])
	copy(a[n:], w.Inputs)
	return nil
}

// queryH sums query h: every point is used and every scalar is large. The
// scalars are spent.
func (p *prover) queryH(ctx context.Context, h []fr.Element, report func(float64)) (none bls12381.G1Affine, err error) {
	m := newMultiplier(affine.G1, len(h))
	defer m.close()
	positions := make([]uint32, m.sum.Part())
	for from := 0; from < len(h); from += len(positions) {
		n := min(len(positions), len(h)-from)
		for i := range n {
			positions[i] = uint32(from + i)
		}
		if err := m.add(ctx, p.h, positions[:n], h[from:from+n]); err != nil {
			return none, err
		}
		report(float64(from+n) / float64(len(h)))
	}
	return m.sum.Total(ctx)
}

// counter returns a function that, called once a piece by any goroutine,
// reports the share of n pieces that is done, a hundred times at most.
func counter(n int, report func(float64)) func() {
	var mu sync.Mutex
	done, step := 0, (n+99)/100
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; done%step == 0 {
			report(float64(done) / float64(n))
		}
	}
}
