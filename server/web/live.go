package web

import (
	"context"
	"fmt"
	"sync"
	"time"

	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
)

// Engine is what the page asks; [engine.Engine] is one.
type Engine interface {
	Status(ctx context.Context) (engine.Status, error)
	Jobs(ctx context.Context) ([]engine.JobStatus, error)
}

// Limits of what is shown and remembered.
const (
	maxJobs    = 60
	maxHistory = 50
	maxFaults  = 30
	minutes    = 60
)

// Live is the [Source] of a running daemon: the engine for what is now, events
// for what was. It is a sink of package telemetry.
type Live struct {
	engine Engine
	about  About

	mu      sync.Mutex
	history []Ended
	faults  []Fault
	loading map[[2]string]Key // key and device
	ended   map[int64]Minute  // by minutes since 1970
}

// About is what does not change.
type About struct {
	Version  string
	Insecure bool // keys whose secrets are known are permitted
}

// NewLive makes the source. It knows of the past what it is given by Take.
func NewLive(e Engine, a About) *Live {
	return &Live{engine: e, about: a, loading: map[[2]string]Key{}, ended: map[int64]Minute{}}
}

// Missed is not shown: the page repairs itself with the next look at the engine.
func (l *Live) Missed(uint64) {}

// Take remembers what the engine does not.
func (l *Live) Take(r event.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := [2]string{r.Key, r.Device}
	switch r.Type {
	case event.JobEnded:
		l.end(&r)
	case event.StageEnded:
		if r.Failure != "" && r.Failure != "cancelled" {
			l.fault(&r)
		}
	case event.KeyLoading, event.KeyProgress:
		l.loading[key] = Key{ID: r.Key, Device: r.Device, State: "loading", Bytes: r.Bytes, Done: r.Done}
	case event.KeyReady, event.KeyDropped:
		delete(l.loading, key)
	case event.KeyFailed:
		delete(l.loading, key)
		r.Stage, r.Failure = "load key "+event.Stage(r.Key), "no-key"
		l.fault(&r)
	case event.DeviceState:
		if r.State != string(sched.InService) {
			r.Failure, r.Stage = r.State, "device"
			l.fault(&r)
		}
	}
}

func (l *Live) end(r *event.Record) {
	t := r.Times
	l.history = newest(l.history, maxHistory, Ended{At: r.At, ID: r.Job, Request: r.Request, Kind: r.Kind, Outcome: r.Outcome,
		Failure: r.Failure, Reason: r.Reason, Total: t.Total, Queue: t.Queue, Synthesise: t.Synthesise, Prove: t.Prove})
	now := r.At.Unix() / 60
	m := l.ended[now]
	if r.Outcome == "completed" {
		m.Completed++
	} else {
		m.Failed++
	}
	l.ended[now] = m
	for k := range l.ended {
		if k < now-minutes {
			delete(l.ended, k)
		}
	}
}

func (l *Live) fault(r *event.Record) {
	k, ok := r.Partition.Index()
	if !ok {
		k = -1
	}
	l.faults = newest(l.faults, maxFaults, Fault{At: r.At, Job: r.Job, Kind: r.Kind, Stage: string(r.Stage), Partition: k,
		Device: r.Device, Failure: r.Failure, Reason: r.Reason})
}

// newest puts a thing before the others and keeps at most n.
func newest[T any](list []T, n int, v T) []T {
	list = append([]T{v}, list...)
	return list[:min(len(list), n)]
}

// Snapshot asks the engine.
func (l *Live) Snapshot(ctx context.Context) (Snapshot, error) {
	st, err := l.engine.Status(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("ask the engine: %w", err)
	}
	jobs, err := l.engine.Jobs(ctx)
	if err != nil {
		return Snapshot{}, fmt.Errorf("ask the engine: %w", err)
	}
	now := time.Now()
	s := Snapshot{At: now, Version: l.about.Version, Uptime: st.Uptime, Refusing: st.Refusing, Insecure: l.about.Insecure,
		Memory: pools(&st), Spool: Pool{Name: "payloads on disk", Used: st.SpoolUsed, Limit: st.SpoolLimit}}
	s.Devices, s.Queues = devices(&st), queues(&st)
	s.Jobs, s.MoreJobs = shown(jobs, now)
	l.remembered(&s, &st)
	return s, nil
}

