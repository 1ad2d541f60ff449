package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/job"
)

// Errors of Submit and Wait that callers branch on, beside [job.ErrSpool],
// [job.ErrNotFound], [sched.ErrQueue] and [*budget.Impossible].
var (
	ErrKind     = errors.New("unknown proof kind")
	ErrStopping = errors.New("the daemon is shutting down; the job, if accepted, goes on after its next start")
	ErrStore    = errors.New("the job store cannot be written, no jobs are accepted")
	ErrDisk     = errors.New("not enough free disk space, no jobs are accepted")
	ErrNoKey    = errors.New("unknown circuit")
	ErrDevice   = errors.New("unknown device")
)

// ErrDeviceLost is for devices: the device has vanished and will not answer again
// before it is returned.
var ErrDeviceLost = errors.New("device is gone")

// classed is an error with the class of failure that it means.
type classed struct {
	class job.Failure
	error
}

func (c classed) Unwrap() error        { return c.error }
func (c classed) Failure() job.Failure { return c.class }

// Fail gives an error a class of failure.
func Fail(f job.Failure, err error) error { return classed{f, err} }

// failureOf is the class of an error; other for one that has none.
func failureOf(err error, other job.Failure) job.Failure {
	var c interface{ Failure() job.Failure }
	var imp *budget.Impossible
	switch {
	case errors.As(err, &c):
		return c.Failure()
	case errors.Is(err, context.Canceled):
		return job.Stopped
	case errors.Is(err, job.ErrCorrupt):
		return job.Storage
	case errors.As(err, &imp):
		return job.NoMemory
	}
	return other
}

// guard runs a worker and makes an error of a panic, with the place where it
// happened.
func guard(what string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = Fail(job.Panicked, fmt.Errorf("%s: panic: %v\n%s", what, r, debug.Stack()))
		}
	}()
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// refusal translates the scheduler's reasons.
func refusal(err error) error {
	if errors.Is(err, sched.ErrDraining) {
		return ErrStopping
	}
	return err
}
