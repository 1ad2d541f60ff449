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
	ErrStore    = errors.New("the job store cannot be written, no new jobs are accepted")
	ErrDisk     = errors.New("not enough free disk space, no new jobs are accepted")
	ErrNoKey    = errors.New("unknown circuit")
	ErrDevice   = errors.New("unknown device")
)

// Errors of devices that say what is to become of the device.
var (
	// ErrDeviceLost: the device has vanished, or what runs on it cannot be stopped.
	// It is not used again before somebody returns it.
	ErrDeviceLost = errors.New("device is gone")
	// ErrDeviceBroken: nothing works on the device any more, and its keys are gone,
	// until it is opened anew. The engine sees to that.
	ErrDeviceBroken = errors.New("device must be opened anew")
	// ErrProcess, of a Reopen: this process can open the device no more, another one
	// can. See [Config.StartAnew].
	ErrProcess = errors.New("only a new process can open the device")
)

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

// judge tells the scheduler what an error means for the device.
func (e *Engine) judge(device string, err error) {
	switch {
	case errors.Is(err, ErrDeviceLost):
		e.step(sched.LoseDevice{Device: device, Why: firstLine(err)})
	case errors.Is(err, ErrDeviceBroken):
		e.step(sched.BreakDevice{Device: device, Why: firstLine(err)})
	}
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
