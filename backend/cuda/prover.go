package cuda

import (
	"context"
	"errors"
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
	"cuzk/srs"
)

// Name is what [Backend.Name] returns.
const Name = "cuda"

// Stages as progress and timings name them, in order.
const (
	StageUpload   = "upload"   // the assignment
	StageEvaluate = "evaluate" // row values a and b
	StageQuotient = "quotient" // transforms
	StageH        = "h"        // sums over the queries
	StageL        = "l"
	StageA        = "a"
	StageB        = "b" // both groups
)

// Options bound what a prover holds.
type Options struct {
	// Memory is the device memory in bytes that one key and its work may take; 0
	// is what is free when the key is loaded, less a part for others.
	Memory int64
	// Lanes is the most streams that work on one assignment, 1 or 2; 0 is 2.
	Lanes int
	// Works is the most assignments that are worked on at a time; 0 is 1. Each
	// takes memory of its own.
	Works int
}

// Backend makes provers on one device.
//
// Errors of provers tell by [cuzk/cuda]'s classes what to do: after ErrSticky the
// context is gone with all its memory, so provers, backend and device are closed
// and the device is opened again; ErrDeviceLost is a device not to be opened again
// soon; after ErrOutOfMemory another plan, with less memory, may fit. Closing what
// is broken returns its error and releases what can be.
type Backend struct {
	dev *Device
	opt Options

	mu   sync.Mutex
	base *stand // keeps the kernels of sums loaded
}

// New makes the backend of a device. Close it before the device.
func New(dev *Device, opt Options) *Backend { return &Backend{dev: dev, opt: opt} }

// Name implements [backend.Backend].
func (b *Backend) Name() string { return Name }

// Close releases what all provers share. Provers are closed before.
func (b *Backend) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil {
		return nil
	}
	err := b.base.close()
	b.base = nil
	return err
}

// stand makes a stream for a prover.
func (b *Backend) stand() (*stand, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.base == nil {
		m, err := newStand(b.dev, nil)
		if err != nil {
			return nil, err
		}
		b.base = m
	}
	return newStand(b.dev, b.base.sums)
}

// limit is the memory that a prover may take now.
func (b *Backend) limit() (int64, error) {
	var free int64
	err := b.dev.owner.Do(func(c *gpu.Context) (err error) { free, _, err = c.MemoryInfo(); return err })
	if keep := free / 64; b.opt.Memory <= 0 {
		return free - keep, err
	}
	return min(b.opt.Memory, free), err
}

// Plan is the memory that a prover of the circuit would take now.
func (b *Backend) Plan(circuit *r1cs.Compiled) (*Plan, error) {
	p, err := b.open(circuit)
	if err != nil {
		return nil, err
	}
	return p.plan, p.machine.close()
}

// Load implements [backend.Backend]. All points are brought to the device; the key
// may be closed afterwards.
func (b *Backend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key) (backend.Prover, error) {
	p, err := b.open(circuit)
	if err != nil {
		return nil, err
	}
	return loaded(ctx, p, key)
}

// open makes a prover with a plan and nothing allocated.
func (b *Backend) open(circuit *r1cs.Compiled) (*prover, error) {
	limit, err := b.limit()
	if err != nil {
		return nil, err
	}
	m, err := b.stand()
	if err != nil {
		return nil, err
	}
	p, err := newProver(m, circuit, limit, b.opt)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return p, nil
}

// loaded fills a new prover from a key, or closes it.
func loaded(ctx context.Context, p *prover, key *srs.Key) (backend.Prover, error) {
	err := p.layout.CheckKey(p.circuit, key)
	if err == nil {
		err = p.allocateKey(ctx)
	}
	if err == nil {
		err = p.allocateWork()
	}
	if err == nil {
		err = p.read(ctx, key)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("load key %s onto the device: %w", key.Path, err), p.Close())
	}
	p.ready()
	return p, nil
}

// ready gives up the host's memory for what is on the device now.
func (p *prover) ready() {
	p.pack = nil
	for _, m := range []*members{&p.sets.l, &p.sets.a, &p.sets.b} {
		m.drop()
	}
}

