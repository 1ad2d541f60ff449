package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	gpu "cuzk/cuda"
)

// pinned is host memory that the device copies by itself, outside the Go heap.
type pinned struct {
	data []byte
	mem  gpu.HostMemory // of a card
}

const (
	pinBlock = 1 << 30   // of one allocation: the owner serves others between two
	copyPart = 128 << 20 // of one copy: those of others get between, 2.4 ms at 55 GB/s
)

// pin maps huge pages, has all of them made by several goroutines, and registers
// them: the driver's own allocation makes small pages one by one.
func (m *stand) pin(bytes int64) (*pinned, error) {
	data, err := unix.Mmap(-1, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d MiB of host memory: %w", bytes>>20, err)
	}
	_ = unix.Madvise(data, unix.MADV_HUGEPAGE) // small pages do as well
	touch(data)
	p := &pinned{data: data}
	err = m.dev.owner.Do(func(c *gpu.Context) (err error) { p.mem, err = c.HostRegister(data); return err })
	if err != nil {
		return nil, errors.Join(fmt.Errorf("pin %d MiB of host memory: %w", bytes>>20, err), unix.Munmap(data))
	}
	return p, nil
}

// touch writes to every page.
func touch(data []byte) {
	const page, stride = 4096, 32 << 20
	var wg sync.WaitGroup
	for h := range stagingHands {
		wg.Go(func() {
			for from := h * stride; from < len(data); from += stagingHands * stride {
				for at := from; at < min(from+stride, len(data)); at += page {
					data[at] = 0
				}
			}
		})
	}
	wg.Wait()
}

// unpin gives up the mapping of a broken device too: the system keeps the pages as
// long as the driver holds them.
func (m *stand) unpin(p *pinned) error {
	err := m.dev.owner.Do(func(c *gpu.Context) error { return c.HostFree(p.mem) })
	return errors.Join(err, unix.Munmap(p.data))
}

func (m *stand) copyIn(dst gpu.Memory, p *pinned, off int64) error {
	return m.dev.owner.Do(func(c *gpu.Context) error { return c.CopyToDevice(dst, p.mem, off, dst.Bytes, m.stream) })
}

func (m *stand) copyOut(p *pinned, off int64, src gpu.Memory) error {
	return m.dev.owner.Do(func(c *gpu.Context) error { return c.CopyToHost(p.mem, off, src, src.Bytes, m.stream) })
}

// hostList is pinned memory for a list of points, in blocks.
type hostList struct {
	m      machine
	block  int64
	blocks []*pinned
}

// newHostList pins so many bytes.
func newHostList(ctx context.Context, m machine, bytes int64) (*hostList, error) {
	h := &hostList{m: m, block: min(pinBlock, max(bytes, 1))}
	for at := int64(0); at < bytes; at += h.block {
		err := ctx.Err()
		if err == nil {
			var p *pinned
			if p, err = m.pin(min(h.block, bytes-at)); err == nil {
				h.blocks = append(h.blocks, p)
			}
		}
		if err != nil {
			return nil, errors.Join(err, h.free())
		}
	}
	return h, nil
}

func (h *hostList) free() error {
	var errs []error
	for _, p := range h.blocks {
		errs = append(errs, h.m.unpin(p))
	}
	h.blocks = nil
	return errors.Join(errs...)
}

// each calls fn for the parts of the range off ... off+n-1 that lie in one block and
// are not too long: where in the block, and the part's place in the range.
func (h *hostList) each(off, n int64, fn func(p *pinned, in, at, n int64) error) error {
	for at := int64(0); at < n; {
		k, in := (off+at)/h.block, (off+at)%h.block
		part := min(h.block-in, n-at, copyPart)
		if err := fn(h.blocks[k], in, at, part); err != nil {
			return err
		}
		at += part
	}
	return nil
}

// keep enqueues a copy of src to the list's bytes from off.
func (h *hostList) keep(m machine, off int64, src gpu.Memory) error {
	return h.each(off, src.Bytes, func(p *pinned, in, at, n int64) error { return m.copyOut(p, in, src.Slice(at, n)) })
}

// bring implements home. Two copies at most are in the queue: an assignment that is
// uploaded by another stream waits behind all that were enqueued before it.
func (h *hostList) bring(ctx context.Context, m machine, dst gpu.Memory, l *list, from int) error {
	next := 0
	return h.each(int64(from)*l.curve.point, dst.Bytes, func(p *pinned, in, at, n int64) error {
		err := m.copyIn(dst.Slice(at, n), p, in)
		if err == nil {
			err = m.do(func(q queue) error { return q.mark(next % 2) })
		}
		if next++; err != nil || next < 2 {
			return err
		}
		return m.wait(ctx, next%2)
	})
}
