package cuda

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	gpu "cuzk/cuda"
)

// feed brings slices of lists to the device, one while another is summed. One
// goroutine brings, in the order in which another takes.
type feed struct {
	copier  machine // copies beside the sums
	buffers [2]gpu.Memory
	full    chan fed
	empty   chan int
}

// fed is a slice on the device.
type fed struct {
	buffer int
	points gpu.Memory
}

// newFeed takes two buffers.
func newFeed(h *holding, m machine, bytes int64) (f *feed, err error) {
	f = &feed{}
	for i := range f.buffers {
		if f.buffers[i], err = h.alloc(aligned(bytes)); err != nil {
			return f, err
		}
	}
	copier, err := m.beside()
	if err == nil {
		f.copier = copier
	}
	return f, err
}

// close waits for copies under way.
func (f *feed) close() error {
	if f == nil || f.copier == nil {
		return nil
	}
	return f.copier.close()
}

// with runs work while the slices of the tasks are brought. The first error ends
// both; nothing is on its way any more when it returns.
func (f *feed) with(parent context.Context, tasks []task, work func(context.Context) error) error {
	f.full, f.empty = make(chan fed), make(chan int, len(f.buffers))
	for i := range f.buffers {
		f.empty <- i
	}
	g, ctx := errgroup.WithContext(parent)
	g.Go(func() error { return guarded(func() error { return f.run(ctx, tasks) }) })
	g.Go(func() error { return work(ctx) })
	err := g.Wait()
	if err != nil {
		err = errors.Join(err, quiet(f.copier))
	}
	return err
}

// run brings all slices of lists with a home.
func (f *feed) run(ctx context.Context, tasks []task) (err error) {
	for _, t := range tasks {
		if t.list == nil || t.list.home == nil {
			continue
		}
		t.list.slices(func(from, n int) {
			if err == nil {
				err = f.bring(ctx, t.list, from, n)
			}
		})
	}
	return err
}

// bring waits for a buffer, and for the slice to be there.
func (f *feed) bring(ctx context.Context, l *list, from, n int) error {
	var i int
	select {
	case i = <-f.empty:
	case <-ctx.Done():
		return ctx.Err()
	}
	to := f.buffers[i].Slice(0, int64(n)*l.curve.point)
	err := l.home.bring(ctx, f.copier, to, l, from)
	if err == nil {
		err = settle(ctx, f.copier)
	}
	if err != nil {
		return err
	}
	select {
	case f.full <- fed{i, to}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// next is the slice that is next.
func (f *feed) next(ctx context.Context) (fed, error) {
	select {
	case s := <-f.full:
		return s, nil
	case <-ctx.Done():
		return fed{}, ctx.Err()
	}
}

// done gives the buffer back, once nothing reads it.
func (f *feed) done(s fed) { f.empty <- s.buffer }
