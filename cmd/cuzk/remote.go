package main

import (
	"errors"
	"fmt"

	"cuzk/api/cuzkv1"
	"cuzk/client"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/srs"
)

// submitted is a request as the contract's message. id may be empty.
func submitted(r *kind.Request, id string) *cuzkv1.SubmitProofRequest {
	number := int32(0)
	for _, w := range kind.Wires() {
		if w.Name == r.Kind {
			number = w.Number
		}
	}
	return &cuzkv1.SubmitProofRequest{RequestId: id, ProofKind: cuzkv1.ProofKind(number), SectorSize: r.SectorSize, RegisteredProof: r.RegisteredProof,
		VanillaProof: r.VanillaProof, VanillaProofs: r.VanillaProofs, SectorNumber: r.SectorNumber, MinerId: r.MinerID, Randomness: r.Randomness,
		PartitionIndex: r.PartitionIndex, CommROld: r.CommROld, CommRNew: r.CommRNew, CommDNew: r.CommDNew}
}

// remoteError gives a daemon's failures the classes of our own.
func remoteError(err error, addr string) error {
	var f *client.Failed
	switch {
	case errors.As(err, &f):
	case client.Busy(err):
		return hint(err, "is a daemon at %s? \"cuzk status\" shows what it does", addr)
	default:
		return err
	}
	text := errors.New(f.Message)
	switch job.Failure(f.Class) {
	case job.BadInput, job.Unsatisfied:
		return classed{text, kind.ErrBadInput}
	case job.NoKey:
		return classed{text, srs.ErrCorrupt}
	case job.BadProof:
		return fmt.Errorf("%w: %w", groth16.ErrSelfCheck, text)
	}
	return fmt.Errorf("%s: %w", f.Class, text)
}
