package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"cuzk/backend"
	bcuda "cuzk/backend/cuda"
	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/daemon"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
	"cuzk/r1cs"
	"cuzk/srs"
)

// gpuSlots is how many partitions a card works on at a time, of one key or of two:
// the upload and the last additions of one lie under the kernels of the other. A
// key's placement says how many of its own.
const gpuSlots = 2

// slotsOf is how many partitions a card with so much memory works on at a time.
func slotsOf(memory budget.Bytes) int {
	if memory < gpuOther {
		return roundSlots
	}
	return gpuSlots
}

// openGPU opens a card. One that cannot be opened is lost from the start, and is
// tried again when an operator returns it.
func openGPU(ctx context.Context, info cuda.Device, margin, pinned budget.Bytes, log *slog.Logger) daemon.Accelerator {
	g := &gpuCard{memory: max(budget.Bytes(info.Memory)-margin, 0), pinned: pinned}
	g.open = func(ctx context.Context) (openedCard, error) { return openCard(ctx, info, log) }
	return g.accelerator(info, g.openPatiently(ctx, openPause))
}

func (g *gpuCard) accelerator(info cuda.Device, failed error) daemon.Accelerator {
	a := daemon.Accelerator{
		Device:  sched.Device{ID: info.UUID, Name: info.Name, Class: sched.GPU, Slots: slotsOf(g.memory), Memory: g.memory},
		Backend: g, Need: g.need, Reopen: g.Reopen, Abandon: g.abandon, Close: g.close,
	}
	if failed != nil {
		a.Lost, _, _ = strings.Cut(failed.Error(), "\n")
	}
	return a
}

// openPause is between two tries to open a card, openTries how many there are: the
// driver may still be clearing up what a process before left.
const (
	openPause = 2 * time.Second
	openTries = 3
)

