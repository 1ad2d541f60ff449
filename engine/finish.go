package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

const (
	// checkEvery is how often the store is looked at and cleaned.
	checkEvery = 10 * time.Second
	// healEvery is how often while it cannot be written: a disk that is full for a
	// moment is not to cost a block.
	healEvery = time.Second
)

// conclude stores how a job ended and then tells everybody. It runs in the loop,
// once a job.
func (e *Engine) conclude(l *live, s job.State, f job.Failure, text string) {
	l.state = s
	r := &l.result
	r.Failure, r.Message, r.Ended = f, text, e.wall()
	if s == job.Completed {
		r.Proof = l.joined
	}
	r.Times = e.times(l)
	e.work(func() {
		err := e.save(l)
		e.post(func() { e.concluded(l, err) })
	})
}

// lasting is a context for writes that are finished also while stopping.
func (e *Engine) lasting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(e.ctx), time.Minute)
}

// save is called from one worker at a time.
func (e *Engine) save(l *live) error {
	ctx, cancel := e.lasting()
	defer cancel()
	err := e.cfg.Store.Finish(ctx, l.job.ID, l.state, l.result)
	if errors.Is(err, job.ErrEnded) {
		err = nil
	}
	if err == nil {
		e.cfg.Spool.Release(l.job.Digest)
	}
	return err
}

func (e *Engine) concluded(l *live, err error) {
	id := l.job.ID
	delete(e.live, id)
	if e.note(err); err != nil {
		e.unsaved[id] = l
	}
	if err == nil || l.state != job.Completed { // a proof that waits for the store is found again
		e.release(l)
	}
	t := e.totals[l.job.Kind]
	if t == nil {
		t = &Totals{}
		e.totals[l.job.Kind] = t
	}
	t.count(l.state)
	e.publish(event.Record{Type: event.JobEnded, Job: id, Request: l.job.RequestID, Kind: l.job.Kind, Class: l.job.Class.String(),
		Outcome: string(l.state), Failure: string(l.result.Failure), Reason: l.result.Message, Partitions: l.plan.Partitions,
		Took: l.result.Times.Total, Times: eventTimes(l.result.Times)})
	if !l.stopped {
		close(l.done)
	}
	e.tellQuiet()
}

// release makes a request id and content free for a new job.
func (e *Engine) release(l *live) {
	if e.byKey[l.key()] == l {
		delete(e.byKey, l.key())
	}
}

func eventTimes(t job.Times) event.Times {
	return event.Times{Queue: t.Queue, Key: t.Key, Synthesise: t.Synthesise, Prove: t.Prove, Total: t.Total}
}

// times sums up what a job took until now.
func (e *Engine) times(l *live) job.Times {
	t := job.Times{Key: l.result.Times.Key, Total: e.now() - l.since}
	if t.Queue = t.Total; l.started {
		t.Queue = l.first - l.since
	}
	for _, s := range l.spent {
		t.Synthesise += s[0]
		t.Prove += s[1]
	}
	return t
}

// spend notes the time of a partition's last successful stage: 0 synthesis, 1
// proving.
func (e *Engine) spend(a *attempt, stage int) {
	s := a.live.spent[a.part]
	s[stage] = time.Since(a.start)
	a.live.spent[a.part] = s
	e.learn(a)
}

// note keeps in mind whether the store works.
func (e *Engine) note(err error) error {
	switch {
	case err == nil || errors.Is(err, job.ErrEnded) || errors.Is(err, job.ErrNotFound) || errors.Is(err, context.Canceled):
		return err
	}
	why := firstLine(err)
	if e.trouble.Swap(&why) == nil {
		e.publish(event.Record{Type: event.StoreFailed, Reason: why})
	}
	return err
}

// housekeep looks at the store, saves what could not be saved, and prunes. It
// runs in the loop, and what it starts is done before it starts the same again.
func (e *Engine) housekeep() {
	if e.keeping || e.trouble.Load() == nil && time.Since(e.kept) < checkEvery {
		return
	}
	e.keeping, e.kept = true, time.Now()
	oldest := e.steps.oldest(e.wall(), e.now(), e.cfg.KeepResults)
	var late []*live
	for _, l := range e.unsaved {
		late = append(late, l)
	}
	e.work(func() {
		defer e.post(func() { e.keeping = false })
		err := e.cfg.Store.Check(e.ctx)
		if e.note(err) != nil {
			return
		}
		for _, l := range late {
			if e.note(e.save(l)) != nil {
				return
			}
			e.post(func() {
				delete(e.unsaved, l.job.ID)
				e.release(l)
			})
		}
		if e.trouble.Swap(nil) != nil {
			e.publish(event.Record{Type: event.StoreHealed})
		}
		if e.cfg.KeepResults > 0 {
			_, err := e.cfg.Store.Prune(e.ctx, oldest)
			_ = e.note(err)
		}
	})
}

