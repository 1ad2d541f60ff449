package cuda

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Owner holds the context of one device in a goroutine that never leaves its OS
// thread. All work on the device goes through Do.
type Owner struct {
	dev  Device
	drv  *driver
	work chan task
	stop chan struct{}
	done chan struct{} // the thread has ended
	once sync.Once

	gone   chan struct{} // the owner was given up
	giveUp sync.Once
	hang   error // why; set before gone is closed

	broken atomic.Pointer[Error]
	count  counters
}

type task struct {
	fn  func(*Context) error
	out chan error
}

// Context is the driver's context on the owner's thread. It is valid only inside
// the function given to Do and must not be kept.
type Context struct {
	owner *Owner
	drv   *driver
}

// Balance is what an owner has allocated and not released.
type Balance struct {
	DeviceBytes int64
	DeviceCount int64
	PinnedBytes int64
	PinnedCount int64
}

type counters struct{ deviceBytes, deviceCount, pinnedBytes, pinnedCount atomic.Int64 }

// closeLimit is how long Close waits for the thread: releasing a context with
// tens of GB takes a second or two.
const closeLimit = 30 * time.Second

// scheduling flag of cuCtxCreate: waiting threads sleep, they do not spin.
const ctxBlockingSync = 4

// Open makes a context on the device and starts its owner. Close releases it.
func Open(dev Device) (*Owner, error) {
	d, err := load()
	if err != nil {
		return nil, err
	}
	return d.open(dev)
}

func (d *driver) open(dev Device) (*Owner, error) {
	o := &Owner{dev: dev, drv: d, work: make(chan task), stop: make(chan struct{}), done: make(chan struct{}), gone: make(chan struct{})}
	started := make(chan error, 1)
	go o.loop(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("open device %s: %w", dev.UUID, err)
	}
	return o, nil
}

// loop owns the thread. It ends without unlocking, so the thread ends with it
// and no other goroutine meets its context.
func (o *Owner) loop(started chan<- error) {
	defer close(o.done)
	runtime.LockOSThread()
	var ctx handle
	err := o.drv.check("cuCtxCreate_v2", o.drv.cuCtxCreate_v2(&ctx, ctxBlockingSync, o.dev.handle))
	started <- err
	if err != nil {
		return
	}
	c := &Context{owner: o, drv: o.drv}
	for {
		select {
		case <-o.stop:
			// A broken context refuses; the process's memory goes with it.
			_ = o.drv.cuCtxDestroy_v2(ctx)
			return
		case t := <-o.work:
			t.out <- o.call(c, t.fn)
		}
	}
}

// call runs one task; a panic becomes an error, so that it fails its job and
// not the program.
func (o *Owner) call(c *Context, fn func(*Context) error) (err error) {
	if b := o.broken.Load(); b != nil {
		return fmt.Errorf("%w since %w", ErrSticky, b)
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic on device %s: %v\n%s", o.dev.UUID, p, debug.Stack())
		}
		o.note(err)
	}()
	return fn(c)
}

// note remembers the first error that breaks the context.
func (o *Owner) note(err error) {
	var e *Error
	if errors.As(err, &e) && errors.Is(e, ErrSticky) {
		o.broken.CompareAndSwap(nil, e)
	}
}

// Do runs fn on the owner's thread and returns its error. It must not be called
// from inside fn. After an error that is [ErrHung] fn may still be running: what it
// writes must not be read.
func (o *Owner) Do(fn func(*Context) error) error {
	t := task{fn: fn, out: make(chan error, 1)}
	select {
	case <-o.gone:
		return o.hang
	default:
	}
	select {
	case o.work <- t:
	case <-o.done:
		return ErrClosed
	case <-o.gone:
		return o.hang
	}
	select {
	case err := <-t.out:
		return err
	case <-o.gone:
		return o.hang
	}
}

// Abandon gives the owner up, because the device or the driver does not answer.
// Whoever waits for it, or asks it later, gets an error that is [ErrHung] and wraps
// why. The thread and what was allocated stay until the process ends: there is no
// way to end a kernel.
func (o *Owner) Abandon(why error) {
	o.giveUp.Do(func() {
		o.hang = &hang{o.dev.UUID, why}
		close(o.gone)
	})
}

// Wait returns when the event has happened, the context is cancelled (the
// device's work goes on) or the device fails. It asks the driver between short
// sleeps, so the owner serves others meanwhile.
func (o *Owner) Wait(ctx context.Context, e Event) error {
	pause := 20 * time.Microsecond
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		var ready bool
		err := o.Do(func(c *Context) (err error) {
			ready, err = c.EventReady(e)
			return err
		})
		if err != nil || ready {
			return err
		}
		timer.Reset(pause)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		pause = min(pause*2, time.Millisecond)
	}
}

// Device describes the owner's device.
func (o *Owner) Device() Device { return o.dev }

// Broken is the error that made the context unusable, or nil.
func (o *Owner) Broken() error {
	select {
	case <-o.gone:
		return o.hang
	default:
	}
	if e := o.broken.Load(); e != nil {
		return e
	}
	return nil
}

// Balance is what is allocated now.
func (o *Owner) Balance() Balance {
	return Balance{
		DeviceBytes: o.count.deviceBytes.Load(), DeviceCount: o.count.deviceCount.Load(),
		PinnedBytes: o.count.pinnedBytes.Load(), PinnedCount: o.count.pinnedCount.Load(),
	}
}

// Close destroys the context with all that was allocated in it and ends the
// goroutine. Calls after the first do nothing. It waits for the device half a
// minute at most; an owner that was given up is not waited for.
func (o *Owner) Close() error {
	o.once.Do(func() { close(o.stop) })
	limit := time.NewTimer(closeLimit)
	defer limit.Stop()
	select {
	case <-o.done:
		return nil
	case <-o.gone:
	case <-limit.C:
		o.Abandon(fmt.Errorf("closing it took longer than %v", closeLimit))
	}
	return o.hang
}

// Device describes the context's device.
func (c *Context) Device() Device { return c.owner.dev }

// Synchronize waits for all work of the context.
func (c *Context) Synchronize() error {
	return c.drv.check("cuCtxSynchronize", c.drv.cuCtxSynchronize())
}

// MemoryInfo gives the free and total bytes of the device.
func (c *Context) MemoryInfo() (free, total int64, err error) {
	var f, t uint64
	err = c.drv.check("cuMemGetInfo_v2", c.drv.cuMemGetInfo_v2(&f, &t))
	return int64(f), int64(t), err
}
