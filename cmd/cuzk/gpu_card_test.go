package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend"
	bcuda "cuzk/backend/cuda"
	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/engine"
	"cuzk/job"
	"cuzk/r1cs"
	"cuzk/srs"
)

// standIn is a card whose memory in bytes is what loads and sums fit into.
type standIn struct {
	room      int64
	err       error // of every call
	closed    int
	abandoned error
	asked     []int64 // memory of each load
}

func (s *standIn) backend(o bcuda.Options) cardBackend { return &standInBackend{s, o} }
func (s *standIn) abandon(why error)                   { s.abandoned = why }
func (s *standIn) close() error                        { s.closed++; return s.err }

type standInBackend struct {
	*standIn
	opt bcuda.Options
}

func (b *standInBackend) Name() string { return "stand-in" }
func (b *standInBackend) Close() error { return b.err }

func (b *standInBackend) Load(context.Context, *r1cs.Compiled, *srs.Key, func(float64)) (backend.Prover, error) {
	b.asked = append(b.asked, b.opt.Memory)
	if b.err != nil {
		return nil, b.err
	}
	if b.opt.Memory > b.room {
		return nil, fmt.Errorf("allocate %d: %w", b.opt.Memory, cuda.ErrOutOfMemory)
	}
	return &standInProver{b}, nil
}

type standInProver struct{ *standInBackend }

func (p *standInProver) Bytes() int64 { return p.opt.Memory }

func (p *standInProver) Sums(context.Context, []*r1cs.Assignment, func(string, float64)) ([]backend.Sums, error) {
	if p.opt.Memory > p.room {
		return nil, fmt.Errorf("launch: %w", cuda.ErrOutOfMemory)
	}
	return nil, p.err
}

func standInCard(t *testing.T, s *standIn) *gpuCard {
	t.Helper()
	g := &gpuCard{open: func(context.Context) (openedCard, error) { return s, nil }}
	if err := g.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	return g
}

func standInProof(g *gpuCard, memory budget.Bytes) *gpuProver {
	return &gpuProver{card: g, place: budget.Placement{Key: budget.Need{Device: memory}, AtOnce: 2}}
}

