package server

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
)

// request takes a message's content; its byte strings are the message's.
func request(kind string, m *cuzkv1.SubmitProofRequest) *job.Request {
	return &job.Request{
		Kind: kind, SectorSize: m.GetSectorSize(), RegisteredProof: m.GetRegisteredProof(),
		SectorNumber: m.GetSectorNumber(), MinerID: m.GetMinerId(), PartitionIndex: m.GetPartitionIndex(),
		VanillaProof: m.GetVanillaProof(), VanillaProofs: m.GetVanillaProofs(), Randomness: m.GetRandomness(),
		CommROld: m.GetCommROld(), CommRNew: m.GetCommRNew(), CommDNew: m.GetCommDNew(),
	}
}

// class is 0, the kind's own, for an unspecified priority, and normal for a
// number that the contract does not know.
func class(p cuzkv1.Priority) job.Class {
	if p == cuzkv1.Priority_PRIORITY_UNSPECIFIED {
		return 0
	}
	if c := job.Class(p); c.Valid() {
		return c
	}
	return job.Normal
}

var statuses = map[job.State]cuzkv1.AwaitProofResponse_Status{
	job.Completed: cuzkv1.AwaitProofResponse_COMPLETED,
	job.Failed:    cuzkv1.AwaitProofResponse_FAILED,
	job.Cancelled: cuzkv1.AwaitProofResponse_CANCELLED,
	job.TimedOut:  cuzkv1.AwaitProofResponse_TIMEOUT,
}

// response is the answer about a job that has ended.
func response(j job.Job) *cuzkv1.AwaitProofResponse {
	r, t := j.Result, j.Result.Times
	m := &cuzkv1.AwaitProofResponse{
		JobId: j.ID, Status: statuses[j.State], Proof: r.Proof,
		QueueWaitMs: ms(t.Queue), SrsLoadMs: ms(t.Key), SynthesisMs: ms(t.Synthesise), GpuComputeMs: ms(t.Prove), TotalMs: ms(t.Total),
	}
	if j.State != job.Completed {
		m.ErrorMessage = fmt.Sprintf("%s: %s", r.Failure, r.Message)
	}
	return m
}

func ms[D ~int64](d D) uint64 { return uint64(max(d, 0)) / 1e6 }

// statusOf turns a refusal into the status that tells a client what to do: a
// request that must be changed, a time to come back, or a fault of ours.
func statusOf(err error) error {
	var imp *budget.Impossible
	code := codes.Internal
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return status.FromContextError(err).Err()
	case errors.Is(err, engine.ErrKind), errors.Is(err, job.ErrTooLarge):
		code = codes.InvalidArgument
	case errors.Is(err, job.ErrNotFound), errors.Is(err, engine.ErrNoKey), errors.Is(err, engine.ErrDevice):
		code = codes.NotFound
	case errors.Is(err, engine.ErrStopping), errors.Is(err, engine.ErrStore), errors.Is(err, sched.ErrOutOfService):
		code = codes.Unavailable
	case errors.As(err, &imp), errors.Is(err, sched.ErrNoDevice):
		code = codes.FailedPrecondition
	case errors.Is(err, sched.ErrQueue), errors.Is(err, job.ErrSpool), errors.Is(err, engine.ErrDisk):
		code = codes.ResourceExhausted
	case errors.Is(err, job.ErrCorrupt):
		code = codes.DataLoss
	default:
		code = codeOfClass(err)
	}
	return status.Error(code, err.Error())
}

// codeOfClass is the code for the class of a failure, of a key that was to be loaded.
func codeOfClass(err error) codes.Code {
	var c interface{ Failure() job.Failure }
	if errors.As(err, &c) {
		switch c.Failure() {
		case job.NoMemory:
			return codes.ResourceExhausted
		case job.NoKey:
			return codes.FailedPrecondition
		case job.DeviceFault, job.Hung:
			return codes.Unavailable
		}
	}
	return codes.Internal
}
