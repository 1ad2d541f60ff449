package cuda

import (
	"context"
	"errors"
	"fmt"

	gpu "cuzk/cuda"
)

// machine is a device as a prover sees it: a queue of launches, memory, the sums
// and the quotient. Tests put the kernels compiled for the host here.
type machine interface {
	device
	alloc(bytes int64) (gpu.Memory, error)
	free(gpu.Memory) error
	// send enqueues a copy to all of dst. fill writes a part of the source and may
	// be called by several goroutines at once; the source is not read after send.
	send(ctx context.Context, dst gpu.Memory, fill filler) error
	// pin takes pinned host memory. copyIn and copyOut enqueue copies from and to it,
	// of all of dst and src; it must stay until they are done.
	pin(bytes int64) (*pinned, error)
	unpin(p *pinned) error
	copyIn(dst gpu.Memory, p *pinned, off int64) error
	copyOut(p *pinned, off int64, src gpu.Memory) error
	summer() *Summer
	// beside is a machine on the same device whose work has no order to this one's.
	beside() (machine, error)
	quotient(logN int, full bool) (quotienter, error)
	// giveUp says that the device does not answer, and returns the error of all calls
	// that wait for it and of later ones.
	giveUp(why error) error
	close() error
}

// filler writes the bytes off, off+1, ... of a source to dst.
type filler func(dst []byte, off int64) error

// quotienter is a Quotient that is bound to a machine.
type quotienter interface {
	// on is the same tables for another machine of the device.
	on(m machine) quotienter
	run(a, b, spare gpu.Memory) (gpu.Memory, error)
	// coset is Quotient.Coset.
	coset(a, b gpu.Memory) error
	bytes() int64
	close() error
}

// bytesOf is the filler of a slice.
func bytesOf(src []byte) filler {
	return func(dst []byte, off int64) error { copy(dst, src[off:]); return nil }
}

// stand is the machine of production: one stream of a device, with pinned memory
// for uploads.
type stand struct {
	dev    *Device
	stream gpu.Stream
	sums   *Summer
	events [marks]gpu.Event
	chunks []stagingChunk
	next   int
}

// stagingChunk is pinned memory with the event of its last copy.
type stagingChunk struct {
	mem  gpu.HostMemory
	used gpu.Event
	busy bool
}

