// Package daemon joins the real proofs with the engine: the kinds of package
// kind become [engine.Kind], compact witnesses become [engine.Witness], a
// backend on a device becomes [engine.Device], and key files become
// [engine.Keys]. [Open] puts them together with a state directory; [Daemon.Run]
// serves them.
//
// Which circuit, which key and how much memory a request takes follows from its
// circuit's entry in the catalog, so it is known before anything is opened and
// the engine can refuse what will never fit.
//
// Invariants:
//
//  1. A proof counts after package groth16 has verified its bytes against the
//     verifying key and the public inputs of the statement, which the witness
//     and the device did not make. No device runs that check.
//  2. A proof that fails the check of a witness that does not satisfy the circuit
//     is the request's fault; one of a witness that does is the device's.
//  3. A key whose secrets are known is used only with permission, and every time
//     that one is opened a warning is written.
//  4. A key file is opened once, however many devices use it, and its digest is
//     checked before its first use.
package daemon

import (
	"context"
	"log/slog"
	"time"

	"cuzk/backend"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Options are what a daemon is made of. StateDir and ParamsDir are needed.
type Options struct {
	StateDir   string // job store, payloads, digests of keys; one daemon at a time
	ParamsDir  string // key files
	CircuitDir string // cache of compiled circuits; empty: in StateDir
	Insecure   bool   // permit keys whose secrets are known

	Sched        sched.Config
	Host, Pinned budget.Bytes  // limits of memory
	Preload      []string      // circuits whose keys are loaded at start
	KeepResults  time.Duration // ended jobs are removed after this; 0: never
	SpoolLimit   budget.Bytes  // of payloads on disk; 0: none
	MinFreeDisk  budget.Bytes  // below it no job is accepted

	Accelerators []Accelerator // devices beside the processor
	NoCPU        bool          // the processor proves nothing

	// Kinds and Devices are added to the real ones, for tests and for trying out
	// the queue without mathematics. A kind replaces the real one of its name.
	Kinds   []engine.Kind
	Devices []engine.Device

	// StartAnew is asked when only a new process can open a device, see
	// [engine.Config]; may be nil.
	StartAnew func(device string, why error) error

	Events *event.Hub   // may be nil
	Log    *slog.Logger // nil: none
}

// Accelerator is a device with its own memory, and the backend that proves on
// it. The backend makes at most Slots proofs at a time, and with one key at most as
// many as the key's placement has AtOnce. Its errors may wrap
// [engine.ErrDeviceBroken] and [engine.ErrDeviceLost], those of Reopen
// [engine.ErrProcess].
type Accelerator struct {
	sched.Device // of class GPU
	Backend      backend.Backend
	// Need is about what a circuit takes: Device bytes of key and work, and how many
	// proofs can be made at a time with one copy of the key.
	Need func(id srs.ID, n r1cs.Counts, s srs.Shape) budget.Placement
	// Reopen closes what is left of a device that broke, opens it anew and tests it.
	// Its provers were closed before, as far as they could be. Nil: nothing to do.
	Reopen func(ctx context.Context) error
	// Abandon makes calls that wait for the device end with an error that wraps why,
	// since it does not answer. Nil: they always end by themselves.
	Abandon func(why error)
	// Close releases the device after the last prover was closed; may be nil.
	Close func() error
}
