package engine

import (
	"context"
	"fmt"
	"sort"
	"time"

	"cuzk/engine/sched"
	"cuzk/job"
)

// Wait returns a job when it has ended, with its result. The error is the
// context's, ErrStopping, or wraps [job.ErrNotFound].
func (e *Engine) Wait(ctx context.Context, id string) (job.Job, error) {
	var l *live
	err := e.ask(ctx, func() {
		if l = e.live[id]; l == nil {
			l = e.unsaved[id]
		}
		if l != nil {
			l.waiters++
		}
	})
	leave := func() {
		if l != nil {
			l.waiters--
		}
	}
	if err != nil {
		e.post(leave) // comes after the call above, if that was taken
		return job.Job{}, err
	}
	if l == nil {
		return e.ofStore(ctx, id)
	}
	select {
	case <-l.done:
	case <-ctx.Done():
		e.post(leave)
		return job.Job{}, ctx.Err()
	}
	if l.stopped {
		return job.Job{}, ErrStopping
	}
	j := l.job
	j.State, j.Result = l.state, l.result
	return j, nil
}

func (e *Engine) ofStore(ctx context.Context, id string) (job.Job, error) {
	j, err := e.cfg.Store.Get(ctx, id)
	if err == nil && j.State == job.Live { // not in the loop: it ended between two looks, or it is lost
		j, err = e.cfg.Store.Get(ctx, id)
		if err == nil && j.State == job.Live {
			err = fmt.Errorf("job %s is stored but not running; it goes on after a restart", id)
		}
	}
	return j, err
}

// Cancel ends a job that lives and tells whether it did.
func (e *Engine) Cancel(ctx context.Context, id, why string) (was bool, err error) {
	lived := new(bool)
	if err := e.ask(ctx, func() { *lived = e.cancelJob(id, why) }); err != nil || *lived {
		return err == nil, err
	}
	_, err = e.cfg.Store.Get(ctx, id)
	return false, err
}

func (e *Engine) cancelJob(id, why string) bool {
	l := e.live[id]
	if l == nil || l.state != job.Live {
		return false
	}
	if _, known := e.core.Job(id); !known { // still being recalled
		e.conclude(l, job.Cancelled, job.Stopped, why)
		return true
	}
	e.step(sched.Cancel{Job: id, Why: why})
	return true
}

// Abandon cancels a job if nobody waits for it.
func (e *Engine) Abandon(id string) {
	e.post(func() {
		if l := e.live[id]; l != nil && l.waiters == 0 {
			e.cancelJob(id, "the caller went away")
		}
	})
}

// Totals count ended jobs since the engine started.
type Totals struct {
	Completed, Failed, Cancelled, TimedOut uint64
}

func (t *Totals) count(s job.State) {
	switch s {
	case job.Completed:
		t.Completed++
	case job.Cancelled:
		t.Cancelled++
	case job.TimedOut:
		t.TimedOut++
	default:
		t.Failed++
	}
}

// KindStatus counts the jobs of one kind.
type KindStatus struct {
	Name                string
	Pending, InProgress int
	Totals
}

// Status is what the engine does at one moment.
type Status struct {
	sched.View
	Kinds                 []KindStatus
	KindOf                map[string]string // of the jobs that devices work for
	Known                 []Key             // keys, resident or not
	Loading               map[[2]string]int // keys on their way, by key and device: percent
	Uptime                time.Duration
	Refusing              string // why no jobs are accepted; empty if they are
	SpoolUsed, SpoolLimit int64
	Unsaved               int // results that the store has not taken yet
}

// Status looks at the engine.
func (e *Engine) Status(ctx context.Context) (Status, error) {
	s := &Status{Uptime: time.Since(e.start)}
	s.SpoolUsed, s.SpoolLimit = e.cfg.Spool.Usage()
	if e.cfg.Keys != nil {
		s.Known = e.cfg.Keys.List()
	}
	if err := e.accepting(); err != nil {
		s.Refusing = err.Error()
	}
	if err := e.ask(ctx, func() { e.look(s) }); err != nil {
		return Status{}, err
	}
	return *s, nil
}

func (e *Engine) look(s *Status) {
	s.View = e.core.View()
	s.Unsaved = len(e.unsaved)
	s.Loading = map[[2]string]int{}
	for k, ld := range e.loads {
		s.Loading[k] = int(ld.done.Load())
	}
	if s.Draining && s.Refusing == "" {
		s.Refusing = ErrStopping.Error()
	}
	s.KindOf = map[string]string{}
	for _, d := range s.Devices {
		for _, w := range d.Work {
			if l := e.live[w.Job]; l != nil {
				s.KindOf[w.Job] = l.job.Kind
			}
		}
	}
	count := map[string]*KindStatus{}
	for name, t := range e.totals {
		count[name] = &KindStatus{Name: name, Totals: *t}
	}
	for _, l := range e.live {
		k := count[l.job.Kind]
		switch {
		case k == nil:
		case l.begun:
			k.InProgress++
		default:
			k.Pending++
		}
	}
	for _, k := range count {
		s.Kinds = append(s.Kinds, *k)
	}
	sort.Slice(s.Kinds, func(i, j int) bool { return s.Kinds[i].Name < s.Kinds[j].Name })
}

// Partition is the state of one partition of a live job.
type Partition struct {
	sched.PartView
	Device           string // that proves it
	Synthesis, Prove time.Duration
}

// JobStatus is a job with its partitions; they are only there while it lives.
type JobStatus struct {
	job.Job
	Begun      bool
	Partitions []Partition
}

// Jobs looks at the live jobs, the oldest first.
func (e *Engine) Jobs(ctx context.Context) ([]JobStatus, error) {
	var out []JobStatus
	err := e.ask(ctx, func() {
		for _, l := range e.live {
			out = append(out, e.jobStatus(l))
		}
	})
	if err != nil {
		return nil, err
	}
	sort.Slice(out, func(i, j int) bool { return out[i].ID < out[j].ID })
	return out, nil
}

// Job looks at one job, live or ended.
func (e *Engine) Job(ctx context.Context, id string) (JobStatus, error) {
	var found *JobStatus
	err := e.ask(ctx, func() {
		if l := e.live[id]; l != nil {
			found = new(e.jobStatus(l))
		}
	})
	if err != nil {
		return JobStatus{}, err
	}
	if found != nil {
		return *found, nil
	}
	j, err := e.cfg.Store.Get(ctx, id)
	return JobStatus{Job: j}, err
}

func (e *Engine) jobStatus(l *live) JobStatus {
	s := JobStatus{Job: l.job, Begun: l.begun}
	s.State, s.Result.Times = l.state, e.times(l)
	v, _ := e.core.Job(l.job.ID)
	for k, p := range v.Parts {
		s.Partitions = append(s.Partitions, Partition{PartView: p, Device: l.device[k], Synthesis: l.spent[k][0], Prove: l.spent[k][1]})
	}
	return s
}

// Recent lists the latest jobs of the store, ended or not, newest first.
func (e *Engine) Recent(ctx context.Context, max int) ([]job.Job, error) {
	return e.cfg.Store.Recent(ctx, max)
}