// newStand makes a stream with what belongs to it. base, if not nil, has the
// kernels of sums loaded already.
func newStand(dev *Device, base *Summer) (*stand, error) {
	m := &stand{dev: dev, chunks: make([]stagingChunk, stagingSlots)}
	err := dev.owner.Do(m.open)
	if err == nil {
		if base != nil {
			m.sums, err = base.On(m.stream)
		} else {
			m.sums, err = NewSummer(dev.owner, m.stream)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare device %s: %w", dev.info.UUID, err), m.close())
	}
	return m, nil
}

func (m *stand) open(c *gpu.Context) (err error) {
	if m.stream, err = c.NewStream(); err != nil {
		return err
	}
	for i := range m.events {
		if m.events[i], err = c.NewEvent(); err != nil {
			return err
		}
	}
	for i := range m.chunks {
		if m.chunks[i].mem, err = c.HostAlloc(stagingBytes); err != nil {
			return err
		}
		if m.chunks[i].used, err = c.NewEvent(); err != nil {
			return err
		}
	}
	return nil
}

func (m *stand) close() error {
	var first error
	if m.sums != nil {
		first = m.sums.Close()
	}
	return errors.Join(first, m.dev.owner.Do(func(c *gpu.Context) error {
		var errs []error
		for i := range m.chunks {
			errs = append(errs, c.CloseEvent(m.chunks[i].used), c.HostFree(m.chunks[i].mem))
		}
		for _, e := range m.events {
			errs = append(errs, c.CloseEvent(e))
		}
		return errors.Join(append(errs, c.CloseStream(m.stream))...)
	}))
}

func (m *stand) summer() *Summer { return m.sums }

func (m *stand) giveUp(why error) error {
	m.dev.owner.Abandon(why)
	return m.dev.owner.Broken()
}

func (m *stand) beside() (machine, error) { return newStand(m.dev, m.sums) }

func (m *stand) facts() facts { return m.sums.dev.facts() }

func (m *stand) do(fn func(queue) error) error {
	return m.dev.owner.Do(func(c *gpu.Context) error { return fn(&standQueue{m, c}) })
}

func (m *stand) wait(ctx context.Context, i int) error { return m.dev.owner.Wait(ctx, m.events[i]) }

func (m *stand) alloc(bytes int64) (mem gpu.Memory, err error) {
	err = m.dev.owner.Do(func(c *gpu.Context) (err error) { mem, err = c.Alloc(bytes); return err })
	return mem, err
}

func (m *stand) free(mem gpu.Memory) error {
	return m.dev.owner.Do(func(c *gpu.Context) error { return c.Free(mem) })
}

func (m *stand) send(ctx context.Context, dst gpu.Memory, fill filler) (err error) {
	m.next, err = pour(ctx, &standRing{m, dst}, m.next, dst.Bytes, fill)
	return err
}

// standRing is the ring of a stand on its way to a destination.
type standRing struct {
	*stand
	dst gpu.Memory
}

func (r *standRing) slot(i int) []byte { return r.chunks[i].mem.Bytes() }

func (r *standRing) free(ctx context.Context, i int) error {
	if !r.chunks[i].busy {
		return ctx.Err()
	}
	return r.dev.owner.Wait(ctx, r.chunks[i].used)
}

func (r *standRing) copy(i int, off, n int64) error {
	k := &r.chunks[i]
	err := r.dev.owner.Do(func(c *gpu.Context) error {
		if err := c.CopyToDevice(r.dst.Slice(off, n), k.mem, 0, n, r.stream); err != nil {
			return err
		}
		return c.Record(k.used, r.stream)
	})
	if err == nil {
		k.busy = true
	}
	return err
}

// proofModules are the modules of a proof beside those of sums. They are loaded
// with the key, since compiling them for a device the first time takes seconds.
var proofModules = []string{"rows", "select", "small", "ntt", "quotient", "values"}

func (m *stand) quotient(logN int, full bool) (quotienter, error) {
	var q *Quotient
	err := m.dev.owner.Do(func(c *gpu.Context) (err error) {
		for _, name := range proofModules {
			if _, err := m.dev.module(c, name); err != nil {
				return err
			}
		}
		q, err = NewQuotient(c, m.dev, logN, full)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &standQuotient{m, q}, nil
}

type standQuotient struct {
	*stand
	q *Quotient
}

func (s *standQuotient) on(m machine) quotienter { return &standQuotient{m.(*stand), s.q} }

func (s *standQuotient) run(a, b, spare gpu.Memory) (h gpu.Memory, err error) {
	err = s.dev.owner.Do(func(c *gpu.Context) (err error) {
		h, err = s.q.Run(c, a, b, spare, s.stream)
		return err
	})
	return h, err
}

func (s *standQuotient) bytes() int64 { return s.q.Bytes() }

func (s *standQuotient) close() error { return s.dev.owner.Do(s.q.Close) }

// standQueue is a stand inside a call of its owner.
type standQueue struct {
	*stand
	ctx *gpu.Context
}

func (q *standQueue) launch(kernel string, s shape, args ...any) error {
	l := gpu.Launch{Grid: [3]int{s.grid, s.rows}, Block: [3]int{s.block}, Shared: s.shared, Stream: q.stream}
	return q.dev.launch(q.ctx, kernel, l, args...)
}

func (q *standQueue) fill(m gpu.Memory, v byte) error { return q.ctx.Memset(m, v, q.stream) }

func (q *standQueue) upload(dst gpu.Memory, src []byte) error { return q.ctx.Upload(dst, src) }

func (q *standQueue) download(dst []byte, src gpu.Memory) error { return q.ctx.Download(dst, src) }

func (q *standQueue) mark(i int) error { return q.ctx.Record(q.events[i], q.stream) }

func (q *standQueue) stage(string) error { return nil }
