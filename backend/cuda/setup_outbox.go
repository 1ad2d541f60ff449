package cuda

import (
	"context"
	"errors"

	gpu "cuzk/cuda"
)

// outboxSlots is how many pieces are on their way out at a time.
const outboxSlots = 3

// outbox brings pieces of device memory to the host, where one goroutine takes
// them from full and gives the slots back to empty.
type outbox struct {
	m     machine
	slots [outboxSlots][]byte
	hold  []gpu.HostMemory // what the slots are made of on a card
	done  gpu.Event
	empty chan int
	full  chan piece
}

// piece is bytes in a slot.
type piece struct {
	slot int
	data []byte
}

// newOutbox takes pinned memory on a card, and the program's own elsewhere.
func newOutbox(m machine, bytes int64) (*outbox, error) {
	o := &outbox{m: m, empty: make(chan int, outboxSlots), full: make(chan piece, outboxSlots)}
	for i := range o.slots {
		o.empty <- i
	}
	s, ok := m.(*stand)
	if !ok {
		for i := range o.slots {
			o.slots[i] = make([]byte, bytes)
		}
		return o, nil
	}
	err := s.dev.owner.Do(func(c *gpu.Context) (err error) { return o.pin(c, bytes) })
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *outbox) pin(c *gpu.Context, bytes int64) (err error) {
	if o.done, err = c.NewEvent(); err != nil {
		return err
	}
	for i := range o.slots {
		mem, err := c.HostAlloc(bytes)
		if err != nil {
			return err
		}
		o.hold = append(o.hold, mem)
		o.slots[i] = mem.Bytes()
	}
	return nil
}

func (o *outbox) close() error {
	s, ok := o.m.(*stand)
	if !ok {
		return nil
	}
	return s.dev.owner.Do(func(c *gpu.Context) error {
		errs := []error{c.SyncStream(s.stream), c.CloseEvent(o.done)} // a copy may be under way after an error
		for _, h := range o.hold {
			errs = append(errs, c.HostFree(h))
		}
		o.hold = nil
		return errors.Join(errs...)
	})
}

// put waits for a slot and for the device, and passes the bytes on.
func (o *outbox) put(ctx context.Context, src gpu.Memory) error {
	var i int
	select {
	case i = <-o.empty:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := o.fetch(ctx, i, src); err != nil {
		return err
	}
	select {
	case o.full <- piece{i, o.slots[i][:src.Bytes]}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch copies behind the work that is enqueued.
func (o *outbox) fetch(ctx context.Context, i int, src gpu.Memory) error {
	s, ok := o.m.(*stand)
	if !ok {
		if err := settle(ctx, o.m); err != nil {
			return err
		}
		return o.m.do(func(q queue) error { return q.download(o.slots[i][:src.Bytes], src) })
	}
	err := s.dev.owner.Do(func(c *gpu.Context) error {
		if err := c.CopyToHost(o.hold[i], 0, src, src.Bytes, s.stream); err != nil {
			return err
		}
		return c.Record(o.done, s.stream)
	})
	if err != nil {
		return err
	}
	return s.dev.owner.Wait(ctx, o.done)
}
