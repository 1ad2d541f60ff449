package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/groth16"
	"cuzk/proving"
	"cuzk/r1cs"
)

// made is a partition's witness on its way to the prover.
type made struct {
	index int
	w     *r1cs.Assignment
	took  time.Duration
}

// proveAll proves all partitions once, with the vanilla proofs checked beside them.
// The proofs of every run must be the same.
func (b *fullBench) proveAll(ctx context.Context, run int) error {
	n := len(b.job.Partitions)
	proofs, lines := make([]groth16.Proof, n), make([]partitionLine, n)
	begun, check := time.Now(), time.Duration(0)
	checking := func(ctx context.Context) error {
		start := time.Now()
		err := b.job.Check(ctx, nil)
		check = time.Since(start)
		return err
	}
	err := proving.Beside(ctx, checking, func(ctx context.Context, ready func()) error {
		return b.prove(ctx, run, begun, ready, proofs, lines)
	})
	if err != nil {
		return err
	}
	wall := time.Since(begun)
	b.step(fmt.Sprintf("%s proved, run %d", plural(n, "partition"), run+1), begun)
	b.r.Runs = append(b.r.Runs, fullRun{Wall: wall.Seconds(), Check: check.Seconds(), Partitions: lines})
	return b.keep(proofs)
}

// prove makes witnesses ahead, in order; they wait for the device. ready is called
// when the first one is there.
func (b *fullBench) prove(parent context.Context, run int, begun time.Time, ready func(), proofs []groth16.Proof, lines []partitionLine) error {
	n := len(proofs)
	witnesses := make(chan made)
	g, ctx := errgroup.WithContext(parent)
	g.Go(func() error { return b.makeWitnesses(ctx, witnesses) })
	var taking, mu sync.Mutex
	done := 0
	// One goroutine more than the device works on: it waits at the door while the
	// proofs of the others are blinded and verified.
	for range b.f.works + 1 {
		g.Go(func() error {
			for {
				taking.Lock()
				ms := take(witnesses, b.round)
				taking.Unlock()
				if len(ms) == 0 {
					return nil
				}
				ready()
				if err := b.proveRound(ctx, begun, ms, proofs, lines); err != nil {
					return err
				}
				mu.Lock()
				done += len(ms)
				b.u.share(fmt.Sprintf("run %d of %d, proofs", run+1, b.f.runs), float64(done)/float64(n))
				mu.Unlock()
			}
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return parent.Err()
}

// makeWitnesses makes them in order, several at a time, and closes the channel.
func (b *fullBench) makeWitnesses(parent context.Context, to chan<- made) error {
	defer close(to)
	g, ctx := errgroup.WithContext(parent)
	g.SetLimit(b.f.making)
	for i := range b.job.Partitions {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			begun := time.Now()
			w, err := b.job.Partitions[i].Witness(ctx, b.circuit)
			if err != nil {
				return err
			}
			select {
			case to <- made{i, w, time.Since(begun)}:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}
	return g.Wait()
}

// take waits for so many witnesses, or for all that still come.
func take(from <-chan made, most int) (out []made) {
	for m := range from {
		if out = append(out, m); len(out) == most {
			break
		}
	}
	return out
}

// proveRound proves the partitions of a round in one call: where the key is streamed
// it then comes once for all of them.
func (b *fullBench) proveRound(ctx context.Context, begun time.Time, ms []made, proofs []groth16.Proof, lines []partitionLine) error {
	start := time.Now()
	var ws []*r1cs.Assignment
	for _, m := range ms {
		ws = append(ws, m.w)
	}
	r, err := groth16.Prove(ctx, b.prover, b.vk, ws, benchBlinding, nil)
	if err != nil {
		return fmt.Errorf("%s from number %d: %w", plural(len(ms), "partition"), b.job.Partitions[ms[0].index].Index, err)
	}
	for i, m := range ms {
		line := partitionLine{Partition: b.job.Partitions[m.index].Index, Ended: time.Since(begun).Seconds()}
		line.Stages = append(line.Stages, fullStep{"witness", m.took.Seconds()})
		for _, t := range r.Timings[i] {
			line.Stages = append(line.Stages, fullStep{t.Stage, t.Took.Seconds()})
		}
		line.Stages = append(line.Stages, fullStep{"proof, waiting included", time.Since(start).Seconds()})
		proofs[m.index], lines[m.index] = r.Proofs[i], line
	}
	return nil
}

// keep holds the proofs of a run against those of the first.
func (b *fullBench) keep(proofs []groth16.Proof) error {
	raw := groth16.EncodeProofs(proofs)
	if b.r.proof == nil {
		b.r.proof = raw
	}
	if !slices.Equal(raw, b.r.proof) {
		return fmt.Errorf("the proofs of %s differ from those of the first run", b.id)
	}
	return nil
}

// verify checks all proofs as one, as the chain does: from their bytes and the
// public inputs of the statement.
func (b *fullBench) verify() error {
	begun := time.Now()
	proofs, err := groth16.DecodeProofs(b.r.proof)
	if err != nil {
		return err
	}
	inputs := make([][]fr.Element, len(b.job.Partitions))
	for i := range inputs {
		inputs[i] = b.job.Partitions[i].Inputs
	}
	if err := groth16.VerifyBatch(b.vk, inputs, proofs, rand.Reader); err != nil {
		return err
	}
	b.step(fmt.Sprintf("whole proof verified, %d bytes", len(b.r.proof)), begun)
	return nil
}

// compare holds proofs against those that the secrets give.
func (b *fullBench) compare(ctx context.Context) error {
	n := len(b.job.Partitions)
	switch b.f.check {
	case "none":
		b.u.note("warning: no proof was compared with that of the secrets")
		return nil
	case "first":
		if n > 1 {
			b.u.note("only the first of %d proofs is compared with that of the secrets", n)
		}
		n = 1
	}
	begun := time.Now()
	e, err := groth16.NewEvaluator(b.circuit, groth16.InsecureSecrets())
	if err != nil {
		return err
	}
	for i := range n {
		b.u.share("comparing with the secrets' proofs", float64(i)/float64(n))
		if err := b.compareOne(ctx, e, i); err != nil {
			return fmt.Errorf("partition %d: %w", b.job.Partitions[i].Index, err)
		}
		b.r.Compared++
	}
	b.step(fmt.Sprintf("%d of %d proofs compared with the secrets' own", n, len(b.job.Partitions)), begun)
	return nil
}

func (b *fullBench) compareOne(ctx context.Context, e *groth16.Evaluator, i int) error {
	w, err := b.job.Partitions[i].Witness(ctx, b.circuit) // again: none is kept
	if err != nil {
		return err
	}
	blinding := groth16.Blinding(benchBlinding)
	x, err := e.Exponents(ctx, w, &blinding)
	if err != nil {
		return err
	}
	got, want := b.r.proof[i*groth16.ProofBytes:(i+1)*groth16.ProofBytes], x.Proof().Encode()
	if !slices.Equal(got, want) {
		return fmt.Errorf("%w: the proof is %x, the secrets give %x", groth16.ErrInvalidProof, got, want)
	}
	return nil
}
