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
	bad    gpu.Memory // count of wrong points that were read from a file
	feed   *feed      // if the key does not stay on the device
	pinned []*hostList
	tables quotienter
	works  []*workspace
	free   chan *workspace // those not in use

	once   sync.Once
	closed chan struct{}
}

// newProver plans the work for a circuit within limit bytes.
func newProver(m machine, circuit *r1cs.Compiled, limit int64, o Options) (*prover, error) {
	layout, pack, err := layoutOf(circuit)
	if err != nil {
		return nil, err
	}
	p := &prover{machine: m, circuit: circuit, layout: layout, sets: newQuerySets(circuit, layout), pack: pack, closed: make(chan struct{})}
	p.held.m = m
	p.plan, err = newProverPlan(need{circuit: circuit.Name(), layout: layout, members: p.sets, program: p.pack.bytes(), facts: m.facts(), Options: o}, limit)
	return p, err
}

// layoutOf reads from a circuit where things lie and its rows as the device wants
// them.
func layoutOf(circuit *r1cs.Compiled) (*backend.Layout, *rowsPack, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, nil, err
	}
	if layout.LogM < 1 || layout.LogM > maxLogN {
		return nil, nil, fmt.Errorf("circuit %s has a domain of 2^%d points, devices serve 2^1 to 2^%d", circuit.Name(), layout.LogM, maxLogN)
	}
	program, err := circuit.Program()
	if err != nil {
		return nil, nil, err
	}
	pack, err := packProgram(program)
	if err != nil {
		return nil, nil, fmt.Errorf("circuit %s: %w", circuit.Name(), err)
	}
	return layout, pack, nil
}