// TestErrorsOfTheDriverReachTheEngine: each class has its own.
func TestErrorsOfTheDriverReachTheEngine(t *testing.T) {
	for _, c := range []struct{ driver, engine error }{
		{&cuda.Error{Code: 700, Name: "CUDA_ERROR_ILLEGAL_ADDRESS"}, engine.ErrDeviceBroken},
		{&cuda.Error{Code: 999, Name: "CUDA_ERROR_UNKNOWN"}, engine.ErrDeviceLost},
		{cuda.ErrHung, engine.ErrDeviceLost},
	} {
		s := &standIn{room: 100}
		p := standInProof(standInCard(t, s), 80)
		if err := p.load(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		s.err = c.driver
		if _, err := p.Sums(t.Context(), nil, nil); !errors.Is(err, c.engine) || !errors.Is(err, c.driver) || !strings.Contains(err.Error(), c.driver.Error()) {
			t.Errorf("%v: %v", c.driver, err)
		}
	}
}

// TestOutOfMemoryMakesASmallerPlan: when a key is loaded and when a proof is made;
// where no plan is small enough the error has the class and the numbers, and it ends.
func TestOutOfMemoryMakesASmallerPlan(t *testing.T) {
	s := &standIn{room: 75}
	g := standInCard(t, s)
	p := standInProof(g, 100)
	if err := p.load(t.Context(), nil); err != nil || p.Bytes() > 75 || len(s.asked) != 4 {
		t.Fatalf("loaded with %d bytes after %v: %v", p.Bytes(), s.asked, err)
	}
	s.room = 50
	if _, err := p.Sums(t.Context(), nil, nil); err != nil || p.Bytes() > 50 {
		t.Fatalf("proved with %d bytes after %v: %v", p.Bytes(), s.asked, err)
	}
	s.room, s.asked = 10, nil
	_, err := p.Sums(t.Context(), nil, nil)
	var class interface{ Failure() job.Failure }
	if !errors.As(err, &class) || class.Failure() != job.NoMemory || !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("refused with %v", err)
	}
	if len(s.asked) != smallerPlans+1 {
		t.Errorf("loaded with %v", s.asked)
	}
	if _, err := p.Sums(t.Context(), nil, nil); !errors.Is(err, cuda.ErrOutOfMemory) || len(s.asked) > 2*(smallerPlans+1)*(smallerPlans+1) {
		t.Errorf("again: %v after %v", err, s.asked)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// TestReopenedCard: what there was is closed, however broken; a card that cannot be
// opened is lost until it can; a driver that does not return is not waited for.
func TestReopenedCard(t *testing.T) {
	old := &standIn{room: 100}
	g := standInCard(t, old)
	if _, err := g.backend(budget.Placement{}); err != nil {
		t.Fatal(err)
	}
	old.err = cuda.ErrSticky
	g.open = func(context.Context) (openedCard, error) { return nil, bcuda.ErrSelfTest }
	if err := g.Reopen(t.Context()); !errors.Is(err, bcuda.ErrSelfTest) || old.closed != 1 {
		t.Errorf("reopened with %v, closed %d times", err, old.closed)
	}
	if err := standInProof(g, 10).load(t.Context(), nil); !errors.Is(err, engine.ErrDeviceLost) {
		t.Errorf("loaded onto a card that is not open: %v", err)
	}
	fresh := &standIn{room: 100}
	g.open = func(context.Context) (openedCard, error) { return fresh, nil }
	if err := g.Reopen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := standInProof(g, 10).load(t.Context(), nil); err != nil || len(fresh.asked) != 1 {
		t.Errorf("loaded with %v onto %v", err, fresh.asked)
	}
	why := errors.New("deaf")
	if g.abandon(why); fresh.abandoned != why {
		t.Errorf("abandoned with %v", fresh.abandoned)
	}
}

// TestCardThatCannotBeOpened: it is tried again, unless it computes wrongly, and is
// then lost from the start, with the reason, until it can be opened.
func TestCardThatCannotBeOpened(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		after int // tries without one
		tries int
	}{"in use": {cuda.ErrSticky, 1, 2}, "broken": {cuda.ErrDeviceLost, 9, openTries}, "wrong": {fmt.Errorf("%w on it:\nlaunch", bcuda.ErrSelfTest), 9, 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				g := &gpuCard{memory: 100, open: func(context.Context) (openedCard, error) {
					if tries++; tries > c.after {
						return &standIn{room: 100}, nil
					}
					return nil, c.err
				}}
				a := g.accelerator(cuda.Device{UUID: "GPU-1"}, g.openPatiently(t.Context(), openPause))
				if (a.Lost == "") != (c.tries > c.after) || strings.Contains(a.Lost, "\n") || tries != c.tries || a.ID != "GPU-1" {
					t.Errorf("lost: %q after %d tries", a.Lost, tries)
				}
				tries = 9
				if err := errors.Join(a.Reopen(t.Context()), standInProof(g, 10).load(t.Context(), nil)); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestWhoIsAtFault: a context that cannot be made because another one broke is the
// process's fault; of a lost card, or a busy one, a new process is no cure.
func TestWhoIsAtFault(t *testing.T) {
	for code, process := range map[int]bool{700: true, 719: true, 999: false, 101: false, 2: false} {
		err := &cuda.Error{Call: "cuCtxCreate_v2", Code: code, Name: "CUDA_ERROR"}
		if got := openError(err); errors.Is(got, engine.ErrProcess) != process || !errors.Is(got, err) {
			t.Errorf("%d: %v", code, got)
		}
	}
	if got := openError(cuda.ErrHung); errors.Is(got, engine.ErrProcess) {
		t.Errorf("a card that hangs: %v", got)
	}
}

func TestReopeningEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old, late := &standIn{}, &standIn{}
		g := standInCard(t, old)
		g.open = func(context.Context) (openedCard, error) { time.Sleep(time.Hour); return late, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := g.Reopen(ctx); !errors.Is(err, context.DeadlineExceeded) || old.abandoned == nil {
			t.Errorf("reopened with %v, the old one abandoned with %v", err, old.abandoned)
		}
		time.Sleep(2 * time.Hour)
		if late.closed != 1 {
			t.Errorf("what was opened too late was closed %d times", late.closed)
		}
	})
}
