// Package job holds what the daemon was asked to prove: the request, its state,
// its result, and the two places where they survive a restart, the [Store] and
// the payload [Spool].
//
// A request id is an idempotency key together with the digest of the content:
// the same id and content join the job that runs or get the proof that was
// made; the same id with other content is another job; a job that failed or was
// cancelled is not joined, so a retry is a new try. Job ids are ours.
//
// Invariants ([RunStoreConformance] checks them):
//
//  1. A job ends once: the first terminal state stays, a second is refused.
//  2. What Create returned survives a kill at any time afterwards, and so does
//     every partition that SavePartition accepted.
//  3. For one request id and content there is at most one job that lives or is
//     completed.
//  4. A payload that comes back from the spool is the one that went in, or the
//     error wraps [ErrCorrupt].
package job

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Class is the priority of a job, from Low to Critical.
type Class int

// The classes, with the numbers that they have on the wire.
const (
	Low      Class = 1
	Normal   Class = 2
	High     Class = 3
	Critical Class = 4
)

var classNames = map[Class]string{Low: "low", Normal: "normal", High: "high", Critical: "critical"}

// String is low, normal, high or critical.
func (c Class) String() string {
	if s := classNames[c]; s != "" {
		return s
	}
	return fmt.Sprintf("class %d", int(c))
}

// Valid tells whether c is one of the four.
func (c Class) Valid() bool { return classNames[c] != "" }

// ParseClass reads what String writes.
func ParseClass(s string) (Class, error) {
	for c, n := range classNames {
		if n == s {
			return c, nil
		}
	}
	return 0, fmt.Errorf("class %q: want low, normal, high or critical", s)
}

// State is where a job stands in its life.
type State string

// The states. All but Live are final.
const (
	Live      State = "live"      // accepted, not ended
	Completed State = "completed" // proved and checked
	Failed    State = "failed"
	Cancelled State = "cancelled"
	TimedOut  State = "timeout" // its deadline passed
)

// Final tells whether a job in this state has ended.
func (s State) Final() bool { return s != Live && s != "" }

// Failure is the class of a failure: what a program may branch on.
type Failure string

// The classes of failure.
const (
	BadInput    Failure = "bad-input"   // the request cannot be read or contradicts itself; a retry fails again
	Unsatisfied Failure = "unsatisfied" // the inputs are readable but do not satisfy the circuit; a retry fails again
	NoKey       Failure = "no-key"      // the proving or verifying key is missing or corrupt
	NoMemory    Failure = "no-memory"   // an allocation failed
	DeviceFault Failure = "device"      // a device failed, hung or vanished
	BadProof    Failure = "self-check"  // a proof was made and did not verify
	Panicked    Failure = "panic"       // a bug in a worker
	Hung        Failure = "hang"        // a stage took many times its usual time
	Overdue     Failure = "deadline"    // the job's deadline passed
	Stopped     Failure = "cancelled"   // somebody asked for it
	Storage     Failure = "storage"     // the payload or the job store cannot be read
	Internal    Failure = "internal"    // none of the above
)

// Permanent tells whether the same request must fail again.
func (f Failure) Permanent() bool { return f == BadInput || f == Unsatisfied }

// Errors that callers branch on.
var (
	ErrNotFound = errors.New("no such job")
	ErrEnded    = errors.New("job has ended already")
	ErrCorrupt  = errors.New("stored data is corrupt")
	ErrSpool    = errors.New("payload spool takes no more now")
	ErrTooLarge = errors.New("request is too large")
	ErrNewer    = errors.New("job store was written by a newer version")
	ErrLocked   = errors.New("state directory is in use by another process")
)

// Job is one request on its way, without its payload.
type Job struct {
	ID        string // ours, see [NewID]
	RequestID string // the caller's; may be empty, then the job is never joined
	Digest    Digest // of the request's content; names the payload in the spool
	Size      int64  // bytes of the payload
	Kind      string // name of the proof kind, for example porep-c2
	Class     Class
	Submitted time.Time
	Deadline  time.Time // zero: none

	State  State
	Result Result // zero while Live
}

// Result is how a job ended.
type Result struct {
	Proof   []byte // 192 bytes a partition; only when Completed
	Failure Failure
	Message string // for a person; empty when Completed
	Ended   time.Time
	Times   Times
}

// Times are a job's durations. Synthesise and Prove are sums over partitions,
// as callers of the inherited contract expect.
type Times struct {
	Queue, Key, Synthesise, Prove, Total time.Duration
}

var idText = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes a job id of 16 characters that sorts by time of submission (to
// the millisecond) and that no other node makes.
func NewID(now time.Time) string {
	var b [10]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // never fails: crypto/rand ends the program instead
	return idText.EncodeToString(b[:])
}

// ValidID tells whether s has the form of a job id, so that it may be shown and
// used in paths.
func ValidID(s string) bool {
	_, err := idText.DecodeString(s)
	return err == nil && len(s) == 16 && strings.ToLower(s) == s
}
