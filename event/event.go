// Package event holds what happens in the daemon as plain data: one record for
// every change that a person or a program may want to see. Logs, metrics, the
// status page and the timeline are consumers of this one stream.
//
// Invariants:
//
//  1. A record is complete in itself: job, kind, partition, stage, device UUID
//     and durations stand in it, so no reader needs another record to name it.
//  2. Within one [Hub], Seq rises by one a record; a gap tells a reader that it
//     was too slow and how much it missed.
//  3. A stage that began has exactly one end, whatever happened in between, and
//     so has an exclusive region of a device.
//  4. Publishing never blocks and never fails.
package event

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Type names what happened.
type Type string

// The types of records. The fields that each one fills beyond At and Seq are in
// parentheses.
const (
	JobAccepted  Type = "job.accepted"  // Job, Request, Kind, Class, Partitions, Bytes (payload)
	JobJoined    Type = "job.joined"    // Job, Request: a request with the id and content of a known job
	JobRefused   Type = "job.refused"   // Request, Kind, Reason
	JobRecovered Type = "job.recovered" // Job, Kind, Class, Partitions, Done: found in the store at start
	JobEnded     Type = "job.ended"     // Job, Request, Kind, Outcome, Failure, Reason, Took and the times

	StageBegan Type = "stage.began" // Job, Kind, Partition, Attempt, Stage, Device
	StageEnded Type = "stage.ended" // the same, Took, Bytes, Failure and Reason where it failed
	RegionIn   Type = "region.in"   // Device, Region, Job, Partition, Wait: exclusive use of a physical device, see [Excludes]
	RegionOut  Type = "region.out"  // the same, Took

	KeyLoading  Type = "key.loading"  // Key, Device, Bytes
	KeyProgress Type = "key.progress" // Key, Device, Done, Bytes, Took
	KeyReady    Type = "key.ready"    // Key, Device, Bytes, Took
	KeyFailed   Type = "key.failed"   // Key, Device, Reason
	KeyDropped  Type = "key.dropped"  // Key, Device, Bytes

	DeviceState Type = "device.state" // Device, Name, State, Reason
	DeviceIdle  Type = "device.idle"  // Device, Reason: why a device in service has nothing to do

	StoreFailed    Type = "store.failed" // Reason: the job store cannot be written
	StoreHealed    Type = "store.healed"
	DaemonStarted  Type = "daemon.started"
	DaemonDraining Type = "daemon.draining"
	DaemonRestarts Type = "daemon.restarts" // Device, Reason: the process replaces itself by a new one
	DaemonStopped  Type = "daemon.stopped"
)

// Stage is one step of a partition or a job.
type Stage string

// The stages, in the order of the flow.
const (
	Decode     Stage = "decode"     // payload bytes to a checked request
	Synthesise Stage = "synthesise" // circuit and inputs to a witness
	Prove      Stage = "prove"      // witness to proof, on a device
	Check      Stage = "check"      // proof against its verifying key
	Join       Stage = "join"       // partitions to the proof that is answered
)

// Excludes tells whether two regions of one device must not overlap. A region is
// the whole device, or a workspace of it: then its name ends in # and a number,
// behind the key that the workspace belongs to. Only different workspaces may be in
// use at the same time.
func Excludes(a, b string) bool {
	return a == b || !strings.Contains(a, "#") || !strings.Contains(b, "#")
}

// Record is one thing that happened. Unused fields are zero and are left out of
// the JSON form.
type Record struct {
	Seq  uint64    `json:"seq"`
	At   time.Time `json:"at"`
	Type Type      `json:"type"`

	Job        string    `json:"job,omitzero"`
	Request    string    `json:"request,omitzero"` // the caller's id
	Kind       string    `json:"kind,omitzero"`
	Class      string    `json:"class,omitzero"` // critical, high, normal, low
	Partition  Partition `json:"partition,omitzero"`
	Attempt    int       `json:"attempt,omitzero"` // its number, which no other attempt of the run of a daemon has
	Partitions int       `json:"partitions,omitzero"`
	Stage      Stage     `json:"stage,omitzero"`

	Device string `json:"device,omitzero"` // UUID, or cpu
	Name   string `json:"name,omitzero"`
	Region string `json:"region,omitzero"`
	State  string `json:"state,omitzero"`
	Key    string `json:"key,omitzero"`

	Took  time.Duration `json:"took_ns,omitzero"`
	Wait  time.Duration `json:"wait_ns,omitzero"` // time spent waiting for the lock or the queue before
	Bytes int64         `json:"bytes,omitzero"`
	Done  int64         `json:"done,omitzero"` // bytes or partitions finished so far

	Outcome string `json:"outcome,omitzero"` // completed, failed, cancelled, timeout
	Failure string `json:"failure,omitzero"` // class of the failure, see package job
	Reason  string `json:"reason,omitzero"`  // for a person
	Times   Times  `json:"times,omitzero"`
}

// Times are the sums that the one line about a finished job carries.
type Times struct {
	Queue      time.Duration `json:"queue_ns,omitzero"`      // submitted to first synthesis
	Key        time.Duration `json:"key_ns,omitzero"`        // ready partitions that waited for a key
	Synthesise time.Duration `json:"synthesise_ns,omitzero"` // sum over partitions
	Prove      time.Duration `json:"prove_ns,omitzero"`      // sum over partitions
	Check      time.Duration `json:"check_ns,omitzero"`      // sum over partitions
	Total      time.Duration `json:"total_ns,omitzero"`      // submitted to ended
}

// Partition is the number of a partition, or none: the zero value. [At] makes
// one, so that partition 0 and "no partition" differ.
type Partition struct{ plusOne int32 }

// At is partition k, counted from 0.
func At(k int) Partition { return Partition{int32(k) + 1} }

// Index is the number, and whether there is one.
func (p Partition) Index() (int, bool) { return int(p.plusOne) - 1, p.plusOne > 0 }

// IsZero tells whether the record is about no partition.
func (p Partition) IsZero() bool { return p.plusOne == 0 }

// String is the number, or a dash.
func (p Partition) String() string {
	if p.IsZero() {
		return "-"
	}
	return strconv.Itoa(int(p.plusOne) - 1)
}

// MarshalJSON writes the number, null for none.
func (p Partition) MarshalJSON() ([]byte, error) {
	if p.IsZero() {
		return []byte("null"), nil
	}
	return []byte(p.String()), nil
}

// UnmarshalJSON reads a number of at least 0, or null.
func (p *Partition) UnmarshalJSON(raw []byte) error {
	var k *int32
	if err := json.Unmarshal(raw, &k); err != nil {
		return fmt.Errorf("partition %s: %w", raw, err)
	}
	switch {
	case k == nil:
		*p = Partition{}
	case *k < 0 || *k+1 < 0:
		return fmt.Errorf("partition %d: must be 0 or more", *k)
	default:
		*p = At(int(*k))
	}
	return nil
}
