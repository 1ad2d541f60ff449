package server

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
)

// TestRefusalsTellWhetherToComeBack: the codes that callers may branch on. What
// passes by itself is never INTERNAL, nor a failure that would have to be
// changed.
func TestRefusalsTellWhetherToComeBack(t *testing.T) {
	disk := &os.PathError{Op: "write", Err: syscall.EIO}
	for code, errs := range map[codes.Code][]error{
		codes.ResourceExhausted: {engine.Fail(job.NoMemory, errors.New("does not fit beside what is resident")), sched.ErrQueue, fmt.Errorf("%w: %w", job.ErrSpool, syscall.EMFILE), engine.ErrDisk},
		codes.Unavailable: {engine.ErrStopping, fmt.Errorf("%w: %w", engine.ErrStore, disk),
			fmt.Errorf("%w: %w", engine.ErrStore, job.ErrCorrupt), errors.Join(engine.ErrStopping, disk),
			fmt.Errorf("%w: %w", sched.ErrOutOfService, &budget.Impossible{Pool: "memory of device gpu1", Need: 2, Limit: 1})},
		codes.FailedPrecondition: {&budget.Impossible{Pool: "host memory", Need: 2, Limit: 1}, sched.ErrNoDevice,
			engine.Fail(job.NoKey, errors.New("no such file"))},
		codes.InvalidArgument: {engine.ErrKind, job.ErrTooLarge},
		codes.NotFound:        {job.ErrNotFound, engine.ErrNoKey, engine.ErrDevice},
		codes.DataLoss:        {job.ErrCorrupt},
		codes.Internal:        {errors.New("a bug"), engine.Fail(job.Panicked, errors.New("a bug"))},
	} {
		for _, err := range errs {
			if got := status.Code(statusOf(fmt.Errorf("submit: %w", err))); got != code {
				t.Errorf("%v: %v, want %v", err, got, code)
			}
		}
	}
}
