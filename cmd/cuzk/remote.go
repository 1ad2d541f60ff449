package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"cuzk/api/cuzkv1"
	"cuzk/client"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/server"
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

// remoteFlags say which daemon is to prove.
type remoteFlags struct{ addr, token string }

func (f *remoteFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.addr, "daemon", "", "have the daemon at this `address` prove: host:port, unix:///path or https://host:port")
	cmd.Flags().StringVar(&f.token, "token-file", "", "`file` with the daemon's secret, if it wants one")
}

// readToken reads the secret of a file; empty without one.
func readToken(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	token, err := server.ReadToken(path)
	if err != nil {
		return "", badInput(fmt.Errorf("token file: %w", err))
	}
	return token, nil
}

// prove has the daemon prove a request file. Partitions of a WindowPoSt are
// asked for one by one, as the contract wants it.
func (f *remoteFlags) prove(ctx context.Context, st *stages, path string) (proof []byte, err error) {
	token, err := readToken(f.token)
	if err != nil {
		return nil, err
	}
	data, err := readSmall(nil, path)
	if err != nil {
		return nil, err
	}
	rs, err := kind.WireRequests(data, func(name string) ([]byte, error) { return readSmall(nil, filepath.Join(filepath.Dir(path), name)) })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c, err := client.Dial(f.addr, client.Options{Token: token})
	if err != nil {
		return nil, usageError("--daemon: %v", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	err = st.watch().Run("daemon", func() (string, error) {
		for _, r := range rs {
			p, err := c.Prove(ctx, submitted(r, ""))
			if err != nil {
				return "", remoteError(err, f.addr)
			}
			proof = append(proof, p.Proof...)
		}
		return fmt.Sprintf("%d bytes from %s", len(proof), f.addr), nil
	})
	return proof, err
}
