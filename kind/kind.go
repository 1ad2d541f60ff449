// Package kind is the registry of proof kinds: it turns what callers send into
// partitions that can be synthesised, proved and checked, whatever their kind.
//
// A request is decoded ([Parse] for the JSON form of request files), its
// vanilla proof is checked ([Job.Check]), and each [Partition] then gives its
// public inputs and, with the compiled circuit, its witness. Nothing above this
// package knows a kind by name.
package kind

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/r1cs"
	"cuzk/srs"
)

// ErrBadInput: what the caller sent is wrong; the text says what and where.
var ErrBadInput = errors.New("bad input")

// callersError is an error whose class does not show in its text.
type callersError struct{ error }

func (e callersError) Unwrap() []error { return []error{e.error, ErrBadInput} }

// badInput marks an error as the caller's.
func badInput(err error) error { return callersError{err} }

// Job is a decoded request.
type Job struct {
	Circuit    srs.ID
	Registered string // registered proof as the proofs API names it
	Partitions []Partition
	check      func(ctx context.Context, progress func(done, total int)) error
}

// Partition is the unit that is synthesised, proved and checked.
type Partition struct {
	Index  int          // position in the whole proof
	Inputs []fr.Element // public inputs, One left out
	circuit
}

// circuit is a circuit with its values and a direct way to its witness.
type circuit interface {
	r1cs.Circuit
	Witness(ctx context.Context, compiled *r1cs.Compiled) (*r1cs.Assignment, error)
}

// Check checks the vanilla proof on all cores: everything that the circuit
// will use. The first error found is returned and names what is wrong. progress
// may be nil; it gets how many of how many pieces are done.
func (j *Job) Check(ctx context.Context, progress func(done, total int)) error {
	if progress == nil {
		progress = func(int, int) {}
	}
	err := j.check(ctx, progress)
	if err != nil && ctx.Err() == nil {
		err = badInput(err)
	}
	return err
}

// pieces makes a check of n independent ones, which run on all cores.
func pieces(n int, check func(i int) error) func(context.Context, func(done, total int)) error {
	return func(ctx context.Context, progress func(done, total int)) error {
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.GOMAXPROCS(0))
		for i := range n {
			g.Go(func() error {
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				return check(i)
			})
			progress(i, n)
		}
		return g.Wait()
	}
}

// Witness computes the partition's assignment and makes sure that its public
// inputs are those of the statement.
func (p *Partition) Witness(ctx context.Context, compiled *r1cs.Compiled) (*r1cs.Assignment, error) {
	w, err := p.circuit.Witness(ctx, compiled)
	if err != nil {
		return nil, fmt.Errorf("witness of partition %d: %w", p.Index, err)
	}
	for i := range p.Inputs {
		if i+1 >= len(w.Inputs) || w.Inputs[i+1] != p.Inputs[i] {
			return nil, badInput(fmt.Errorf("partition %d: public input %d of the circuit is not that of the statement", p.Index, i))
		}
	}
	return w, nil
}

// Generic runs the circuit's text with values instead of the direct generator.
func (p *Partition) Generic() *r1cs.Runner { return r1cs.Run(p.circuit) }