// openPatiently opens the card, with some tries unless it computes wrongly.
func (g *gpuCard) openPatiently(ctx context.Context, pause time.Duration) (err error) {
	for try := range openTries {
		if err = g.Reopen(ctx); err == nil || errors.Is(err, bcuda.ErrSelfTest) || try == openTries-1 {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// openedCard is a card with a context. Tests put a stand-in here.
type openedCard interface {
	backend(o bcuda.Options) cardBackend
	abandon(why error)
	close() error
}

type cardBackend interface {
	backend.Backend
	Close() error
}

// realCard is an openedCard.
type realCard struct{ dev *bcuda.Device }

func (c realCard) backend(o bcuda.Options) cardBackend { return bcuda.New(c.dev, o) }
func (c realCard) abandon(why error)                   { c.dev.Owner().Abandon(why) }
func (c realCard) close() error                        { return c.dev.Close() }

// openCard makes a context, has the kernels compiled and tests them.
func openCard(ctx context.Context, info cuda.Device, log *slog.Logger) (openedCard, error) {
	dev, err := bcuda.Open(info)
	if err != nil {
		return nil, openError(err)
	}
	b := bcuda.New(dev, bcuda.Options{})
	err = compileKernels(b, info, log)
	if err == nil {
		_, err = dev.SelfTest()
	}
	if err == nil {
		_, err = b.SelfTest(ctx)
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return realCard{dev}, nil
}

// openError tells the engine when it is the process that the driver refuses: what
// broke a context before stays with the process.
func openError(err error) error {
	if errors.Is(err, cuda.ErrSticky) && !errors.Is(err, cuda.ErrDeviceLost) {
		return fmt.Errorf("%w: %w", engine.ErrProcess, err)
	}
	return err
}

// compileKernels loads all kernels, so that no proof waits for the driver's compiler.
// The driver keeps what it compiled in its cache (~/.nv/ComputeCache).
func compileKernels(b *bcuda.Backend, info cuda.Device, log *slog.Logger) error {
	start := time.Now()
	log.Info("compiling kernels for "+info.Name+", about 20 s the first time", "device", info.UUID)
	times, err := b.LoadTimed()
	for _, m := range times {
		log.Debug("kernels of a module", "device", info.UUID, "module", m.Name, "took", m.Took.Round(time.Millisecond).String())
	}
	if err == nil {
		log.Info("kernels are ready", "device", info.UUID, "took", time.Since(start).Round(time.Millisecond).String())
	}
	return err
}

// gpuCard gives each key the memory that the daemon's ledger has reserved for it: a
// prover would take all that is free. It outlives the contexts of its card: after an
// error that breaks one, Reopen makes another, where the driver lets it: after an
// illegal address in a kernel, driver 580 gives the process no context any more, on
// an H200 (2026-12-01). Its error then wraps [engine.ErrProcess].
type gpuCard struct {
	memory budget.Bytes
	pinned budget.Bytes // of the host, for all keys
	open   func(context.Context) (openedCard, error)

	mu       sync.Mutex
	card     openedCard // nil after an opening that failed
	backends map[budget.Placement]cardBackend
}

var errNotOpen = fmt.Errorf("%w: it could not be opened", engine.ErrDeviceLost)

// Name implements [backend.Backend].
func (g *gpuCard) Name() string { return bcuda.Name }

// backend makes the backend for keys of a placement.
func (g *gpuCard) backend(p budget.Placement) (cardBackend, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.card == nil {
		return nil, errNotOpen
	}
	b := g.backends[p]
	if b == nil {
		b = g.card.backend(optionsOf(p))
		g.backends[p] = b
	}
	return b, nil
}

// optionsOf are a backend's bounds for keys of a placement.
func optionsOf(p budget.Placement) bcuda.Options {
	o := bcuda.Options{Memory: int64(p.Key.Device), Pinned: int64(p.Key.Pinned), Works: max(p.AtOnce, 1)}
	if o.Pinned == 0 {
		o.Pinned = -1
	}
	if isStreamed(p) {
		o.Works = 1 // its proofs are worked on in turns
	}
	return o
}

// Reopen closes what there is and opens the card anew.
func (g *gpuCard) Reopen(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	old, backends := g.card, g.backends
	g.card, g.backends = nil, nil
	type result struct {
		card openedCard
		err  error
	}
	done := make(chan result, 1)
	go func() {
		_ = shut(old, backends) // of a broken context: the driver gives back what it can
		c, err := g.open(ctx)
		done <- result{c, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return r.err
		}
		g.card, g.backends = r.card, map[budget.Placement]cardBackend{}
		return nil
	case <-ctx.Done(): // the driver does not return
		if old != nil {
			old.abandon(ctx.Err())
		}
		go func() {
			if r := <-done; r.card != nil {
				_ = r.card.close()
			}
		}()
		return fmt.Errorf("open device: %w", ctx.Err())
	}
}

// abandon makes all calls end that wait for the card.
func (g *gpuCard) abandon(why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.card != nil {
		g.card.abandon(why)
	}
}

func (g *gpuCard) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	err := shut(g.card, g.backends)
	g.card, g.backends = nil, nil
	return err
}

// shut closes a card with what was made on it; nil is closed already.
func shut(card openedCard, backends map[budget.Placement]cardBackend) (err error) {
	if card == nil {
		return nil
	}
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	return errors.Join(err, card.close())
}

// Load implements [backend.Backend].
func (g *gpuCard) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	p := &gpuProver{card: g, circuit: circuit, key: key, place: g.need(key.ID, circuit.Counts(), key.Shape())}
	if isStreamed(p.place) && p.place.AtOnce > 1 {
		p.rounds = &rounds{run: p.whole}
	}
	if err := p.load(ctx, progress); err != nil {
		return nil, cardError(err)
	}
	return p, nil
}

// gpuProver is a prover that is loaded again with a smaller plan when the card's
// memory turns out to be less than what was reserved: others use the card too.
type gpuProver struct {
	card    *gpuCard
	circuit *r1cs.Compiled
	key     *srs.Key
	rounds  *rounds // of a streamed key whose jobs have many partitions

	mu    sync.RWMutex // held for reading while inner is used
	inner backend.Prover
	place budget.Placement
	times int // that it was loaded
}

// smallerPlans is how often a plan is made smaller, by an eighth each time, until
// the key is refused; a plan that cannot be made smaller refuses by itself, with the
// numbers.
const smallerPlans = 4

// load loads the key, with less memory as long as there is not enough.
func (p *gpuProver) load(ctx context.Context, progress func(float64)) error {
	var rising float64 // a second try does not go back
	report := progress
	if progress != nil {
		report = func(done float64) {
			rising = max(rising, done)
			progress(rising)
		}
	}
	for try := 0; ; try++ {
		b, err := p.card.backend(p.place)
		if err == nil {
			p.inner, err = b.Load(ctx, p.circuit, p.key, report)
		}
		if err == nil {
			p.times++
			return nil
		}
		p.inner = nil
		if !errors.Is(err, cuda.ErrOutOfMemory) || errors.Is(err, cuda.ErrSticky) || try == smallerPlans || ctx.Err() != nil {
			return err
		}
		p.lessRoom()
	}
}

// lessRoom makes the plan smaller.
func (p *gpuProver) lessRoom() {
	p.place.Key.Device -= p.place.Key.Device / 8
	p.place.AtOnce = min(p.place.AtOnce, 1)
}

// Sums implements [backend.Prover]. Single assignments for a streamed key join
// others.
func (p *gpuProver) Sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	if p.rounds == nil || len(w) != 1 {
		return p.whole(ctx, w, progress)
	}
	if err := p.circuit.Fits(w[0]); err != nil {
		return nil, err // not one for the others of the round
	}
	sums, err := p.rounds.sums(ctx, w[0], progress)
	if err != nil {
		return nil, err
	}
	return []backend.Sums{sums}, nil
}

// whole makes the sums of all assignments in one call of the card.
func (p *gpuProver) whole(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	for try := 0; ; try++ {
		out, times, err := p.sums(ctx, w, progress)
		if err == nil || !errors.Is(err, cuda.ErrOutOfMemory) || errors.Is(err, cuda.ErrSticky) || try == smallerPlans {
			return out, cardError(err)
		}
		if again := p.shrink(ctx, times); again != nil {
			return nil, cardError(errors.Join(err, again))
		}
	}
}

func (p *gpuProver) sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, int, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.inner == nil {
		return nil, p.times, fmt.Errorf("%w: the key could not be loaded again", cuda.ErrOutOfMemory)
	}
	out, err := p.inner.Sums(ctx, w, progress)
	return out, p.times, err
}

