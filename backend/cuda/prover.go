package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"cuzk/backend"
	"cuzk/budget"
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
	// takes memory of its own. A key that is streamed has one.
	Works int
	// Pinned is the pinned host memory in bytes that a key may take that does not
	// fit the device. One that would take more stays in its file, which must then be
	// open until the prover is closed. 0 is three quarters of the host's memory, less
	// than 0 none.
	Pinned int64

	// Values says when H is computed in values. Lists says of a key that is planned for
	// that it has the lists for that; of one that is loaded or made it is known.
	Values ValuesMode
	Lists  bool

	slice int64 // tests: stream in slices of so many bytes
	room  int   // tests: rows that are listed, where H is computed in values
}

// withLists are the options for a key that has the lists K and M, or has not.
func (o Options) withLists(has bool) Options {
	o.Lists = has
	return o
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
func New(dev *Device, opt Options) *Backend {
	if opt.Pinned == 0 {
		opt.Pinned = pinnable()
	}
	return &Backend{dev: dev, opt: opt}
}

// pinnable is three quarters of the host's memory, none if nobody knows how much
// that is.
func pinnable() int64 {
	host, err := budget.Detect(os.DirFS("/"))
	if err != nil {
		return -1
	}
	return int64(host.Bytes) / 4 * 3
}

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
	p, err := b.open(circuit, b.opt)
	if err != nil {
		return nil, err
	}
	return p.plan, p.machine.close()
}

// Load implements [backend.Backend]. Points that the plan leaves in the key file are
// read there, so the key must stay open until the prover is closed.
func (b *Backend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	p, err := b.open(circuit, b.opt.withLists(key.Values != nil))
	if err != nil {
		return nil, err
	}
	return loaded(ctx, p, key, progress)
}

// open makes a prover with a plan and nothing allocated.
func (b *Backend) open(circuit *r1cs.Compiled, o Options) (*prover, error) {
	limit, err := b.limit()
	if err != nil {
		return nil, err
	}
	m, err := b.stand()
	if err != nil {
		return nil, err
	}
	p, err := newProver(m, circuit, limit, o)
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	return p, nil
}

// loaded fills a new prover from a key, or closes it.
func loaded(ctx context.Context, p *prover, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	err := p.layout.CheckKey(p.circuit, key)
	if err == nil && p.plan.values != nil {
		err = p.plan.values.check(key)
	}
	if err == nil {
		err = p.allocateKey(ctx)
	}
	if err == nil {
		err = p.allocateWork()
	}
	if err == nil {
		err = p.read(ctx, key, progress)
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
