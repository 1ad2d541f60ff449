package timeline

import (
	"fmt"
	"time"

	"cuzk/event"
)

// events builds a log from our own records.
type events struct {
	log  *Log
	seq  uint64 // of the last record
	base int64  // order of the present run's number 0
	open map[string]*Span
	jobs map[string]time.Duration // that live, since when
	last time.Duration
	up   time.Duration // since when the daemon of this run is
}

func newEvents() *events {
	return &events{log: &Log{Format: "events", Names: map[string]string{}}, open: map[string]*Span{}, jobs: map[string]time.Duration{}}
}

// take adds a record. The hub numbers records from 1, so a number that is not
// larger than the last one begins a new run.
func (e *events) take(r *event.Record, line int) {
	l := e.log
	if l.Lines == 0 {
		l.Start = r.At
	}
	l.Lines++
	at := max(e.last, r.At.Sub(l.Start)) // a clock that is set back does not fold the picture
	if l.Runs == 0 || r.Seq <= e.seq {
		e.newRun(r, line)
		e.up = at
	} else if r.Seq != e.seq+1 {
		l.doubt("line %d: records %d to %d are missing", line, e.seq+1, r.Seq-1)
	}
	e.seq, e.last = r.Seq, at
	e.apply(r, line)
}

// newRun ends what the run before left open: the process is gone, so nothing of
// it can overlap with what comes.
func (e *events) newRun(r *event.Record, line int) {
	if e.log.Runs > 0 {
		e.closeAll()
		e.base += int64(e.seq) + 1
	}
	e.log.Runs++
	if r.Seq > 1 && r.Type != event.DaemonStarted {
		e.log.doubt("line %d: the run begins with record %d", line, r.Seq)
	}
}

func (e *events) closeAll() {
	for k, s := range e.open {
		s.To, s.out, s.Open = e.last, e.base+int64(e.seq)+1, s.What != Idle
		delete(e.open, k)
	}
	for id := range e.jobs {
		e.jobEnds(id)
	}
	e.log.up = append(e.log.up, interval{e.up, e.last})
}

// jobEnds closes the life of a job.
func (e *events) jobEnds(id string) {
	if from, ok := e.jobs[id]; ok {
		e.log.lives = append(e.log.lives, interval{from, e.last})
		delete(e.jobs, id)
	}
}

func (e *events) apply(r *event.Record, line int) {
	stage := fmt.Sprintf("%s %s %v %d %s", Stage, r.Job, r.Partition, r.Attempt, r.Stage)
	region := fmt.Sprintf("%s %s %s %s %v %d", Region, r.Device, r.Region, r.Job, r.Partition, r.Attempt)
	key := fmt.Sprintf("%s %s %s", Key, r.Key, r.Device)
	switch r.Type {
	case event.JobAccepted, event.JobRecovered:
		e.jobs[r.Job] = e.last
	case event.JobEnded:
		e.jobEnds(r.Job)
	case event.StageBegan:
		e.begin(stage, Stage, string(r.Stage), r, line)
	case event.StageEnded:
		e.end(stage, r, line)
	case event.RegionIn:
		e.begin(region, Region, r.Region, r, line)
	case event.RegionOut:
		e.end(region, r, line)
	case event.KeyLoading:
		e.begin(key, Key, r.Key, r, line)
	case event.KeyReady, event.KeyFailed:
		e.end(key, r, line)
	case event.DeviceState:
		if r.Name != "" {
			e.log.Names[r.Device] = r.Name
		}
	case event.DeviceIdle:
		e.idle(r)
	}
}

func (e *events) begin(id, what, name string, r *event.Record, line int) {
	if e.open[id] != nil {
		e.log.doubt("line %d: %s began before it had ended", line, id)
		e.close(id)
	}
	s := &Span{What: what, Name: name, Job: r.Job, Kind: r.Kind, Partition: r.Partition, Attempt: r.Attempt,
		Device: r.Device, From: e.last, in: e.base + int64(r.Seq)}
	e.open[id] = s
	e.log.Spans = append(e.log.Spans, s)
	if what == Region {
		e.close(Idle + " " + r.Device)
	}
}

func (e *events) end(id string, r *event.Record, line int) {
	s := e.open[id]
	if s == nil {
		e.log.doubt("line %d: %s ended without having begun", line, id)
		return
	}
	if s.Failed = r.Failure; s.Failed == "" && r.Type == event.KeyFailed {
		s.Failed = r.Reason
	}
	e.close(id)
}

// close ends an open span now.
func (e *events) close(id string) {
	if s := e.open[id]; s != nil {
		s.To, s.out = e.last, e.base+int64(e.seq)
		delete(e.open, id)
	}
}

// idle begins a time in which a device does nothing, for the given reason.
func (e *events) idle(r *event.Record) {
	id := Idle + " " + r.Device
	e.close(id)
	if r.Reason == "" {
		return
	}
	s := &Span{What: Idle, Name: r.Reason, Device: r.Device, From: e.last, in: e.base + int64(r.Seq)}
	e.open[id] = s
	e.log.Spans = append(e.log.Spans, s)
}

func (e *events) finish() *Log {
	e.closeAll()
	e.log.Length = e.last
	sortSpans(e.log.Spans)
	for _, s := range e.log.Spans {
		if s.What == Region {
			e.log.certain = append(e.log.certain, s)
		}
	}
	return e.log
}
