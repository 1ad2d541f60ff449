// Package web is the dashboard of the admin listener: one page that shows the
// pipeline by partition, devices, memory, queues, keys, history and failures,
// and keeps itself up to date by server-sent events.
//
// Source: the WHATWG HTML standard, section server-sent events.
//
// Invariants:
//
//  1. The page needs nothing from outside: no font, script, style or picture of
//     another host; its content security policy forbids them.
//  2. Text from requests (ids, reasons) is shown as text, never as markup.
//  3. The page is rendered once a second at most, however many look at it, and
//     not at all while nobody does.
//  4. Without the script the page still shows the state at the time it was
//     loaded.
//  5. It only shows: nothing can be changed with it.
package web

import (
	"context"
	"time"
)

// Source is where the page comes from. Snapshot must answer soon; its error is
// shown instead of the page.
type Source interface {
	Snapshot(ctx context.Context) (Snapshot, error)
}

// Snapshot is all that the page shows, at one moment.
type Snapshot struct {
	At       time.Time
	Version  string
	Uptime   time.Duration
	Refusing string // why no jobs are accepted; empty if they are
	Insecure bool   // keys whose secrets are known are permitted

	Jobs     []Job // live, the oldest first
	MoreJobs int   // live ones that are not in Jobs
	Devices  []Device
	Memory   []Pool // host first
	Spool    Pool   // payloads on disk
	Queues   []Queue
	Keys     []Key
	History  []Ended // the latest first
	Faults   []Fault // the latest first
	Minutes  []Minute
}

// Job is a live job.
type Job struct {
	ID, Request, Kind, Class string
	Begun                    bool
	Age                      time.Duration // since it was submitted
	Parts                    []Part
}

// Done counts the partitions that are proved and checked.
func (j Job) Done() int {
	n := 0
	for _, p := range j.Parts {
		if p.State == "done" {
			n++
		}
	}
	return n
}

// Part is a partition.
type Part struct {
	Index     int
	State     string // queued, making, ready, proving, checking, done
	Device    string // that proves it
	Tries     int    // failed ones
	Synthesis time.Duration
	Prove     time.Duration
}

// Device is something that proves.
type Device struct {
	ID, Name, State string
	Reason          string   // why it is out of service, or idle
	Work            []string // what it proves now, for a person
	Memory          Pool
}

// Pool is memory, or disk space, in bytes.
type Pool struct {
	Name              string
	Used, Limit, Peak int64
}

// Queue is one kind of proof.
type Queue struct {
	Kind                         string
	Pending, Running             int
	Completed, Failed, Cancelled uint64 // since the start
}

// Key is a proving key, on a device or on disk.
type Key struct {
	ID, Device  string
	State       string // loaded, loading, dropping, warm, cold, missing
	Bytes, Done int64
	Refs        int
}

// Ended is a job that ended.
type Ended struct {
	At                              time.Time
	ID, Request, Kind               string
	Outcome, Failure, Reason        string
	Total, Queue, Synthesise, Prove time.Duration
}

// Fault is a stage that failed.
type Fault struct {
	At                      time.Time
	Job, Kind, Stage        string
	Partition               int // -1: none
	Device, Failure, Reason string
}

// Minute counts the jobs that ended in one minute.
type Minute struct{ Completed, Failed int }
