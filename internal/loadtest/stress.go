package loadtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/client"
)

// Faults says how many requests in a hundred go wrong on the client's side, and
// for how long.
type Faults struct {
	For    time.Duration
	Seed   uint64
	Cancel int // are cancelled while they are under way
	Wrong  int // have a payload that was cut short
	Kill   int // come from a client whose connection breaks while it waits
	// Dial makes a connection of its own, for a client that will be killed.
	Dial func() (d Daemon, hangUp func(), err error)
}

// stress is a run with faults.
type stress struct {
	*run
	f Faults

	left []left // guarded by run.mu
	pace time.Duration
}

// left is a request whose client was killed while it waited.
type left struct {
	c *Case
	m *cuzkv1.SubmitProofRequest
}

// Stress sends requests for a time and then asks again for those whose clients
// were killed: each must have its proof.
func Stress(ctx context.Context, cfg Config, f Faults) (*Report, error) {
	s := &stress{run: newRun(cfg), f: f}
	return s.measure(ctx, "stress", func(ctx context.Context) error {
		if err := s.clients(ctx); err != nil {
			return err
		}
		return s.settle(ctx)
	})
}

func (s *stress) clients(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	start := time.Now()
	var w sync.WaitGroup
	for i := range s.cfg.Concurrency {
		w.Go(func() {
			rng := rand.New(rand.NewPCG(s.f.Seed, uint64(i)))
			for time.Since(start) < s.f.For && ctx.Err() == nil {
				if err := s.one(ctx, rng); err != nil {
					cancel(err)
				}
				s.cfg.Progress("stress", min(float64(time.Since(start))/float64(s.f.For), 1))
			}
		})
	}
	w.Wait()
	return context.Cause(ctx)
}

// one sends one request.
func (s *stress) one(ctx context.Context, rng *rand.Rand) error {
	c := &s.cfg.Cases[rng.IntN(len(s.cfg.Cases))]
	switch n := rng.IntN(100); {
	case n < s.f.Cancel:
		return s.cancel(ctx, c, s.wait(rng))
	case n < s.f.Cancel+s.f.Wrong:
		return s.wrong(ctx, c)
	case n < s.f.Cancel+s.f.Wrong+s.f.Kill:
		return s.kill(ctx, c, s.wait(rng))
	}
	start := time.Now()
	err := s.prove(ctx, c.Name, c, classOwn)
	s.mu.Lock()
	s.pace = time.Since(start)
	s.mu.Unlock()
	return err
}

// wait is how long after its request a client does harm: at any point of what
// the last request took.
func (s *stress) wait(rng *rand.Rand) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(rng.Int64N(int64(max(s.pace, 20*time.Millisecond))))
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// cancel takes a request back: it must be cancelled, or have ended before.
func (s *stress) cancel(ctx context.Context, c *Case, after time.Duration) error {
	m := s.message(c, classOwn)
	var id string
	if err := s.patiently(ctx, func() (err error) { id, err = s.cfg.Daemon.Submit(ctx, m); return err }); err != nil {
		return err
	}
	sleep(ctx, after)
	was, err := s.cfg.Daemon.Cancel(ctx, id)
	if err != nil {
		return err
	}
	p, err := s.cfg.Daemon.Await(ctx, id, 0)
	var f *client.Failed
	switch {
	case errors.As(err, &f) && was && f.Status == cuzkv1.AwaitProofResponse_CANCELLED:
		s.count(func(n *Counts) { n.Cancelled++ })
	case err == nil && !was:
		s.answered("", c, m.RequestId, p, 0)
	case err == nil, errors.As(err, &f):
		s.count(func(n *Counts) { n.Failed++ })
		s.problem("%s: the daemon said that it was running: %v; then %v", m.RequestId, was, err)
	default:
		return err
	}
	return nil
}

// wrong sends half of a payload: the job must fail, and say that it always will.
func (s *stress) wrong(ctx context.Context, c *Case) error {
	m := s.message(c, classOwn)
	m.VanillaProof = m.VanillaProof[:len(m.VanillaProof)/2]
	cut := make([][]byte, len(m.VanillaProofs))
	for i, p := range m.VanillaProofs {
		cut[i] = p[:len(p)/2]
	}
	m.VanillaProofs = cut
	err := s.patiently(ctx, func() error { _, err := s.cfg.Daemon.Prove(ctx, m); return err })
	var f *client.Failed
	switch {
	case errors.As(err, &f) && f.Permanent():
		s.count(func(n *Counts) { n.Wrong++ })
	case err == nil, errors.As(err, &f):
		s.count(func(n *Counts) { n.Failed++ })
		s.problem("%s: half a payload was not refused as bad input: %v", m.RequestId, err)
	default:
		return err
	}
	return nil
}

// kill breaks a client's connection while it waits.
func (s *stress) kill(ctx context.Context, c *Case, after time.Duration) error {
	d, hangUp, err := s.f.Dial()
	if err != nil {
		return err
	}
	m := s.message(c, classOwn)
	ended := make(chan error, 1)
	var p client.Result
	go func() {
		var err error
		p, err = d.Prove(ctx, m)
		ended <- err
	}()
	select {
	case err = <-ended:
		hangUp()
	case <-time.After(after):
		hangUp()
		err = <-ended
	}
	var f *client.Failed
	switch {
	case err == nil:
		s.answered("", c, m.RequestId, p, 0)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &f):
		s.count(func(n *Counts) { n.Failed++ })
		s.problem("%s: %v", m.RequestId, f)
	default:
		s.mu.Lock()
		s.counts.Left++
		s.left = append(s.left, left{c, m})
		s.mu.Unlock()
	}
	return nil
}

// settle asks again, under the same id, for what was asked by clients that were
// killed.
func (s *stress) settle(ctx context.Context) error {
	return s.workers(ctx, make(chan int), len(s.left), func(ctx context.Context, k int) error {
		l := s.left[k]
		var p client.Result
		err := s.patiently(ctx, func() (err error) { p, err = s.cfg.Daemon.Prove(ctx, l.m); return err })
		var f *client.Failed
		switch {
		case errors.As(err, &f):
			s.count(func(n *Counts) { n.Failed++ })
			s.problem("%s, whose client was killed: %v", l.m.RequestId, f)
		case err != nil:
			return err
		default:
			s.answered("", l.c, l.m.RequestId, p, 0)
		}
		return nil
	})
}
