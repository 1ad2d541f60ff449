package cpu

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// cores is how many goroutines share a piece of work.
func cores() int { return runtime.GOMAXPROCS(0) }

// chunkPoints is the number of points that a worker takes at a time where
// points are decoded.
const chunkPoints = 1 << 12

// points is one list of a key: in memory, or decoded from the file as needed.
type points[P any] struct {
	n      int
	held   []P // all of them, or nil
	decode func(dst []P, from int) error
}

// keep decodes all points.
func (p *points[P]) keep(ctx context.Context) error {
	held := make([]P, p.n)
	err := each(ctx, (p.n+chunkPoints-1)/chunkPoints, func() func(int) error {
		return func(i int) error {
			from := i * chunkPoints
			return p.decode(held[from:min(from+chunkPoints, p.n)], from)
		}
	})
	p.held = held
	return err
}

// gather writes the points at the ascending positions to dst.
func (p *points[P]) gather(dst []P, positions []uint32) error {
	if p.held != nil {
		for i, k := range positions {
			dst[i] = p.held[k]
		}
		return nil
	}
	for i := 0; i < len(positions); {
		n := 1 // length of the run of neighbours
		for i+n < len(positions) && positions[i+n] == positions[i]+uint32(n) {
			n++
		}
		if err := p.decode(dst[i:i+n], int(positions[i])); err != nil {
			return err
		}
		i += n
	}
	return nil
}

// slice is the points from, from+1, ..., from+n-1. What is not in memory is
// decoded into buf, which has room for n, on all cores.
func (p *points[P]) slice(ctx context.Context, buf []P, from, n int) ([]P, error) {
	if p.held != nil {
		return p.held[from : from+n], nil
	}
	buf = buf[:n]
	return buf, each(ctx, (n+chunkPoints-1)/chunkPoints, func() func(int) error {
		return func(i int) error {
			at := i * chunkPoints
			return p.decode(buf[at:min(at+chunkPoints, n)], from+at)
		}
	})
}

// each runs pieces 0 to n-1 on all cores and returns the first error, or the
// context's. worker is called once a goroutine and returns what runs a piece,
// so that goroutines can have scratch of their own.
func each(ctx context.Context, n int, worker func() func(piece int) error) error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(n, cores()))
	for k := range errs {
		run := worker()
		wg.Go(func() {
			for errs[k] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if errs[k] = ctx.Err(); errs[k] == nil {
					errs[k] = run(i)
				}
			}
			next.Store(int64(n)) // the others stop
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
