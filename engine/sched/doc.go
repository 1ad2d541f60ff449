// Package sched decides what the daemon does next. It is a pure function from
// events to commands: no clock, no input or output, no goroutines, no
// randomness. Time and memory enter as values, so that a test can be read as a
// story (testdata/) and a run can be replayed.
//
// The unit of work is the partition:
//
//	queued -> making -> ready -> proving -> checking -> done
//	            ^          ^                    |
//	            |          +--- bad proof, device fault: another device, then the CPU
//	            +-------------- witness given up to make room
//
// Order: critical before high before normal before low, at every queue. A class
// below critical rises by one for each [Config.AgeStep] that a job has waited,
// at most to high. Within a class the oldest job goes first, within a job the
// lowest partition. Work is grouped by key where keys do not fit on a device
// together, for at most [Config.KeyHold] at a time. A partition goes to the device
// that will be done with it soonest. A running stage is never interrupted for a
// better one, so a critical partition waits for at most one partition on a device.
//
// Memory: one [budget.Ledger]. A witness is reserved before it is made and kept
// until its proof has been checked; it is made as far ahead as memory allows,
// but at most [Config.Making] at a time. The proving key of a kind is resident
// on a device, loaded when a partition on its way needs it and given up when
// idle and in the way.
//
// Invariants (the property test drives random histories against them):
//
//  1. The ledger is never overdrawn, and empty when nothing runs.
//  2. Every job that was submitted ends by exactly one [Finish].
//  3. Every attempt that was started is answered by the engine once; what a
//     late answer holds is given back, its result is not used.
//  4. While a device in service could prove a live job, something runs.
//  5. No proof leaves without a good check.
//
// Devices:
//
//	in service -> reopening            its context broke: all that ran there is tried again, its keys are
//	                                   dropped, then [Reopen]; in service when that ends well, else lost
//	           -> quarantined          bad proof, faults, hangs, contexts that break again and again
//	           -> stuck                a stage hangs; in service when it answers
//	           -> lost                 vanished, or did not stop within [Config.StopLimit]: [Abandon]
//	quarantined, lost -> reopening     an operator returned it
package sched

import (
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// Time is a moment, as the time since the engine started. It never goes back.
type Time = time.Duration

// DeviceClass tells devices with own memory from the host's processor.
type DeviceClass string

// The classes of devices.
const (
	CPU DeviceClass = "cpu"
	GPU DeviceClass = "gpu"
)

// CPUPolicy says when the host's processor proves.
type CPUPolicy string

// The policies for the CPU.
const (
	CPUNever    CPUPolicy = "never"
	CPUFallback CPUPolicy = "fallback" // when no GPU in service can, or two have failed a partition
	CPUAlways   CPUPolicy = "always"   // like any other device
)

// Config are the limits and policies of a core.
type Config struct {
	MaxJobs     int          // live jobs; critical jobs are let in above it
	Making      int          // witnesses made at a time; one more for a critical job
	Ahead       int          // finished witnesses that may wait for a device; 0: memory alone decides
	Reserve     budget.Bytes // host memory that only critical jobs may use for witnesses
	AgeStep     Time         // waiting time that is worth one class; 0: no ageing
	CPU         CPUPolicy
	MaxAttempts int  // tries of one partition, all devices together
	HangFactor  int  // a stage has hung after this many times its usual time; 0: never
	HangFloor   Time // and not before this
	HangUnknown Time // a stage whose usual time is not known has hung after this; 0: never
	StopLimit   Time // a proof that was told to stop and has not after this is given up with its device; 0: never
	KeyIdle     Time // an unused key is dropped after this; 0: only to make room
	KeyHold     Time // a key for which work waits keeps its place this long against others of the class; 0: age alone decides
}

// Device is something that proves.
type Device struct {
	ID     string // UUID of a card, or cpu
	Name   string
	Class  DeviceClass
	Slots  int          // partitions at a time
	Memory budget.Bytes // own memory; 0 for the CPU, which uses the host's
	Lost   string       // why it could not be opened; empty: it is open
}

// Placement and Work say what a kind's partitions take, Usual how long.
type (
	Placement = budget.Placement
	Work      = budget.Work
	Usual     = budget.Usual
)

// on is the placement of work on a device.
func on(w *Work, d *device) *Placement {
	if own, ok := w.Own[d.ID]; ok {
		return &own
	}
	if d.Class == CPU {
		return &w.CPU
	}
	return &w.GPU
}

// Job is what the core needs to know of a job.
type Job struct {
	ID         string
	Class      job.Class
	Key        string // id of the proving key, for example porep-32g
	Partitions int
	Done       []int // partitions that were finished before a restart
	Work       Work
	Deadline   Time // 0: none
}
