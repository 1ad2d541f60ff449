package job

import (
	"context"
	"time"
)

// Store keeps jobs and the proofs of finished partitions. What a method has
// returned without error survives a kill of the process and a loss of power.
// Methods are safe for concurrent use. Errors that callers branch on:
// [ErrNotFound], [ErrEnded], [ErrCorrupt].
type Store interface {
	// Create stores a new live job, unless one with the same request id and
	// digest lives or is completed: then it returns that one and false. A job
	// without request id is always new. A completed one whose proof is spoilt
	// counts as none.
	Create(ctx context.Context, j Job) (stored Job, created bool, err error)
	// Find returns the job with this request id and digest that lives or is
	// completed. The error wraps ErrNotFound if there is none.
	Find(ctx context.Context, request string, d Digest) (Job, error)
	// Get returns a job with its result.
	Get(ctx context.Context, id string) (Job, error)
	// SetClass changes the class of a live job.
	SetClass(ctx context.Context, id string, c Class) error
	// SavePartition stores the checked proof of one partition of a live job.
	SavePartition(ctx context.Context, id string, index int, proof []byte) error
	// Partitions returns the stored proofs of a job by partition. Those whose
	// checksum is wrong are left out: they are proved again.
	Partitions(ctx context.Context, id string) (map[int][]byte, error)
	// Finish ends a live job; its partitions are dropped. The second call for
	// one job fails with ErrEnded and changes nothing.
	Finish(ctx context.Context, id string, s State, r Result) error
	// Live returns the jobs that have not ended, in the order of submission. One
	// that cannot be read comes with what is readable, and the reason as its
	// result: failure Storage and a message. It can still be ended with Finish.
	Live(ctx context.Context) ([]Job, error)
	// Recent returns the latest jobs, newest first, without proofs; at most max.
	Recent(ctx context.Context, max int) ([]Job, error)
	// Prune removes jobs that ended before a moment, and tells how many.
	Prune(ctx context.Context, before time.Time) (int, error)
	// Check tells whether the store can still be read and written, and is the
	// one that was opened.
	Check(ctx context.Context) error
	Close() error
}
