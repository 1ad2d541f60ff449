// Package backend is the seam behind which the arithmetic of a Groth16 proof
// happens: the quotient H and the sums over the queries of a proving key.
//
// A backend knows neither kinds, jobs, files nor randomness. It holds keys and
// turns compact assignments into the five group elements of a proof before
// blinding; package groth16 draws r and s, combines, encodes and checks. So a
// CPU, one GPU, several or a remote one differ in one package, and the check of
// a proof never depends on the code that made it.
//
// Invariants that every implementation keeps (package backend/conformance checks them):
//
//  1. The same key and assignment give the same five elements, bit for bit, on
//     every backend and in every run.
//  2. A cancelled context ends the work within one slice and releases what it
//     held; the error wraps context.Canceled.
//  3. An assignment that does not fit the circuit is an error, never a panic.
package backend

import (
	"context"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/r1cs"
	"cuzk/srs"
)

// Backend makes provers.
type Backend interface {
	// Name is cpu, cuda, ...
	Name() string
	// Load prepares a key for proving and keeps it until Close. The key must
	// fit the circuit: query lengths are checked against its densities. progress
	// may be nil; it is called with the share that is done, rising from 0 to 1, from
	// one goroutine at a time.
	Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(done float64)) (Prover, error)
}

// Prover holds one key.
type Prover interface {
	// Sums computes the group elements of each assignment. progress may be nil;
	// it is called with a stage name and the share of it that is done, 0 to 1.
	Sums(ctx context.Context, w []*r1cs.Assignment, progress func(stage string, done float64)) ([]Sums, error)
	// Bytes is the memory held for the key.
	Bytes() int64
	Close() error
}

// Sums are the queries of a key summed with an assignment (circuits.md B.3),
// without alpha, beta, delta, r and s.
type Sums struct {
	H       bls12381.G1Affine // sum of h_i times the quotient's coefficients
	L       bls12381.G1Affine // sum of l_i times aux
	A       bls12381.G1Affine // sum of a_i times inputs, then aux dense in A
	B1      bls12381.G1Affine // sum of b_g1
	B2      bls12381.G2Affine // sum of b_g2
	Timings []Timing          // stages in the order they ended
}

// Timing is the wall time of one stage.
type Timing struct {
	Stage string
	Took  time.Duration
}
