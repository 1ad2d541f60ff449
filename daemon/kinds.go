package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"cuzk/engine"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
)

// proofs are the kinds of the contract over the circuits and keys of one
// daemon.
type proofs struct {
	circuits *circuits
	keys     *keys
	planner  *planner
	checked  recent
}

func (p *proofs) kinds() []engine.Kind {
	var out []engine.Kind
	for _, w := range kind.Wires() {
		out = append(out, &proofKind{wire: w, proofs: p})
	}
	return out
}

// proofKind implements [engine.Kind].
type proofKind struct {
	wire kind.Wire
	*proofs
}

// Name implements [engine.Kind].
func (k *proofKind) Name() string { return k.wire.Name }

// Number implements [engine.Kind].
func (k *proofKind) Number() int32 { return k.wire.Number }

// Class implements [engine.Kind].
func (k *proofKind) Class() job.Class { return job.Class(k.wire.Priority) }

// Open implements [engine.Kind]: it decodes the request and checks its vanilla
// proof. A request that passed before, and was then put aside until its turn, is
// only decoded.
func (k *proofKind) Open(ctx context.Context, r *job.Request) (engine.Opened, error) {
	request := kind.Request(*r)
	j, err := k.wire.Open(ctx, &request)
	if err != nil {
		return nil, k.class(ctx, err)
	}
	if _, known := kind.Lookup(j.Circuit); !known {
		return nil, fmt.Errorf("circuit %s is not supported", j.Circuit)
	}
	digest := r.Digest()
	if !k.checked.has(digest) {
		if err := j.Check(ctx, nil); err != nil {
			return nil, k.class(ctx, err)
		}
		k.checked.add(digest)
	}
	work := k.planner.work(j.Circuit)
	work.Decoded = decodedBytes(r.Size())
	return &opened{proofs: k.proofs, job: j, plan: engine.Plan{Key: kind.WireID(j.Circuit), Partitions: len(j.Partitions), Work: work}}, nil
}

// class tells the caller's errors from ours.
func (k *proofKind) class(ctx context.Context, err error) error {
	if errors.Is(err, kind.ErrBadInput) || ctx.Err() != nil {
		return err
	}
	return engine.Fail(job.Internal, err)
}

// Join implements [engine.Kind].
func (k *proofKind) Join(proofs [][]byte) ([]byte, error) {
	for i, p := range proofs {
		if len(p) != groth16.ProofBytes {
			return nil, fmt.Errorf("proof of partition %d has %d bytes", i, len(p))
		}
	}
	return bytes.Join(proofs, nil), nil
}

// opened implements [engine.Opened].
type opened struct {
	*proofs
	job  *kind.Job
	plan engine.Plan
}

// Plan implements [engine.Opened].
func (o *opened) Plan() engine.Plan { return o.plan }

// Close implements [engine.Opened].
func (o *opened) Close() { o.job = nil }

// Synthesise implements [engine.Opened].
func (o *opened) Synthesise(ctx context.Context, k int) (engine.Witness, error) {
	c, err := o.circuits.get(ctx, o.job.Circuit)
	if err != nil {
		return nil, err
	}
	p := &o.job.Partitions[k]
	a, err := p.Witness(ctx, c)
	if errors.Is(err, kind.ErrBadInput) {
		return nil, engine.Fail(job.Unsatisfied, err)
	}
	if err != nil {
		return nil, err
	}
	return &witness{id: o.job.Circuit, circuit: c, keys: o.keys, inputs: p.Inputs, values: a}, nil
}

// recent remembers the digests of the latest requests that passed their check.
type recent struct {
	mu    sync.Mutex
	known map[job.Digest]bool
	order []job.Digest
}

// recentLimit is more than are ever waiting to be opened again.
const recentLimit = 1 << 14

func (r *recent) has(d job.Digest) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[d]
}

func (r *recent) add(d job.Digest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[job.Digest]bool{}
	}
	if r.known[d] {
		return
	}
	if len(r.order) == recentLimit {
		delete(r.known, r.order[0])
		r.order = r.order[1:]
	}
	r.known[d] = true
	r.order = append(r.order, d)
}
