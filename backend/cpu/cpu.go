// Package cpu is the backend that computes on the processor, with
// gnark-crypto's fields, transforms and multi-exponentiation.
//
// It is always there, and it is what every other backend is held against.
//
// Work for one assignment: evaluate the rows, transform them into the quotient
// ([quotient]), then sum the five queries of the key. A sum has two parts.
// Variables whose value is one (99 of 100 of those that are bits, in a circuit
// made of hashes) need their points added and nothing else; that is done with
// shared inversions ([affine.Sum]). The others go to multi-exponentiation in
// slices. The quotient and query h run beside the other four queries, so that
// no core waits at the end of a stage.
//
// Memory: three vectors of the domain's size for the quotient, a slice of
// points and scalars, and the key's points if they are few ([Options]); the
// points of a large key are decoded from the mapped file as they are used.
//
// Invariants:
//
//  1. All work goes through pieces of at most [Options.Slice] points or one
//     transform, and the context is looked at between pieces.
//  2. A prover is immutable: several Sums may run at the same time.
package cpu

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Name is what [Backend.Name] returns.
const Name = "cpu"

// Options bound what a prover holds.
type Options struct {
	// Resident is the size in bytes up to which all points of a key are
	// decoded when it is loaded and kept. Larger keys are decoded while they
	// are summed (BenchmarkSumBits shows what that costs). 0 is
	// DefaultResident; negative keeps nothing.
	Resident int64
	// Slice is the most points that one multi-exponentiation takes. 0 is
	// DefaultSlice. Smaller ones are slower and end sooner when cancelled.
	Slice int
}

// Defaults of Options.
const (
	DefaultResident = 256 << 20
	DefaultSlice    = 1 << 19
)

// Backend makes provers on the processor.
type Backend struct{ opt Options }

// New makes the backend.
func New(opt Options) *Backend {
	if opt.Resident == 0 {
		opt.Resident = DefaultResident
	}
	if opt.Slice <= 0 {
		opt.Slice = DefaultSlice
	}
	return &Backend{opt}
}

// Name implements [backend.Backend].
func (b *Backend) Name() string { return Name }

// Load implements [backend.Backend]. The key must stay open until Close.
func (b *Backend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key) (backend.Prover, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	if err := layout.CheckKey(circuit, key); err != nil {
		return nil, err
	}
	p := &prover{opt: b.opt, circuit: circuit, layout: layout, kinds: circuit.BitKinds()}
	p.l = queryG1{name: StageL, set: p.slots(nil, fullBits(layout.Counts.Aux))}
	p.a = queryG1{name: StageA, set: p.slots(layout.A.Inputs, layout.A.Aux)}
	p.b1 = queryG1{name: StageB1, set: p.slots(layout.B.Inputs, layout.B.Aux)}
	p.b2 = queryG2{name: StageB2, set: p.b1.set}
	if err := p.openPoints(ctx, key); err != nil {
		return nil, fmt.Errorf("load key %s: %w", key.Path, err)
	}
	return p, nil
}

type (
	queryG1 = query[bls12381.G1Affine, fp.Element, *fp.Element]
	queryG2 = query[bls12381.G2Affine, bls12381.E2, *bls12381.E2]
)

// prover implements [backend.Prover].
type prover struct {
	opt     Options
	circuit *r1cs.Compiled
	layout  *backend.Layout
	kinds   r1cs.Bitset // which aux are bits

	h         points[bls12381.G1Affine]
	l, a, b1  queryG1
	b2        queryG2
	heldBytes int64
}

// openPoints makes the queries' points ready: all decoded, or the mapped file.
func (p *prover) openPoints(ctx context.Context, key *srs.Key) error {
	g1 := int64(key.H.N+key.L.N+key.A.N+key.B1.N) * 2 * fp.Bytes
	g2 := int64(key.B2.N) * 4 * fp.Bytes
	keep := g1+g2 <= p.opt.Resident
	if keep {
		p.heldBytes = g1 + g2
	}
	for _, q := range []struct {
		to   *points[bls12381.G1Affine]
		from srs.Query
	}{{&p.h, key.H}, {&p.l.points, key.L}, {&p.a.points, key.A}, {&p.b1.points, key.B1}} {
		*q.to = points[bls12381.G1Affine]{n: q.from.N, decode: q.from.DecodeG1}
		if keep {
			if err := q.to.keep(ctx); err != nil {
				return err
			}
		}
	}
	p.l.msm, p.a.msm, p.b1.msm, p.b2.msm = msmG1, msmG1, msmG1, msmG2
	p.b2.points = points[bls12381.G2Affine]{n: key.B2.N, decode: key.B2.DecodeG2}
	if keep {
		return p.b2.points.keep(ctx)
	}
	return nil
}

// maxTasks is the most that gnark-crypto takes.
const maxTasks = 1024

func msmG1(p []bls12381.G1Affine, s []fr.Element) (sum bls12381.G1Affine, err error) {
	_, err = sum.MultiExp(p, s, ecc.MultiExpConfig{NbTasks: min(cores(), maxTasks)})
	return sum, err
}

func msmG2(p []bls12381.G2Affine, s []fr.Element) (sum bls12381.G2Affine, err error) {
	_, err = sum.MultiExp(p, s, ecc.MultiExpConfig{NbTasks: min(cores(), maxTasks)})
	return sum, err
}

// WorkBytes is [Backend.WorkBytesOf] a circuit.
func (b *Backend) WorkBytes(circuit *r1cs.Compiled) (int64, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return 0, err
	}
	return b.WorkBytesOf(layout.Counts, layout.Shape), nil
}

// Bytes implements [backend.Prover]: decoded points and the sets that say which
// variable has which. Pages of the mapped file are not counted.
func (p *prover) Bytes() int64 {
	words := len(p.kinds) + p.l.set.words() + p.a.set.words() + p.b1.set.words()
	return p.heldBytes + 8*int64(words)
}

// Close implements [backend.Prover].
func (p *prover) Close() error {
	*p = prover{circuit: p.circuit}
	return nil
}