// prover implements [backend.Prover].
type prover struct {
	machine machine // where the key is brought to the device
	circuit *r1cs.Compiled
	layout  *backend.Layout
	sets    *querySets
	pack    *rowsPack
	plan    *Plan

	held   holding
	rows   rows
	key    deviceKey
	tables quotienter
	works  []*workspace
	free   chan *workspace // those not in use

	once   sync.Once
	closed chan struct{}
}

// newProver plans the work for a circuit within limit bytes.
func newProver(m machine, circuit *r1cs.Compiled, limit int64, o Options) (*prover, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	if layout.LogM < 1 || layout.LogM > maxLogN {
		return nil, fmt.Errorf("circuit %s has a domain of 2^%d points, devices serve 2^1 to 2^%d", circuit.Name(), layout.LogM, maxLogN)
	}
	program, err := circuit.Program()
	if err != nil {
		return nil, err
	}
	p := &prover{machine: m, circuit: circuit, layout: layout, sets: newQuerySets(circuit, layout), closed: make(chan struct{})}
	if p.pack, err = packProgram(program); err != nil {
		return nil, fmt.Errorf("circuit %s: %w", circuit.Name(), err)
	}
	p.held.m = m
	p.plan, err = newProverPlan(need{circuit.Name(), layout, p.sets, p.pack.bytes(), m.facts(), o}, limit)
	return p, err
}

// allocateKey takes the memory for the points, and brings the sets and the rows.
func (p *prover) allocateKey(ctx context.Context) (err error) {
	h := &p.held
	if p.key.h, err = h.alloc(aligned(int64(p.layout.Shape.H) * curveG1.point)); err != nil {
		return err
	}
	for _, q := range []struct {
		to   *query
		name string
		cv   curve
		m    *members
	}{{&p.key.l, StageL, curveG1, &p.sets.l}, {&p.key.a, StageA, curveG1, &p.sets.a}, {&p.key.b1, "b_g1", curveG1, &p.sets.b}, {&p.key.b2, "b_g2", curveG2, &p.sets.b}} {
		if *q.to, err = newQuery(h, q.name, q.cv, q.m); err != nil {
			return err
		}
	}
	if p.key.selA, err = newSel(ctx, h, &p.sets.a); err != nil {
		return err
	}
	if p.key.selB, err = newSel(ctx, h, &p.sets.b); err != nil {
		return err
	}
	p.rows, err = newRows(ctx, h, p.pack, p.layout.Counts)
	return err
}

