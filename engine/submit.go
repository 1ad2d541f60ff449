package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// Options are what a caller says beside the request.
type Options struct {
	RequestID string    // idempotency key, with the content's digest; may be empty
	Class     job.Class // 0: the kind's
	Deadline  time.Time // zero: none
}

// Accepted is the job that a request has become, or has joined.
type Accepted struct {
	ID       string
	Position int  // live jobs before it
	Joined   bool // the same request was here before
}

// Submit accepts a request. When it returns without error, the job is stored and
// will end, whatever happens to the caller or the process. A request that cannot
// be decoded is accepted and has failed; what can never be done, or not now, is
// refused with an error: [ErrKind], [sched.ErrQueue], [ErrStopping], [ErrStore],
// [ErrDisk], [job.ErrSpool], [job.ErrTooLarge], [*budget.Impossible]. The same
// request again is answered with its job, running or completed, also while new
// ones are refused.
func (e *Engine) Submit(ctx context.Context, r *job.Request, o Options) (Accepted, error) {
	k := e.kinds[r.Kind]
	if k == nil {
		return Accepted{}, fmt.Errorf("%w %q", ErrKind, r.Kind)
	}
	if !o.Class.Valid() {
		o.Class = k.Class()
	}
	a, err := e.accept(ctx, k, r, o)
	if err != nil {
		e.publish(event.Record{Type: event.JobRefused, Request: o.RequestID, Kind: r.Kind, Reason: err.Error()})
	}
	return a, err
}

func (e *Engine) accept(ctx context.Context, k Kind, r *job.Request, o Options) (Accepted, error) {
	wall := e.wall()
	l := newLive(job.Job{ID: job.NewID(wall), RequestID: o.RequestID, Digest: r.Digest(), Size: r.Size(), Kind: r.Kind,
		Class: o.Class, Submitted: wall, Deadline: deadline(o.Deadline, wall), State: job.Live}, k)
	e.place(l, wall)
	// A retry costs nothing, so it is answered whatever keeps new jobs out.
	if a, ok, err := e.rejoin(ctx, l); ok || err != nil {
		return a, err
	}
	if err := e.accepting(); err != nil {
		return Accepted{}, err
	}
	if err := e.cfg.Spool.PutAs(l.job.Digest, r); err != nil {
		return Accepted{}, unstorable(err)
	}
	var known *live
	if err := e.ask(ctx, func() { known = e.findOrReserve(l) }); err != nil {
		// The loop may still reserve it: then take that back.
		e.post(func() { e.drop(l, err) })
		e.cfg.Spool.Release(l.job.Digest)
		return Accepted{}, err
	}
	if known != nil {
		e.cfg.Spool.Release(l.job.Digest)
		return e.join(ctx, known, l.job)
	}
	// From here on others may join, so the caller's leaving changes nothing.
	old, err := e.take(e.ctx, l, r)
	if err != nil {
		if e.ctx.Err() != nil {
			err = ErrStopping
		}
		e.post(func() { e.drop(l, err) })
		e.cfg.Spool.Release(l.job.Digest)
		return Accepted{}, err
	}
	if old != "" {
		e.cfg.Spool.Release(l.job.Digest)
		return Accepted{ID: old, Joined: true}, nil
	}
	return e.position(ctx, l.job.ID)
}

// rejoin finds the job that the same request has become before: one that lives,
// or whose result waits for the store, or that is stored as completed. If the
// store cannot be read, there is none; storing a new job will tell.
func (e *Engine) rejoin(ctx context.Context, l *live) (a Accepted, ok bool, err error) {
	if e.ctx.Err() != nil {
		return a, false, ErrStopping
	}
	if l.job.RequestID == "" {
		return a, false, nil
	}
	var known *live
	if err := e.ask(ctx, func() { known = e.byKey[l.key()] }); err != nil {
		return a, false, err
	}
	if known != nil {
		a, err = e.join(ctx, known, l.job)
		return a, err == nil, err
	}
	old, err := e.cfg.Store.Find(ctx, l.job.RequestID, l.job.Digest)
	if err != nil || old.State != job.Completed {
		return a, false, ctx.Err()
	}
	e.publish(event.Record{Type: event.JobJoined, Job: old.ID, Request: old.RequestID, Kind: old.Kind})
	return Accepted{ID: old.ID, Joined: true}, true, nil
}