// allocateKey takes the memory for the points, and brings the sets and the rows.
func (p *prover) allocateKey(ctx context.Context) (err error) {
	h := &p.held
	p.key.l, p.key.a = newQuery(StageL, curveG1, &p.sets.l), newQuery(StageA, curveG1, &p.sets.a)
	p.key.b1, p.key.b2 = newQuery("b_g1", curveG1, &p.sets.b), newQuery("b_g2", curveG2, &p.sets.b)
	if p.plan.values != nil {
		if err := p.allocateValues(ctx); err != nil {
			return err
		}
	} else {
		p.key.h = list{query: StageH, curve: curveG1, n: p.layout.Shape.H}
		if err := p.allocateList(ctx, &p.key.h); err != nil {
			return fmt.Errorf("query h: %w", err)
		}
	}
	for _, name := range queryNames[1:] {
		for _, l := range p.key.lists(name) {
			if err := p.allocateList(ctx, l); err != nil {
				return fmt.Errorf("query %s: %w", name, err)
			}
		}
	}
	if p.bad, err = h.alloc(4); err != nil {
		return err
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

// allocateList takes memory on the device or on the host.
func (p *prover) allocateList(ctx context.Context, l *list) (err error) {
	if !p.plan.away[l.query] {
		l.mem, err = p.held.alloc(aligned(l.bytes()))
		return err
	}
	l.step = stepOf(l.n, l.curve.point, p.plan.Slice)
	if !p.plan.Pinned {
		return nil // read will find it in the file
	}
	pinned, err := newHostList(ctx, p.machine, l.bytes())
	if err != nil {
		return fmt.Errorf("%w; where less may be pinned than the points take, %d MiB, they are read from the key file", err, p.plan.HostTotal()>>20)
	}
	l.home, p.pinned = pinned, append(p.pinned, pinned)
	return nil
}

// allocateWork takes the memory for the work on assignments.
func (p *prover) allocateWork() (err error) {
	if p.plan.Slice > 0 {
		if p.feed, err = newFeed(&p.held, p.machine, p.plan.Slice); err != nil {
			return err
		}
	}
	if p.tables, err = p.machine.quotient(p.layout.LogM, p.plan.full); err != nil {
		return err
	}
	p.free = make(chan *workspace, p.plan.works)
	for i := range p.plan.works {
		w := &workspace{area: i}
		p.works = append(p.works, w)
		p.free <- w
		if err := w.open(p, i == 0); err != nil {
			return err
		}
	}
	return nil
}

// read brings the key's points, and looks at those that do not stay.
func (p *prover) read(ctx context.Context, key *srs.Key, progress func(float64)) error {
	r, err := newKeyReader(p.machine, p.works[0].arena, p.layout.Counts)
	if err != nil {
		return err
	}
	h := key.H.N
	if p.plan.values != nil {
		h = key.Values.K.N + key.Values.M.N
	}
	r.report, r.total = progress, curveG1.point*int64(h+key.L.N+key.A.N+key.B1.N)+curveG2.point*int64(key.B2.N)
	if err := r.load(ctx, &p.key, key, p.sets, p.plan); err != nil {
		return err
	}
	if err := p.readAway(ctx, key, r); err != nil {
		return err
	}
	return r.check(ctx, key)
}

// readAway brings the points of queries that do not stay to the device once: they
// are checked, and put into the device's form where they are kept in pinned memory.
func (p *prover) readAway(ctx context.Context, key *srs.Key, r *keyReader) error {
	from := map[string]srs.Query{"h": key.H, "l": key.L, "a": key.A, "b_g1": key.B1, "b_g2": key.B2}
	who := map[string]*members{"l": &p.sets.l, "a": &p.sets.a, "b_g1": &p.sets.b, "b_g2": &p.sets.b}
	ranks := map[*members]*fileRanks{}
	for _, name := range queryNames {
		if !p.plan.away[name] {
			continue
		}
		inputs, m := 0, who[name]
		if m != nil {
			inputs = m.first.count
			if ranks[m] == nil {
				ranks[m] = newFileRanks(m)
			}
		}
		for _, l := range p.key.lists(name) {
			if err := p.readList(ctx, l, newFileList(from[name], l, inputs, ranks[m], r.bad), r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *prover) readList(ctx context.Context, l *list, file *fileList, r *keyReader) (err error) {
	l.slices(func(at, n int) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return
		}
		to := p.feed.buffers[0].Slice(0, int64(n)*l.curve.point)
		if err = file.bring(ctx, p.machine, to, l, at); err != nil {
			return
		}
		if h, ok := l.home.(*hostList); ok {
			err = h.keep(p.machine, int64(at)*l.curve.point, to)
		}
		r.read(to.Bytes)
	})
	if l.home == nil {
		file.bad = p.bad
		l.home = file
	}
	return err
}

// workspace is the memory and the streams for one assignment.
type workspace struct {
	lane               // for the quotient and the sum over h
	other   lane       // for the other sums; without a second lane the same as the first
	tables  quotienter // on the first lane
	witness witness    // where the whole key is on the device
	sizes   [3]int64   // bytes of a witness: bits, elements, inputs
	needed  int64      // of all three
	first   int64      // bytes of the first vector
	vectors int64      // bytes of each of the other two
	area    int        // its number among the workspaces
	split   rowsSplit  // where H is computed in values
	opened  []machine
}

// lane is a queue of work with memory of its own. The first lane's begins with
// three vectors, the last two of the domain's size.
type lane struct {
	m     machine
	arena gpu.Memory
}

// open takes the memory that the plan has for a workspace. The first one uses the
// prover's machine.
func (w *workspace) open(p *prover, first bool) (err error) {
	w.first, w.vectors = p.plan.first, p.plan.vectors
	if w.m, err = w.machine(p, first); err != nil {
		return err
	}
	if w.arena, err = p.held.alloc(p.plan.first + 2*aligned(p.plan.vectors) + max(p.plan.scratch, sectionAlign)); err != nil {
		return err
	}
	if err = w.openValues(p); err != nil {
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
	w.sizes = [3]int64{int64((n.Bits+63)/64) * 8, int64(n.Aux-n.Bits) * fr.Bytes, int64(n.Inputs) * fr.Bytes}
	c := carver{dry: true}
	w.carve(&c)
	if w.needed = c.used; p.plan.Slice > 0 {
		return nil
	}
	mem, err := p.held.alloc(w.needed)
	if err == nil {
		w.witness = w.placed(mem)
	}
	return err
}

// carve cuts the memory of a witness.
func (w *workspace) carve(c *carver) (out witness) {
	for i, to := range []*gpu.Memory{&out.bits, &out.elements, &out.inputs} {
		mem := c.take(w.sizes[i])
		*to = gpu.Memory{Ptr: mem.Ptr, Bytes: w.sizes[i]}
	}
	return out
}

// placed is a witness at the beginning of memory that has room for it.
func (w *workspace) placed(mem gpu.Memory) witness {
	return w.carve(&carver{mem: mem.Slice(0, w.needed)})
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
		errs = append(errs, p.feed.close())
		for _, h := range p.pinned {
			errs = append(errs, h.free())
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
// there are workspaces; of a key that is streamed, rounds of several share what is
// brought.
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
	for from := 0; from < len(ws); from += p.plan.Round {
		r := &round{prover: p, meter: m}
		for i := from; i < min(from+p.plan.Round, len(ws)); i++ {
			r.proofs = append(r.proofs, &proof{w: ws[i], number: i, sums: &out[i]})
		}
		g.Go(func() error {
			if err := p.sums(gctx, r); err != nil {
				return fmt.Errorf("circuit %s, assignments %d to %d of %d: %w", p.circuit.Name(), from, from+len(r.proofs)-1, len(ws), err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

// sums runs a round in the next free workspace.
func (p *prover) sums(ctx context.Context, r *round) error {
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
func (w *workspace) quiet() error { return quiet(w.m, w.other.m) }

func quiet(list ...machine) error {
	ctx, cancel := context.WithTimeout(context.Background(), quietLimit)
	defer cancel()
	for _, m := range list {
		if err := settle(ctx, m); errors.Is(err, context.DeadlineExceeded) {
			return m.giveUp(fmt.Errorf("work on it does not end, %v after it was cancelled", quietLimit))
		}
	}
	return nil
}
