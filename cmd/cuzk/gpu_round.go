package main

import (
	"context"
	"sync"
	"time"

	"cuzk/backend"
	"cuzk/r1cs"
)

// A key that is streamed passes over the bus once for all assignments of a call, and
// the engine hands over one partition at a time. So proofs that come together are
// made together.
const (
	// roundSlots is how many partitions a card works on at a time that is too small for
	// a large key. One place is left to a key that is not streamed: WinningPoSt's never
	// waits for the end of a round.
	roundSlots = 4
	roundMost  = roundSlots - 1
	// roundGather is how long a round waits for others to join it; those of the round
	// before it come back together.
	roundGather = 30 * time.Millisecond
)

type sumsFunc func(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error)

// rounds joins calls into rounds, one round at a time.
type rounds struct {
	run sumsFunc

	mu      sync.Mutex
	waiting []*roundCall
	going   bool
}

// roundCall is one caller's assignment.
type roundCall struct {
	ctx      context.Context
	w        *r1cs.Assignment
	progress func(string, float64)
	done     chan roundResult // room for one
}

type roundResult struct {
	sums backend.Sums
	err  error
}

// sums waits for a round with the assignment. A caller whose context ends leaves at
// once; the round ends early when all its callers have left.
func (r *rounds) sums(ctx context.Context, w *r1cs.Assignment, progress func(string, float64)) (backend.Sums, error) {
	c := &roundCall{ctx, w, progress, make(chan roundResult, 1)}
	r.mu.Lock()
	r.waiting = append(r.waiting, c)
	if !r.going {
		r.going = true
		go r.loop()
	}
	r.mu.Unlock()
	select {
	case res := <-c.done:
		return res.sums, res.err
	case <-ctx.Done():
		return backend.Sums{}, ctx.Err()
	}
}

// loop runs rounds until nobody waits.
func (r *rounds) loop() {
	for {
		time.Sleep(roundGather)
		calls := r.take()
		if calls == nil {
			return
		}
		runRound(r.run, calls)
	}
}

// take is the next round, without those who have left; nil ends the loop.
func (r *rounds) take() (calls []*roundCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 && len(calls) < roundMost {
		if c := r.waiting[0]; c.ctx.Err() == nil {
			calls = append(calls, c)
		}
		r.waiting = r.waiting[1:]
	}
	r.going = calls != nil
	return calls
}

// runRound answers each caller.
func runRound(run sumsFunc, calls []*roundCall) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var mu sync.Mutex
	left := len(calls)
	ws := make([]*r1cs.Assignment, len(calls))
	for i, c := range calls {
		ws[i] = c.w
		defer context.AfterFunc(c.ctx, func() {
			mu.Lock()
			defer mu.Unlock()
			if left--; left == 0 {
				cancel()
			}
		})()
	}
	out, err := run(ctx, ws, func(stage string, done float64) {
		for _, c := range calls {
			if c.progress != nil {
				c.progress(stage, done)
			}
		}
	})
	for i, c := range calls {
		res := roundResult{err: err}
		if err == nil {
			res.sums = out[i]
		}
		c.done <- res
	}
}
