// Package cpu is the backend that computes on the processor.
//
// It is always there, and it is what every other backend is held against.
//
// Work for one assignment: evaluate the rows, transform them into the quotient
// ([quotient]), then sum the five queries of the key. A sum has two parts.
// Variables whose value is one (99 of 100 of those that are bits, in a circuit
// made of hashes) need their points added and nothing else ([affine.Sum]). The
// others are multiplied ([affine.MultiExp]), in parts. The quotient and query h
// run beside the other four queries, so that no core waits at the end of a
// stage.
//
// Memory: three vectors of the domain's size for the quotient, and for each
// group the buckets of a sum of products with a part of the points. The points
// are read from the mapped file as they are used, and the pages given back:
// what of the file stays in memory is the system's choice.
//
// Invariants:
//
//  1. All work goes through parts ([affine.MultiExp]) or one
//     transform, and the context is looked at between pieces of milliseconds.
//  2. A prover is immutable: several Sums may run at the same time.
package cpu

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/backend"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Name is what [Backend.Name] returns.
const Name = "cpu"

// Options are what a prover may do. There are none at present.
type Options struct{}

// Backend makes provers on the processor.
type Backend struct{}

// New makes the backend.
func New(Options) *Backend { return &Backend{} }

// Name implements [backend.Backend].
func (b *Backend) Name() string { return Name }

// Load implements [backend.Backend]. The key must stay open until Close. It takes
// moments, so there is no progress to report.
func (b *Backend) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, _ func(float64)) (backend.Prover, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	if err := layout.CheckKey(circuit, key); err != nil {
		return nil, err
	}
	p := &prover{circuit: circuit, layout: layout, kinds: circuit.BitKinds(), h: pointsG1(key.H)}
	p.l = queryG1{StageL, p.slots(nil, fullBits(layout.Counts.Aux)), pointsG1(key.L)}
	p.a = queryG1{StageA, p.slots(layout.A.Inputs, layout.A.Aux), pointsG1(key.A)}
	p.b1 = queryG1{StageB1, p.slots(layout.B.Inputs, layout.B.Aux), pointsG1(key.B1)}
	p.b2 = queryG2{StageB2, p.b1.set, pointsG2(key.B2)}
	return p, ctx.Err()
}

type (
	queryG1 = query[bls12381.G1Affine]
	queryG2 = query[bls12381.G2Affine]
)

// prover implements [backend.Prover].
type prover struct {
	circuit *r1cs.Compiled
	layout  *backend.Layout
	kinds   r1cs.Bitset // which aux are bits

	h        points[bls12381.G1Affine]
	l, a, b1 queryG1
	b2       queryG2
}

// WorkBytes is [Backend.WorkBytesOf] a circuit.
func (b *Backend) WorkBytes(circuit *r1cs.Compiled) (int64, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return 0, err
	}
	return b.WorkBytesOf(layout.Counts, layout.Shape), nil
}

// Bytes implements [backend.Prover]: the sets that say which variable has which
// point. Pages of the mapped file are not counted.
func (p *prover) Bytes() int64 {
	words := len(p.kinds) + p.l.set.words() + p.a.set.words() + p.b1.set.words()
	return 8 * int64(words)
}

// Close implements [backend.Prover].
func (p *prover) Close() error {
	*p = prover{circuit: p.circuit}
	return nil
}
