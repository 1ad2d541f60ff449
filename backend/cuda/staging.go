package cuda

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	stagingPiece  = 192 << 10         // what a goroutine fills at a time: whole points of every kind
	stagingBytes  = 44 * stagingPiece // of a slot: 0.16 ms at 55 GB/s
	stagingSlots  = 8
	stagingFlight = 3  // copies that may be under way while slots are filled: the bus is never idle
	stagingHands  = 16 // goroutines that fill slots
)

// ring is pinned memory in slots of stagingBytes, used in turn. One goroutine calls
// free and copy.
type ring interface {
	slot(i int) []byte
	// free waits until the last copy from a slot is done.
	free(ctx context.Context, i int) error
	// copy enqueues a copy of n bytes of a slot to the bytes off, off+1, ... of the
	// destination.
	copy(i int, off, n int64) error
}

// stretch is what a slot is filled with.
type stretch struct {
	slot int
	n    int64
	off  int64
	left atomic.Int64  // pieces that are not filled
	full chan struct{} // closed when none is left
}

// handful is a goroutine's part of a stretch.
type handful struct {
	*stretch
	from, to int64
}

// pour brings bytes through a ring, beginning with the slot first: some goroutines
// fill slots, in order, ahead of the copies. It returns the slot that is next.
func pour(parent context.Context, r ring, first int, bytes int64, fill filler) (next int, err error) {
	ctx, cancel := context.WithCancelCause(parent)
	n := int((bytes + stagingBytes - 1) / stagingBytes)
	pieces := make(chan handful, stagingSlots*(stagingBytes/stagingPiece))
	var hands sync.WaitGroup
	for range min(stagingHands, runtime.GOMAXPROCS(0), int((bytes+stagingPiece-1)/stagingPiece)) {
		hands.Go(func() {
			for p := range pieces {
				if err := guarded(func() error { return p.fill(ctx, r, fill) }); err != nil {
					cancel(err)
				}
			}
		})
	}
	var open []*stretch
	for k := 0; k < n && err == nil; k++ {
		for i := k + len(open); i < min(n, k+stagingSlots-stagingFlight) && err == nil; i++ {
			s := &stretch{slot: (first + i) % stagingSlots, off: int64(i) * stagingBytes, full: make(chan struct{})}
			s.n = min(stagingBytes, bytes-s.off)
			if err = r.free(ctx, s.slot); err == nil {
				s.hand(pieces)
				open = append(open, s)
			}
		}
		if err == nil {
			err = open[0].take(ctx, r)
			open = open[1:]
		}
	}
	close(pieces)
	hands.Wait() // nothing is written to a slot or read from the source any more
	if cause := context.Cause(ctx); err == nil || errors.Is(err, context.Canceled) && cause != nil {
		err = cause
	}
	cancel(nil)
	return (first + n) % stagingSlots, err
}

// hand gives a stretch to those who fill.
func (s *stretch) hand(to chan<- handful) {
	s.left.Store((s.n + stagingPiece - 1) / stagingPiece)
	for at := int64(0); at < s.n; at += stagingPiece {
		to <- handful{s, at, min(at+stagingPiece, s.n)}
	}
}

// fill fills a piece, unless another failed.
func (p handful) fill(ctx context.Context, r ring, fill filler) error {
	if ctx.Err() != nil {
		return nil
	}
	if err := fill(r.slot(p.slot)[p.from:p.to], p.off+p.from); err != nil {
		return err
	}
	if p.left.Add(-1) == 0 {
		close(p.full)
	}
	return nil
}

// take enqueues the copy of a stretch once it is full.
func (s *stretch) take(ctx context.Context, r ring) error {
	select {
	case <-s.full:
		return r.copy(s.slot, s.off, s.n)
	case <-ctx.Done():
		return ctx.Err()
	}
}
