// Package timeline reads the record of a run, draws it, and proves or disproves
// from it that no two exclusive regions of one physical device overlapped. Regions
// of different workspaces of a device may, see [event.Excludes].
//
// Two kinds of logs are read: the event log of this daemon, JSON records of
// package event, one a line; and the TIMELINE lines of the Rust daemon, alone or
// between other lines of its output.
//
// Sources: package event; for TIMELINE lines, the field's account of what each
// event means and when it is written (rust.go).
//
// Invariants:
//
//  1. A log is a proof only if nothing is missing from it: a gap in the numbers,
//     an end without a beginning or a line that cannot be read is a doubt, and
//     with a doubt there is no proof.
//  2. Order comes from the records' numbers, not from the clock, where there are
//     numbers: a clock that was set cannot make or hide an overlap.
//  3. From a log that shows only outer bounds, an overlap is reported if it
//     follows from them in every case, and a doubt if it follows in some.
//  4. Idle time of a device adds up: each moment has one reason.
package timeline

import (
	"fmt"
	"time"

	"cuzk/event"
)

// Kinds of spans.
const (
	Stage  = "stage"  // one step of a partition
	Region = "region" // exclusive use of a physical device
	Key    = "key"    // loading of a key
	Idle   = "idle"   // a device in service that does nothing, as the log says
)

// Span is something that took time.
type Span struct {
	What      string // Stage, Region, Key or Idle
	Name      string // stage, region, key or reason
	Job       string
	Kind      string // of the proof
	Partition event.Partition
	Attempt   int
	Device    string // physical device; empty if none is involved
	Worker    string // who did it, where the log says
	From, To  time.Duration
	Open      bool   // the log ends, or the daemon died, before the end
	Failed    string // why it failed; empty if it did not

	lock    string // what kept others out: the same lock cannot be held twice
	in, out int64  // order; see Span.overlaps
}

// Took is how long it took.
func (s *Span) Took() time.Duration { return s.To - s.From }

// String names the span for a person.
func (s *Span) String() string {
	text := s.Name
	if s.Job != "" {
		text += " of job " + s.Job
	}
	if k, ok := s.Partition.Index(); ok {
		text += fmt.Sprintf(" partition %d", k)
	}
	if s.Attempt > 0 {
		text += fmt.Sprintf(" attempt %d", s.Attempt)
	}
	if s.Worker != "" {
		text += " by worker " + s.Worker
	}
	return fmt.Sprintf("%s [%s to %s]", text, clock(s.From), clock(s.To))
}

// clock writes a time since the beginning of the log in seconds.
func clock(d time.Duration) string { return fmt.Sprintf("%.3fs", d.Seconds()) }

// overlaps tells whether both went on at some time, in the order of the log.
func (s *Span) overlaps(o *Span) bool { return s.in < o.out && o.in < s.out }

// Log is a run, or several, as spans.
type Log struct {
	Format string            // events or rust
	Start  time.Time         // of the first record; zero if the log does not say
	Length time.Duration     // from the first record to the last
	Lines  int               // records read
	Runs   int               // times that a daemon started
	Spans  []*Span           // by From
	Names  map[string]string // device to name
	Doubts []string          // why the log may be incomplete
	Notes  []string          // what is worth knowing about it

	lives   []interval // of jobs
	up      []interval // of daemons
	certain []*Span    // regions as far as they are certain
}

// interval is a time from and to.
type interval struct{ from, to time.Duration }

// doubt notes that something is missing. Many of one kind say little more than
// one, so they stop after a few.
func (l *Log) doubt(format string, args ...any) {
	const enough = 20
	if len(l.Doubts) < enough {
		l.Doubts = append(l.Doubts, fmt.Sprintf(format, args...))
	} else if len(l.Doubts) == enough {
		l.Doubts = append(l.Doubts, "and more of the kind")
	}
}