// remembered adds what came by events.
func (l *Live) remembered(s *Snapshot, st *engine.Status) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Keys = keys(st, l.loading)
	s.History = append(s.History, l.history...)
	s.Faults = append(s.Faults, l.faults...)
	now := s.At.Unix() / 60
	for i := range int64(minutes) {
		s.Minutes = append(s.Minutes, l.ended[now-minutes+1+i])
	}
}

func pools(st *engine.Status) []Pool {
	return []Pool{
		{"host memory", int64(st.Host.Used), int64(st.Host.Limit), int64(st.Host.Peak)},
		{"pinned memory", int64(st.Pinned.Used), int64(st.Pinned.Limit), int64(st.Pinned.Peak)},
	}
}

func devices(st *engine.Status) []Device {
	var out []Device
	for _, d := range st.Devices {
		v := Device{ID: d.ID, Name: d.Name, State: string(d.State), Reason: d.Reason,
			Memory: Pool{"memory", int64(d.Pool.Used), int64(d.Pool.Limit), int64(d.Pool.Peak)}}
		for _, w := range d.Work {
			text := fmt.Sprintf("%s partition %d of %s", st.KindOf[w.Job], w.Partition, w.Job)
			if w.Stray {
				text = fmt.Sprintf("partition %d of %s, which is no longer wanted", w.Partition, w.Job)
			}
			v.Work = append(v.Work, text)
		}
		out = append(out, v)
	}
	return out
}

func queues(st *engine.Status) []Queue {
	var out []Queue
	for _, k := range st.Kinds {
		out = append(out, Queue{k.Name, k.Pending, k.InProgress, k.Completed, k.Failed + k.TimedOut, k.Cancelled})
	}
	return out
}

// keys lists resident keys first, then those that are only on disk.
func keys(st *engine.Status, loading map[[2]string]Key) []Key {
	var out []Key
	resident := map[string]bool{}
	bytes := map[string]int64{}
	for _, k := range st.Known {
		bytes[k.ID] = int64(k.Bytes)
	}
	for _, k := range st.View.Keys {
		v := Key{ID: k.Key, Device: k.Device, State: k.State, Bytes: bytes[k.Key], Refs: k.Refs}
		if p, ok := loading[[2]string{k.Key, k.Device}]; ok && k.State == "loading" {
			v.Done, v.Bytes = p.Done, max(p.Bytes, v.Bytes)
		}
		resident[k.Key] = true
		out = append(out, v)
	}
	for _, k := range st.Known {
		if !resident[k.ID] {
			out = append(out, Key{ID: k.ID, State: k.Tier, Bytes: int64(k.Bytes)})
		}
	}
	return out
}

// shown takes the jobs that have begun, and then the oldest of the others.
func shown(jobs []engine.JobStatus, now time.Time) (out []Job, more int) {
	for _, begun := range []bool{true, false} {
		for _, j := range jobs {
			if j.Begun != begun {
				continue
			}
			if len(out) == maxJobs {
				more++
				continue
			}
			out = append(out, jobOf(&j, now))
		}
	}
	return out, more
}

func jobOf(j *engine.JobStatus, now time.Time) Job {
	v := Job{ID: j.ID, Request: j.RequestID, Kind: j.Kind, Class: j.Class.String(), Begun: j.Begun, Age: now.Sub(j.Submitted)}
	for k, p := range j.Partitions {
		v.Parts = append(v.Parts, Part{Index: k, State: p.State, Device: p.Device, Tries: p.Tries, Synthesis: p.Synthesis, Prove: p.Prove})
	}
	return v
}
