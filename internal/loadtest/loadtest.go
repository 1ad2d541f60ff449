// Package loadtest sends requests to a daemon and measures what comes back: one
// at a time, several at a time, for a while with faults of clients mixed in, or
// into a queue that is full.
//
// Source: the times are those of the cuzk.v1 replies (milliseconds: waiting until
// the first witness, the key, and synthesis and proving as sums over partitions),
// beside the wall time that the client sees.
//
// Invariants:
//
//  1. Every request gets an id of its own, so that no answer is an older one's.
//  2. Every proof that comes back is checked if its case has a check; a proof that
//     fails it, and a job without an answer, is a problem of the report.
//  3. The first proof of each case loads keys; it is told apart from the others.
//  4. What is counted adds up: each request that was sent ended in exactly one of
//     the outcomes of [Counts].
package loadtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/client"
)

// Daemon is what is measured; a client with its connection is one.
type Daemon interface {
	Prove(ctx context.Context, r *cuzkv1.SubmitProofRequest) (client.Result, error)
	Submit(ctx context.Context, r *cuzkv1.SubmitProofRequest) (id string, err error)
	Await(ctx context.Context, id string, atMost time.Duration) (client.Result, error)
	Cancel(ctx context.Context, id string) (bool, error)
	Status(ctx context.Context) error
	Metrics(ctx context.Context) (string, error)
}

// Case is a request that is sent again and again.
type Case struct {
	Name       string // its circuit
	Request    *cuzkv1.SubmitProofRequest
	Partitions int
	Check      func(proof []byte) error // nil: there is no verifying key
}

// Config says what is sent.
type Config struct {
	Daemon      Daemon
	Cases       []Case        // sent in turn
	Count       int           // how often each is sent, but for Stress
	Concurrency int           // requests under way at a time, at least 1
	Look        time.Duration // time between two calls of GetStatus; 0: none
	// Progress hears of the part that is done, 0 to 1; it may be nil.
	Progress func(what string, part float64)
}

// class are the priorities of the contract.
const (
	classOwn      = cuzkv1.Priority(0) // the kind's
	classNormal   = cuzkv1.Priority_NORMAL
	classCritical = cuzkv1.Priority_CRITICAL
)

// run is one measurement.
type run struct {
	cfg Config
	tag string // of the ids

	mu       sync.Mutex
	sent     int
	counts   Counts
	problems []string
	samples  map[string][]sample // by the row of the report
	rows     []string            // in the order of their first sample
	warm     []First
	looked   []time.Duration
	unseen   int // calls of GetStatus that failed
	memory   Memory
}

// sample is one proof.
type sample struct {
	client.Result
	wall       time.Duration
	partitions int
}

func newRun(cfg Config) *run {
	cfg.Concurrency = max(cfg.Concurrency, 1)
	if cfg.Progress == nil {
		cfg.Progress = func(string, float64) {}
	}
	return &run{cfg: cfg, tag: fmt.Sprintf("%x", time.Now().UnixNano()), samples: map[string][]sample{}}
}

// message is a case's request under a fresh id. It shares the payload.
func (r *run) message(c *Case, class cuzkv1.Priority) *cuzkv1.SubmitProofRequest {
	r.mu.Lock()
	r.sent++
	id := fmt.Sprintf("bench-%s-%d", r.tag, r.sent)
	r.mu.Unlock()
	q := c.Request
	return &cuzkv1.SubmitProofRequest{RequestId: id, Priority: class, ProofKind: q.ProofKind, SectorSize: q.SectorSize, RegisteredProof: q.RegisteredProof,
		VanillaProof: q.VanillaProof, VanillaProofs: q.VanillaProofs, SectorNumber: q.SectorNumber, MinerId: q.MinerId, Randomness: q.Randomness,
		PartitionIndex: q.PartitionIndex, CommROld: q.CommROld, CommRNew: q.CommRNew, CommDNew: q.CommDNew}
}

// count changes the counts.
func (r *run) count(f func(*Counts)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.counts)
}

// maxProblems bounds what a report lists; the rest is counted.
const maxProblems = 20

func (r *run) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Problems++
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, fmt.Sprintf(format, args...))
	}
}