// recall takes up the jobs that the store has from before, the most urgent
// first.
func (e *Engine) recall(old []job.Job) {
	var ls []*live
	for _, j := range old {
		l := newLive(j, e.kinds[j.Kind])
		e.place(l, e.wall())
		close(l.stored)
		e.live[j.ID] = l
		if j.RequestID != "" {
			e.byKey[l.key()] = l
		}
		ls = append(ls, l)
	}
	slices.SortStableFunc(ls, func(a, b *live) int { return int(b.job.Class) - int(a.job.Class) })
	e.work(func() {
		for _, l := range ls {
			if e.ctx.Err() == nil {
				e.recallOne(l)
			}
		}
	})
}

func (e *Engine) recallOne(l *live) {
	opened, done, err := e.reload(l)
	if e.ctx.Err() != nil {
		return
	}
	answered := make(chan struct{})
	e.post(func() {
		defer close(answered)
		if err != nil {
			if l.state == job.Live {
				e.conclude(l, job.Failed, failureOf(err, job.BadInput), firstLine(err))
			}
			return
		}
		l.plan = opened.Plan()
		if why := e.core.Possible(new(e.spec(l, nil))); why != nil && l.state == job.Live {
			opened.Close()
			e.conclude(l, job.Failed, failureOf(why, job.Internal), why.Error())
			return
		}
		e.publish(event.Record{Type: event.JobRecovered, Job: l.job.ID, Kind: l.job.Kind, Class: l.job.Class.String(), Partitions: l.plan.Partitions, Done: int64(len(done))})
		e.enter(l, opened, done)
	})
	select {
	case <-answered:
	case <-e.ended:
	}
}

// reload reads a job's payload and its finished partitions.
func (e *Engine) reload(l *live) (Opened, map[int][]byte, error) {
	if f := l.job.Result; f.Failure != "" { // the store could not read it
		return nil, nil, Fail(f.Failure, errors.New(f.Message))
	}
	if l.kind == nil {
		return nil, nil, Fail(job.BadInput, ErrKind)
	}
	opened, err := e.reopen(l)(e.ctx)
	if err != nil {
		return nil, nil, err
	}
	done, err := e.cfg.Store.Partitions(e.ctx, l.job.ID)
	if e.note(err) != nil {
		done = nil // they are proved again
	}
	return opened, done, nil
}

// firstLine keeps stack traces out of messages for people.
func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

type usualKey struct {
	key   string
	stage string
	class sched.DeviceClass
}

// learn adds an attempt's time to what its stage usually takes.
func (e *Engine) learn(a *attempt) {
	k := usualKey{key: a.live.plan.Key, stage: string(a.stage)}
	if a.stage == event.Prove {
		k.class = e.class(a.device)
	}
	e.remember(k, time.Since(a.start))
}

// remember keeps a moving average: each new time counts a fifth.
func (e *Engine) remember(k usualKey, took time.Duration) {
	if old, ok := e.usual[k]; ok {
		took = old + (took-old)/5
	}
	e.usual[k] = max(took, 1)
}

// withUsual fills in the usual times that the kind does not know.
func (e *Engine) withUsual(p Plan) (w sched.Work) {
	w = p.Work
	fill := func(d *time.Duration, stage string, c sched.DeviceClass) {
		if *d == 0 {
			*d = e.usual[usualKey{p.Key, stage, c}]
		}
	}
	fill(&w.Usual.Synthesise, string(event.Synthesise), "")
	fill(&w.Usual.ProveCPU, string(event.Prove), sched.CPU)
	fill(&w.Usual.ProveGPU, string(event.Prove), sched.GPU)
	fill(&w.Usual.Check, string(event.Check), "")
	fill(&w.Usual.LoadKey, "load", sched.GPU)
	return w
}