// shrink loads the key again with less memory, unless another proof had that done
// since the given time.
func (p *gpuProver) shrink(ctx context.Context, times int) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.times != times {
		return nil
	}
	if p.inner != nil {
		if err := p.inner.Close(); err != nil {
			return err
		}
		p.inner = nil
	}
	p.lessRoom()
	return p.load(ctx, nil)
}

// Bytes implements [backend.Prover].
func (p *gpuProver) Bytes() int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.inner == nil {
		return 0
	}
	return p.inner.Bytes()
}

// Close implements [backend.Prover].
func (p *gpuProver) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inner == nil {
		return nil
	}
	err := p.inner.Close()
	p.inner = nil
	return err
}

// cardError tells the engine what an error of the driver means for the card.
func cardError(err error) error {
	switch {
	case errors.Is(err, cuda.ErrHung):
		return fmt.Errorf("%w: %w; restart the daemon to have its memory back", engine.ErrDeviceLost, err)
	case errors.Is(err, cuda.ErrDeviceLost):
		return fmt.Errorf("%w: %w", engine.ErrDeviceLost, err)
	case errors.Is(err, cuda.ErrSticky):
		return fmt.Errorf("%w: %w", engine.ErrDeviceBroken, err)
	case errors.Is(err, cuda.ErrOutOfMemory):
		return engine.Fail(job.NoMemory, err)
	}
	return err
}
