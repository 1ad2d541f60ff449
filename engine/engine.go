package engine

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// Engine runs jobs. Make it with [New], end it with Close.
type Engine struct {
	cfg     Config
	kinds   map[string]Kind
	devices map[string]Device
	start   time.Time

	calls  chan func()     // to the loop
	ended  chan struct{}   // the loop has returned
	ctx    context.Context // of all workers
	cancel context.CancelFunc

	trouble atomic.Pointer[string] // why the store cannot be written
	decode  weighted               // bytes of payloads that are being decoded

	loop // owned by the loop's goroutine
}

// loop is the state that only calls touch.
type loop struct {
	core     *sched.Core
	live     map[string]*live
	byKey    map[string]*live // request id and digest
	sources  map[string]*source
	attempts map[int]*attempt
	stops    map[int]context.CancelFunc
	witness  map[int]Witness
	proofs   map[int][]byte // unchecked, by the attempt that made them
	unsaved  map[string]*live
	kept     time.Time // when housekeep last began
	keeping  bool      // and has not ended
	steps    steps
	loads    map[[2]string]*load
	waiting  map[string][]chan error // preloads, by key
	usual    map[usualKey]time.Duration
	totals   map[string]*Totals
	returns  map[string][]chan error // those who wait for a device that they returned
	idle     map[string]string       // device to the reason last published
	quiet    []chan struct{}         // closed when nothing that has begun is left
	settled  []chan struct{}         // closed when nothing runs whose result is wanted
	workers  int                     // that have not ended
	empty    []chan struct{}         // closed when halted and no worker is left
	halted   bool
	quit     bool
	timer    *time.Timer
}

// New starts an engine: jobs that the store has from before go on at once. The
// context bounds only the start.
func New(ctx context.Context, cfg Config) (*Engine, error) {
	e := &Engine{cfg: cfg, kinds: map[string]Kind{}, devices: map[string]Device{}, start: time.Now(),
		calls: make(chan func(), 256), ended: make(chan struct{}),
		decode: weighted{limit: 256 << 20, small: 1 << 20},
		loop: loop{
			core: sched.New(cfg.Sched, budget.New(cfg.Host, cfg.Pinned)),
			live: map[string]*live{}, byKey: map[string]*live{}, sources: map[string]*source{}, attempts: map[int]*attempt{},
			stops: map[int]context.CancelFunc{}, witness: map[int]Witness{}, proofs: map[int][]byte{}, unsaved: map[string]*live{},
			loads: map[[2]string]*load{}, waiting: map[string][]chan error{}, usual: map[usualKey]time.Duration{},
			totals: map[string]*Totals{}, returns: map[string][]chan error{}, idle: map[string]string{}, timer: time.NewTimer(time.Hour), kept: time.Now(),
		}}
	e.ctx, e.cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.steps = steps{wall: e.wall(), now: e.now()}
	for _, k := range cfg.Kinds {
		e.kinds[k.Name()] = k
		e.totals[k.Name()] = &Totals{}
	}
	for _, d := range cfg.Devices {
		e.devices[d.Spec().ID] = d
	}
	old, err := cfg.Store.Live(ctx)
	if err != nil {
		return nil, fmt.Errorf("read unfinished jobs: %w", err)
	}
	e.begin(old)
	return e, nil
}

func (e *Engine) begin(old []job.Job) {
	e.publish(event.Record{Type: event.DaemonStarted})
	for _, d := range e.cfg.Devices {
		e.step(sched.AddDevice{Device: d.Spec()})
	}
	e.recall(old)
	for _, id := range e.cfg.Preload {
		e.preloadKey(id, nil)
	}
	go e.run()
}

// run is the loop.
func (e *Engine) run() {
	defer close(e.ended)
	check := time.NewTicker(healEvery)
	defer check.Stop()
	defer e.timer.Stop()
	for !e.quit {
		select {
		case f := <-e.calls:
			f()
		case <-e.timer.C:
			e.step(sched.Tick{})
		case <-check.C:
			e.housekeep()
		}
	}
}

// post hands a call to the loop; false if the loop has ended.
func (e *Engine) post(f func()) bool {
	select {
	case e.calls <- f:
		return true
	case <-e.ended:
		return false
	}
}