// allocateWork takes the memory for the work on assignments.
func (p *prover) allocateWork() (err error) {
	if p.tables, err = p.machine.quotient(p.layout.LogM, p.plan.full); err != nil {
		return err
	}
	p.free = make(chan *workspace, p.plan.works)
	for i := range p.plan.works {
		w := &workspace{}
		p.works = append(p.works, w)
		p.free <- w
		if err := w.open(p, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// read brings the key's points.
func (p *prover) read(ctx context.Context, key *srs.Key) error {
	r, err := newKeyReader(p.machine, p.works[0].arena, p.layout.Counts)
	if err != nil {
		return err
	}
	return r.load(ctx, &p.key, key, p.sets, func(float64) {})
}

// workspace is the memory and the streams for one assignment.
type workspace struct {
	lane               // for the quotient and the sum over h
	other   lane       // for the other sums; without a second lane the same as the first
	tables  quotienter // on the first lane
	witness witness
	vectors int64 // bytes of a vector
	opened  []machine
}

// lane is a queue of work with memory of its own. The first lane's begins with
// three vectors of the domain's size.
type lane struct {
	m     machine
	arena gpu.Memory
}

// open takes the memory that the plan has for a workspace. The first one uses the
// prover's machine.
func (w *workspace) open(p *prover, first bool) (err error) {
	w.vectors = p.plan.vectors
	if w.m, err = w.machine(p, first); err != nil {
		return err
	}
	if w.arena, err = p.held.alloc(3*aligned(p.plan.vectors) + max(p.plan.scratch, sectionAlign)); err != nil {
		return err
	}
	w.tables, w.other = p.tables.on(w.m), w.lane
	if p.plan.lanes > 1 {
		if w.other.m, err = w.machine(p, false); err != nil {
			return err
		}
		if w.other.arena, err = p.held.alloc(max(p.plan.second, sectionAlign)); err != nil {
			return err
		}
	}
	n := p.layout.Counts
	for _, a := range []struct {
		to    *gpu.Memory
		bytes int64
	}{
		{&w.witness.bits, int64((n.Bits+63)/64) * 8}, {&w.witness.elements, int64(n.Aux-n.Bits) * fr.Bytes}, {&w.witness.inputs, int64(n.Inputs) * fr.Bytes},
	} {
		mem, err := p.held.alloc(aligned(a.bytes))
		if err != nil {
			return err
		}
		*a.to = gpu.Memory{Ptr: mem.Ptr, Bytes: a.bytes}
	}
	return nil
}

// machine is the prover's own or another of the same device.
func (w *workspace) machine(p *prover, own bool) (machine, error) {
	if own {
		return p.machine, nil
	}
	m, err := p.machine.beside()
	if err == nil {
		w.opened = append(w.opened, m)
	}
	return m, err
}

// close ends the streams; the memory is the prover's to release.
func (w *workspace) close() error {
	var errs []error
	for _, m := range w.opened {
		errs = append(errs, m.close())
	}
	w.opened = nil
	return errors.Join(errs...)
}

// Plan is the memory that the prover holds, item by item.
func (p *prover) Plan() *Plan { return p.plan }

// Profile starts timing the stages of the sums on the device, of the first
// workspace.
func (p *prover) Profile() {
	w := p.works[0]
	w.m.summer().Profile()
	w.other.m.summer().Profile()
}

// Profiled returns the device times since Profile, by lane, and stops timing. With
// one lane all are in the first.
func (p *prover) Profiled() (out [2][]StageTime, err error) {
	w := p.works[0]
	for i, m := range []machine{w.m, w.other.m} {
		if out[i], err = m.summer().Stages(); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Bytes implements [backend.Prover]: everything on the device.
func (p *prover) Bytes() int64 {
	n := p.held.bytes()
	if p.tables != nil {
		n += p.tables.bytes()
	}
	return n
}

// Close implements [backend.Prover]. It waits for work under way.
func (p *prover) Close() (err error) {
	p.once.Do(func() {
		close(p.closed)
		var errs []error
		for range p.works {
			<-p.free
		}
		for _, w := range p.works {
			errs = append(errs, w.close())
		}
		if p.tables != nil {
			errs = append(errs, p.tables.close())
		}
		err = errors.Join(append(errs, p.held.free(), p.machine.close())...)
	})
	return err
}

var errClosed = errors.New("prover is closed")

// Sums implements [backend.Prover]. As many assignments are worked on at a time as
// there are workspaces.
func (p *prover) Sums(ctx context.Context, ws []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	for i, w := range ws {
		if err := p.circuit.Fits(w); err != nil {
			return nil, fmt.Errorf("assignment %d of %d: %w", i, len(ws), err)
		}
	}
	out := make([]backend.Sums, len(ws))
	m := &meter{report: progress, total: float64(len(ws))}
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(p.plan.works)
	for i, w := range ws {
		g.Go(func() error {
			err := p.sums(gctx, &proof{prover: p, w: w, sums: &out[i], meter: m})
			if err != nil {
				return fmt.Errorf("circuit %s, assignment %d of %d: %w", p.circuit.Name(), i, len(ws), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// sums runs one assignment in the next free workspace.
func (p *prover) sums(ctx context.Context, r *proof) error {
	select {
	case <-p.closed:
		return errClosed
	default:
	}
	select {
	case r.workspace = <-p.free:
	case <-p.closed:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { p.free <- r.workspace }()
	return r.run(ctx)
}

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
