package cuda

import (
	"time"
)

// Stream is a queue of device work. The zero value is the context's default
// stream.
type Stream struct{ h handle }

// Event marks a place in a stream.
type Event struct{ h handle }

// flag of cuStreamCreate: no implicit order with the default stream.
const streamNonBlocking = 1

// NewStream makes a stream with no implicit order to others.
func (c *Context) NewStream() (Stream, error) {
	var s Stream
	return s, c.drv.check("cuStreamCreate", c.drv.cuStreamCreate(&s.h, streamNonBlocking))
}

// CloseStream releases the stream when its work has ended.
func (c *Context) CloseStream(s Stream) error {
	if s.h == 0 {
		return nil
	}
	return c.drv.check("cuStreamDestroy_v2", c.drv.cuStreamDestroy_v2(s.h))
}

// SyncStream waits until the stream is empty. It holds the owner's thread; long
// waits belong to Owner.Wait.
func (c *Context) SyncStream(s Stream) error {
	return c.drv.check("cuStreamSynchronize", c.drv.cuStreamSynchronize(s.h))
}

// NewEvent makes an event that takes times.
func (c *Context) NewEvent() (Event, error) {
	var e Event
	return e, c.drv.check("cuEventCreate", c.drv.cuEventCreate(&e.h, 0))
}

// CloseEvent releases e.
func (c *Context) CloseEvent(e Event) error {
	if e.h == 0 {
		return nil
	}
	return c.drv.check("cuEventDestroy_v2", c.drv.cuEventDestroy_v2(e.h))
}

// Record puts the event behind the stream's present work.
func (c *Context) Record(e Event, s Stream) error {
	return c.drv.check("cuEventRecord", c.drv.cuEventRecord(e.h, s.h))
}

// StreamWait makes later work of the stream wait for the event.
func (c *Context) StreamWait(s Stream, e Event) error {
	return c.drv.check("cuStreamWaitEvent", c.drv.cuStreamWaitEvent(s.h, e.h, 0))
}

// EventReady says whether the event has happened, without waiting.
func (c *Context) EventReady(e Event) (bool, error) {
	r := c.drv.cuEventQuery(e.h)
	if r == resultNotReady {
		return false, nil
	}
	return r == success, c.drv.check("cuEventQuery", r)
}

// SyncEvent waits for the event and holds the owner's thread meanwhile.
func (c *Context) SyncEvent(e Event) error {
	return c.drv.check("cuEventSynchronize", c.drv.cuEventSynchronize(e.h))
}

// Elapsed is the device time between two events that have happened; its grain is
// half a microsecond.
func (c *Context) Elapsed(from, to Event) (time.Duration, error) {
	var ms float32
	err := c.drv.check("cuEventElapsedTime", c.drv.cuEventElapsedTime(&ms, from.h, to.h))
	return time.Duration(float64(ms) * float64(time.Millisecond)), err
}
