package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
	"cuzk/srs"
)

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
func (p *prover) read(ctx context.Context, key *srs.Key, progress func(float64)) error {
	r, err := newKeyReader(p.machine, p.works[0].arena, p.layout.Counts)
	if err != nil {
		return err
	}
	r.report = progress
	return r.load(ctx, &p.key, key, p.sets)
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
	err := r.run(ctx)
	if err != nil {
		err = errors.Join(err, r.workspace.quiet())
	}
	return err
}

// quietLimit is how long the work that was enqueued when a proof failed or was
// cancelled may still go on: a slice of work takes 0.3 s at most.
const quietLimit = 10 * time.Second

// quiet waits until nothing of a failed proof runs any more, so that another may
// use the workspace. If it does not end, the device is given up.
func (w *workspace) quiet() error {
	ctx, cancel := context.WithTimeout(context.Background(), quietLimit)
	defer cancel()
	for _, m := range []machine{w.m, w.other.m} {
		if err := settle(ctx, m); errors.Is(err, context.DeadlineExceeded) {
			return m.giveUp(fmt.Errorf("work on it does not end, %v after it was cancelled", quietLimit))
		}
	}
	return nil
}