// answered takes a proof in.
func (r *run) answered(row string, c *Case, id string, p client.Result, wall time.Duration) {
	verified := false
	if c.Check != nil {
		if err := c.Check(p.Proof); err != nil {
			r.count(func(n *Counts) { n.Proved++ })
			r.problem("%s: the proof of %s does not verify: %v", id, c.Name, err)
			return
		}
		verified = true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Proved++
	if verified {
		r.counts.Verified++
	}
	if row == "" {
		return
	}
	if r.samples[row] == nil {
		r.rows = append(r.rows, row)
	}
	r.samples[row] = append(r.samples[row], sample{p, wall, c.Partitions})
}

// refusedFor is how long a daemon may refuse a request before the measurement
// is given up; again is how long is waited before it is sent again.
const (
	refusedFor = time.Minute
	again      = 20 * time.Millisecond
)

// patiently calls f until the daemon takes the request.
func (r *run) patiently(ctx context.Context, f func() error) error {
	start := time.Now()
	for {
		err := f()
		if !client.Busy(err) || time.Since(start) > refusedFor {
			return err
		}
		r.count(func(n *Counts) { n.Refused++ })
		select {
		case <-time.After(again):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// prove sends a request and waits. A job that failed is a problem; an error is
// only what keeps the measurement from going on.
func (r *run) prove(ctx context.Context, row string, c *Case, class cuzkv1.Priority) error {
	m := r.message(c, class)
	var p client.Result
	start := time.Now()
	err := r.patiently(ctx, func() (err error) {
		p, err = r.cfg.Daemon.Prove(ctx, m)
		return err
	})
	var f *client.Failed
	switch {
	case errors.As(err, &f):
		r.count(func(n *Counts) { n.Failed++ })
		r.problem("%s: %v", m.RequestId, f)
		return nil
	case err != nil:
		return err
	}
	r.answered(row, c, m.RequestId, p, time.Since(start))
	return nil
}

// warmUp proves each case once, which loads its key.
func (r *run) warmUp(ctx context.Context) error {
	if err := r.cfg.Daemon.Status(ctx); err != nil {
		return err
	}
	seen := map[string]bool{}
	for i := range r.cfg.Cases {
		c := &r.cfg.Cases[i]
		if seen[c.Name] {
			continue
		}
		seen[c.Name] = true
		r.cfg.Progress("first proof of "+c.Name, 0)
		m, start := r.message(c, classOwn), time.Now()
		p, err := r.cfg.Daemon.Prove(ctx, m)
		if err != nil {
			return err
		}
		r.answered("", c, m.RequestId, p, 0)
		r.warm = append(r.warm, First{c.Name, time.Since(start).Seconds(), p.Key.Seconds()})
	}
	return nil
}

// measure warms up, runs f while the daemon is looked at, and sums up.
func (r *run) measure(ctx context.Context, mode string, f func(context.Context) error) (*Report, error) {
	if len(r.cfg.Cases) == 0 {
		return nil, errors.New("there is no request to send")
	}
	if err := r.warmUp(ctx); err != nil {
		return nil, err
	}
	looking, stop := context.WithCancel(ctx)
	var w sync.WaitGroup
	w.Go(func() { r.look(looking) })
	w.Go(func() { r.weigh(looking) })
	start := time.Now()
	err := f(ctx)
	wall := time.Since(start)
	stop()
	w.Wait()
	if err != nil {
		return nil, err
	}
	return r.report(mode, wall), nil
}

// Batch sends every case Count times, Concurrency at a time.
func Batch(ctx context.Context, cfg Config) (*Report, error) {
	r := newRun(cfg)
	return r.measure(ctx, "batch", func(ctx context.Context) error {
		total := r.cfg.Count * len(r.cfg.Cases)
		next := make(chan int)
		return r.workers(ctx, next, total, func(ctx context.Context, k int) error {
			c := &r.cfg.Cases[k%len(r.cfg.Cases)]
			return r.prove(ctx, c.Name, c, classOwn)
		})
	})
}

// workers hands out the numbers below total; the first error ends all.
func (r *run) workers(ctx context.Context, next chan int, total int, do func(context.Context, int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var w sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range r.cfg.Concurrency {
		w.Go(func() {
			for k := range next {
				if err := do(ctx, k); err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				done++
				part := float64(done) / float64(total)
				mu.Unlock()
				r.cfg.Progress("proofs", part)
			}
		})
	}
	for k := 0; k < total && ctx.Err() == nil; k++ {
		select {
		case next <- k:
		case <-ctx.Done():
		}
	}
	close(next)
	w.Wait()
	return context.Cause(ctx)
}
