// Package engine runs jobs: it takes requests in, keeps them safe, executes the
// decisions of engine/sched with workers, and hands results out.
//
//	Submit -> payload in the spool -> decoded and admitted -> job in the store
//	       -> scheduler's commands: make, prove, check, join -> store -> Wait
//
// One goroutine, the loop, owns the scheduler and all that is known of live
// jobs; everything that takes time (decoding, witnesses, proofs, checks, key
// loading, the disk) happens in workers that report back to the loop. So the
// loop answers at once, whatever the load.
//
// What proves and what is proved enter as values: [Kind], [Device] and [Keys].
//
// Invariants:
//
//  1. A job that Submit returned is in the store, and ends once: its result is
//     stored before anybody sees it, unless the store cannot be written; then it
//     is kept in memory and stored as soon as that works again.
//  2. Every proof is checked before its partition counts; there is no way around.
//  3. A worker that panics fails its attempt only, a device that fails is the
//     scheduler's to judge.
//  4. Cancelled or late work gives its memory back when it has really ended.
package engine

import (
	"context"
	"time"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// Kind is one kind of proof. Its methods are called from many goroutines. An
// error may carry its class, see [Fail].
type Kind interface {
	// Name is what requests, logs and metrics call the kind, for example porep-c2.
	Name() string
	// Number is what callers call it on the wire.
	Number() int32
	// Class is the priority of jobs that ask for none.
	Class() job.Class
	// Open decodes a request and checks all that can be checked before proving.
	// An error without a class is the caller's ([job.BadInput]).
	Open(ctx context.Context, r *job.Request) (Opened, error)
	// Join puts the checked proofs of all partitions together, in their order.
	Join(proofs [][]byte) ([]byte, error)
}

// Opened is a decoded request. Close frees it; no other method is called then.
type Opened interface {
	Plan() Plan
	// Synthesise makes the witness of partition k. It ends early, with the
	// context's error, when the context does.
	Synthesise(ctx context.Context, k int) (Witness, error)
	Close()
}

// Plan is what a job takes.
type Plan struct {
	Key        string // id of the proving key, for example porep-32g
	Partitions int
	Work       budget.Work
}

// Witness is the assignment of one partition with its public inputs.
type Witness interface {
	// Bytes is the host memory that it takes, at most the plan's.
	Bytes() budget.Bytes
	// Check verifies a proof of this partition with code that the device did not
	// run. The error says what is wrong with the proof.
	Check(ctx context.Context, proof []byte) error
	Close()
}

// Device makes proofs. Calls to different keys and slots come at the same time.
type Device interface {
	Spec() sched.Device
	// Load makes a key resident. progress may be called with bytes done and
	// expected. An error of class [job.NoKey] means that no device can have it.
	Load(ctx context.Context, key string, progress func(done, total budget.Bytes)) error
	// Drop frees a key. It is not in use.
	Drop(key string)
	// Prove makes the proof of a witness with a resident key. enter is called
	// around each exclusive use of the physical device.
	// An error may wrap [ErrDeviceLost] or [ErrDeviceBroken].
	Prove(ctx context.Context, key string, w Witness, enter Enter) ([]byte, error)
	// Reopen makes the device ready anew after an error of its own, and tests it.
	// Nothing runs on it then, and its keys were dropped. An error may wrap [ErrProcess].
	Reopen(ctx context.Context) error
	// Abandon gives the device up: it does not answer. Calls that wait for it end
	// soon with an error that wraps why, and so do later ones until Reopen went well.
	// What they hold on the device is held until the process ends.
	Abandon(why error)
	Close()
}

// Enter notes that an exclusive region of a device was entered after waiting for
// it; the function that it returns notes that it was left.
type Enter func(region string, waited time.Duration) (leave func())

// Keys tells which proving keys there are. It may be nil in [Config].
type Keys interface {
	// List names the keys that are known, loaded or not.
	List() []Key
}

// Key is a proving key as it is before any device has it.
type Key struct {
	ID    string
	Kind  string       // of the proofs that it makes
	Bytes budget.Bytes // of the file
	Tier  string       // warm: mapped; cold: on disk; missing
	Work  budget.Work  // placements, to load it before any job asks
}

// Config is what an engine is made of.
type Config struct {
	Sched        sched.Config
	Host, Pinned budget.Bytes // limits of memory
	Kinds        []Kind
	Devices      []Device
	Keys         Keys
	Preload      []string // keys to load at start

	Store       job.Store
	Spool       *job.Spool
	Dir         string        // of the spool, to look at free disk space; empty: not looked at
	MinFreeDisk budget.Bytes  // below it no job is accepted
	KeepResults time.Duration // ended jobs are removed after this; 0: never

	// StartAnew is asked when only a new process can open a device, see [ErrProcess].
	// Without an error the process will soon be replaced, after Settle and Close, and
	// the device waits for that; the error says why not, and the device is lost. Nil:
	// it is lost.
	StartAnew func(device string, why error) error

	Events *event.Hub       // may be nil
	Wall   func() time.Time // the machine's clock, for stamps; nil: time.Now
}