// ask runs f in the loop and waits for its end.
func (e *Engine) ask(ctx context.Context, f func()) error {
	done := make(chan struct{})
	if !e.post(func() { f(); close(done) }) {
		return ErrStopping
	}
	select {
	case <-done:
		return nil
	case <-e.ended:
		return ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Ping returns when the loop has answered: a watchdog's question.
func (e *Engine) Ping(ctx context.Context) error { return e.ask(ctx, func() {}) }

// work starts a worker. It runs in the loop.
func (e *Engine) work(f func()) {
	e.workers++
	go func() {
		f()
		e.post(func() {
			e.workers--
			e.tellEmpty()
		})
	}()
}

func (e *Engine) tellEmpty() {
	if e.halted && e.workers == 0 {
		closeAll(&e.empty)
	}
}

func (e *Engine) publish(r event.Record) {
	if e.cfg.Events != nil {
		r.At = time.Now()
		e.cfg.Events.Publish(r)
	}
}

// step tells the scheduler of an event and executes what follows.
func (e *Engine) step(ev sched.Event) {
	for _, cmd := range e.core.Step(e.now(), ev) {
		e.execute(cmd)
	}
	if at, ok := e.core.Next(); ok {
		e.timer.Reset(max(at-e.now(), 0))
	} else {
		e.timer.Reset(time.Hour)
	}
	e.publishIdle()
	e.tellQuiet()
}

// publishIdle tells of devices in service that have begun or ended to do nothing.
func (e *Engine) publishIdle() {
	if e.cfg.Events == nil {
		return
	}
	for _, d := range e.core.View().Devices {
		why := ""
		if d.State == sched.InService && len(d.Work) == 0 {
			why = d.Reason
		}
		if e.idle[d.ID] != why {
			e.idle[d.ID] = why
			e.publish(event.Record{Type: event.DeviceIdle, Device: d.ID, Reason: why})
		}
	}
}

// Drain stops accepting jobs and waits until those that have begun have ended,
// or the context is done. Jobs that have not begun stay in the store.
func (e *Engine) Drain(ctx context.Context) error {
	return e.wait(ctx, func(done chan struct{}) {
		e.publish(event.Record{Type: event.DaemonDraining})
		e.quiet = append(e.quiet, done)
		e.step(sched.Drain{})
	})
}

// Settle waits until what runs has ended, and every critical job that can be proved,
// or the context is done. Nothing else is begun. Jobs are still accepted: all that have
// not ended go on after the next start, with the partitions that they lack. Close must
// follow.
func (e *Engine) Settle(ctx context.Context) error {
	return e.wait(ctx, func(done chan struct{}) {
		e.settled = append(e.settled, done)
		e.step(sched.Settle{})
	})
}

// wait runs f in the loop and waits until the channel that it was given is closed.
func (e *Engine) wait(ctx context.Context, f func(done chan struct{})) error {
	done := make(chan struct{})
	if err := e.ask(ctx, func() { f(done) }); err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) tellQuiet() {
	if len(e.quiet) > 0 && e.core.Begun() == 0 && !e.storing(func(l *live) bool { return l.begun }) {
		closeAll(&e.quiet)
	}
	if len(e.settled) > 0 && e.core.Settled() && !e.storing(func(l *live) bool { return l.state != job.Live }) {
		closeAll(&e.settled)
	}
}

// storing tells whether there is a live job of which is says that its result is still
// to be stored.
func (e *Engine) storing(is func(*live) bool) bool {
	for _, l := range e.live {
		if is(l) {
			return true
		}
	}
	return false
}

func closeAll(list *[]chan struct{}) {
	for _, c := range *list {
		close(c)
	}
	*list = nil
}

// Close stops all work and waits for the workers, at most until the context is
// done. Waiters get ErrStopping; jobs that have not ended stay in the store. The
// store, the spool and the devices are the caller's to close afterwards.
func (e *Engine) Close(ctx context.Context) error {
	done := make(chan struct{})
	if err := e.ask(ctx, func() { e.halt(done) }); err != nil {
		return err
	}
	e.cancel()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("workers are still running: %w", ctx.Err())
	}
	e.post(func() {
		for _, l := range e.live {
			l.stop()
		}
		e.quit = true
	})
	<-e.ended
	return err
}

func (e *Engine) halt(done chan struct{}) {
	if !e.halted {
		e.halted = true
		e.step(sched.Halt{})
		e.publish(event.Record{Type: event.DaemonStopped})
	}
	e.empty = append(e.empty, done)
	e.tellEmpty()
}