// unstorable says of a payload that cannot be kept whether it is too much, now or
// for ever, or whether the disk is broken.
func unstorable(err error) error {
	if errors.Is(err, job.ErrSpool) || errors.Is(err, job.ErrTooLarge) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrStore, err)
}

// accepting tells why no job is accepted now.
func (e *Engine) accepting() error {
	if e.ctx.Err() != nil {
		return ErrStopping
	}
	if why := e.trouble.Load(); why != nil {
		return fmt.Errorf("%w: %s", ErrStore, *why)
	}
	if e.cfg.Dir == "" || e.cfg.MinFreeDisk <= 0 {
		return nil
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(e.cfg.Dir, &fs); err != nil {
		return fmt.Errorf("%w: %w", ErrStore, err)
	}
	if free := budget.Bytes(fs.Bavail) * budget.Bytes(fs.Bsize); free < e.cfg.MinFreeDisk {
		return fmt.Errorf("%w: %v left under %s, %v are to stay free", ErrDisk, free, e.cfg.Dir, e.cfg.MinFreeDisk)
	}
	return nil
}

// findOrReserve returns the job with the same request id and content, or notes l
// as that. It runs in the loop.
func (e *Engine) findOrReserve(l *live) *live {
	if l.job.RequestID == "" {
		return nil
	}
	if k := e.byKey[l.key()]; k != nil {
		return k
	}
	e.byKey[l.key()] = l
	return nil
}

// drop takes back a job that was not accepted after all.
func (e *Engine) drop(l *live, err error) {
	e.release(l)
	select {
	case <-l.stored:
	default:
		l.err = err
		close(l.stored)
	}
}

// join waits until the known job is stored and lifts its class if need be.
func (e *Engine) join(ctx context.Context, known *live, asked job.Job) (Accepted, error) {
	select {
	case <-known.stored:
	case <-e.ended:
		return Accepted{}, ErrStopping
	case <-ctx.Done():
		return Accepted{}, ctx.Err()
	}
	if known.err != nil {
		return Accepted{}, known.err
	}
	e.publish(event.Record{Type: event.JobJoined, Job: known.job.ID, Request: asked.RequestID, Kind: asked.Kind})
	err := e.ask(ctx, func() { e.raise(known, asked.Class) })
	if err != nil {
		return Accepted{}, err
	}
	a, err := e.position(ctx, known.job.ID)
	a.Joined = true
	return a, err
}

func (e *Engine) raise(l *live, c job.Class) {
	if c <= l.job.Class || l.state != job.Live {
		return
	}
	l.job.Class = c
	e.step(sched.Raise{Job: l.job.ID, Class: c})
	id := l.job.ID
	e.work(func() { e.note(e.cfg.Store.SetClass(e.ctx, id, c)) })
}

func (e *Engine) position(ctx context.Context, id string) (Accepted, error) {
	place := new(int)
	err := e.ask(ctx, func() {
		if e.live[id] != nil {
			*place = e.core.Position(id)
		}
	})
	if err != nil { // accepted, also if the caller has gone or the engine has begun to end
		return Accepted{ID: id}, nil
	}
	return Accepted{ID: id, Position: *place}, nil
}

// take decodes, admits and stores a new job. old is the id of a finished one of
// the same request, if the store has that.
func (e *Engine) take(ctx context.Context, l *live, r *job.Request) (old string, err error) {
	opened, err := e.open(ctx, l, r)
	if err != nil {
		return e.takeFailed(ctx, l, failureOf(err, job.BadInput), err)
	}
	l.plan = opened.Plan()
	var refused error
	if err := e.ask(ctx, func() { refused = e.core.Admit(e.spec(l, nil)) }); err != nil || refused != nil {
		opened.Close()
		return "", refusal(errors.Join(err, refused))
	}
	stored, created, err := e.cfg.Store.Create(ctx, l.job)
	if err != nil {
		opened.Close()
		return "", unstorable(e.note(err))
	}
	if !created {
		opened.Close()
		return stored.ID, e.takeOld(ctx, l, stored)
	}
	return "", e.ask(ctx, func() { e.enter(l, opened, nil) })
}

// open decodes a payload, with a bound on how much is decoded at a time.
func (e *Engine) open(ctx context.Context, l *live, r *job.Request) (opened Opened, err error) {
	release, err := e.decode.acquire(ctx, r.Size())
	if err != nil {
		return nil, err
	}
	defer release()
	rec := event.Record{Job: l.job.ID, Kind: l.job.Kind, Stage: event.Decode, Bytes: r.Size()}
	ended := e.stage(rec)
	err = guard("decode request", func() error {
		opened, err = l.kind.Open(ctx, r)
		return err
	})
	ended(err, job.BadInput)
	if err == nil && opened.Plan().Partitions < 1 {
		opened.Close()
		return nil, Fail(job.BadInput, errors.New("decode request: it has no partitions"))
	}
	return opened, err
}

// stage publishes the beginning of a stage; the function that it returns, the
// end.
func (e *Engine) stage(r event.Record) (ended func(err error, other job.Failure)) {
	start := time.Now()
	r.Type = event.StageBegan
	e.publish(r)
	return func(err error, other job.Failure) {
		r.Type, r.Took = event.StageEnded, time.Since(start)
		if err != nil {
			r.Failure, r.Reason = string(failureOf(err, other)), err.Error()
		}
		e.publish(r)
	}
}

// takeFailed stores a job that has failed already, so that its caller can await
// it like any other.
func (e *Engine) takeFailed(ctx context.Context, l *live, f job.Failure, why error) (old string, err error) {
	if ctx.Err() != nil {
		return "", ErrStopping
	}
	stored, created, err := e.cfg.Store.Create(ctx, l.job)
	if err != nil {
		return "", unstorable(e.note(err))
	}
	if !created {
		return stored.ID, e.takeOld(ctx, l, stored)
	}
	return "", e.ask(ctx, func() {
		e.live[l.job.ID] = l
		close(l.stored)
		e.announce(l)
		e.conclude(l, job.Failed, f, firstLine(why))
	})
}

// takeOld hands out a finished job of the same request.
func (e *Engine) takeOld(ctx context.Context, l *live, old job.Job) error {
	return e.ask(ctx, func() {
		l.job.ID = old.ID
		delete(e.byKey, l.key())
		close(l.stored)
		e.publish(event.Record{Type: event.JobJoined, Job: old.ID, Request: old.RequestID, Kind: old.Kind})
	})
}

func (e *Engine) announce(l *live) {
	e.publish(event.Record{Type: event.JobAccepted, Job: l.job.ID, Request: l.job.RequestID, Kind: l.job.Kind,
		Class: l.job.Class.String(), Partitions: l.plan.Partitions, Bytes: l.job.Size})
}

// enter hands a stored job to the scheduler. opened is kept if a witness is
// started at once. It runs in the loop.
func (e *Engine) enter(l *live, opened Opened, done map[int][]byte) {
	if e.halted || l.state != job.Live { // cancelled while it was recalled
		opened.Close()
		if e.halted && l.state == job.Live {
			l.stop()
		}
		return
	}
	id := l.job.ID
	l.proofs = make([][]byte, l.plan.Partitions)
	for k, p := range done {
		if k >= 0 && k < len(l.proofs) {
			l.proofs[k] = p
		}
	}
	e.live[id] = l
	select {
	case <-l.stored:
	default:
		close(l.stored)
		e.announce(l)
	}
	e.sources[id] = &source{opened: opened, open: e.reopen(l)}
	e.step(sched.Submit{Job: e.spec(l, done)})
	if v, ok := e.core.Job(id); !ok || !v.Begun {
		e.forget(id)
	}
}

// reopen reads the request from the spool again.
func (e *Engine) reopen(l *live) func(context.Context) (Opened, error) {
	return func(ctx context.Context) (Opened, error) {
		r, err := e.cfg.Spool.Read(l.job.Digest)
		if err != nil {
			return nil, Fail(job.Storage, err)
		}
		return e.open(ctx, l, r)
	}
}

// spec is the job as the scheduler sees it.
func (e *Engine) spec(l *live, done map[int][]byte) sched.Job {
	s := sched.Job{ID: l.job.ID, Class: l.job.Class, Key: l.plan.Key, Partitions: l.plan.Partitions, Work: e.withUsual(l.plan)}
	for k := range done {
		s.Done = append(s.Done, k)
	}
	s.Deadline = l.due
	return s
}
