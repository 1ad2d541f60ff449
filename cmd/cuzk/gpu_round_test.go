package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend"
	"cuzk/r1cs"
)

// roundLog is a card that takes a second for a round and remembers their sizes. The
// sums of an assignment carry its number of bits.
type roundLog struct {
	mu    sync.Mutex
	sizes []int
	err   error
}

func (l *roundLog) run(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	l.mu.Lock()
	l.sizes = append(l.sizes, len(w))
	l.mu.Unlock()
	progress("h", 0.5)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	out := make([]backend.Sums, len(w))
	for i := range w {
		out[i].Timings = []backend.Timing{{Stage: "h", Took: time.Duration(w[i].NumBits)}}
	}
	return out, l.err
}

// settle lets a loop see that nobody waits.
func settle() {
	time.Sleep(2 * roundGather)
	synctest.Wait()
}

// ask calls for n assignments at once and returns their errors in order.
func (l *roundLog) ask(r *rounds, n int, ctx func(i int) context.Context) []error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			s, err := r.sums(ctx(i), &r1cs.Assignment{NumBits: i}, func(string, float64) {})
			if err == nil && s.Timings[0].Took != time.Duration(i) {
				err = fmt.Errorf("the sums of another: %v", s.Timings)
			}
			errs[i] = err
		})
	}
	wg.Wait()
	return errs
}

func TestCallsJoinRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &roundLog{}
		r := &rounds{run: l.run}
		start := time.Now()
		for i, err := range l.ask(r, 2*roundMost+1, func(int) context.Context { return t.Context() }) {
			if err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		if want := fmt.Sprint([]int{roundMost, roundMost, 1}); fmt.Sprint(l.sizes) != want {
			t.Errorf("rounds of %v, want %v", l.sizes, want)
		}
		if took, want := time.Since(start), 3*(time.Second+roundGather); took != want {
			t.Errorf("took %v, want %v", took, want)
		}
		settle()
		if r.going || len(r.waiting) > 0 {
			t.Error("the loop has not ended")
		}
		// A call after the end begins a loop again.
		if err := l.ask(r, 1, func(int) context.Context { return t.Context() })[0]; err != nil {
			t.Error(err)
		}
		settle()
	})
}

func TestCallersLeaveRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &roundLog{}
		r := &rounds{run: l.run}
		soon := func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			t.Cleanup(cancel)
			return ctx
		}
		// One leaves: the others get their sums.
		errs := l.ask(r, 3, func(i int) context.Context {
			if i == 1 {
				return soon()
			}
			return t.Context()
		})
		if errs[0] != nil || !errors.Is(errs[1], context.DeadlineExceeded) || errs[2] != nil {
			t.Errorf("got %v", errs)
		}
		// All leave: the round ends, and the next one begins without waiting for it.
		start := time.Now()
		l.ask(r, 3, func(int) context.Context { return soon() })
		if err := l.ask(r, 1, func(int) context.Context { return t.Context() })[0]; err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 100*time.Millisecond+roundGather+time.Second {
			t.Errorf("took %v", took)
		}
		// Who left before its round is in none.
		l.sizes = nil
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		l.ask(r, 2, func(i int) context.Context { return [...]context.Context{gone, t.Context()}[i] })
		if fmt.Sprint(l.sizes) != "[1]" {
			t.Errorf("rounds of %v", l.sizes)
		}
		settle()
	})
}

func TestErrorOfARoundIsEachCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &roundLog{err: errors.New("fell off")}
		for i, err := range l.ask(&rounds{run: l.run}, 3, func(int) context.Context { return t.Context() }) {
			if !errors.Is(err, l.err) {
				t.Errorf("call %d: %v", i, err)
			}
		}
		settle()
	})
}
