package groth16

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
	"cuzk/srs"
)

// ErrSelfCheck: a proof that was just made does not verify. Either the
// assignment does not satisfy the circuit, or the key is not this circuit's, or
// the arithmetic went wrong.
var ErrSelfCheck = errors.New("proof failed its self-check")

// Blinding is the randomness of one proof.
type Blinding struct{ R, S fr.Element }

// Blinder gives the randomness of a batch of proofs.
type Blinder interface {
	// Blind returns n pairs.
	Blind(n int) ([]Blinding, error)
}

// Random draws blinding from Reader, which is crypto/rand's in production: all
// r of a batch first, then all s, 64 bytes each, reduced modulo the field's
// order (off from uniform by 2^-257).
type Random struct{ Reader io.Reader }

// Blind implements [Blinder].
func (b Random) Blind(n int) ([]Blinding, error) {
	out := make([]Blinding, n)
	for i := range out {
		if err := b.draw(&out[i].R); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if err := b.draw(&out[i].S); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b Random) draw(x *fr.Element) error {
	var buf [64]byte
	if _, err := io.ReadFull(b.Reader, buf[:]); err != nil {
		return fmt.Errorf("draw blinding: %w", err)
	}
	x.SetBytes(buf[:])
	return nil
}

// Fixed gives every proof the same known pair, so that proofs can be compared
// byte for byte. Such proofs do not hide their witness: tests only.
type Fixed Blinding

// Blind implements [Blinder].
func (b Fixed) Blind(n int) ([]Blinding, error) {
	out := make([]Blinding, n)
	for i := range out {
		out[i] = Blinding(b)
	}
	return out, nil
}

// Result is a batch of proofs with what a backend noted while it made them.
type Result struct {
	Proofs  []Proof
	Timings [][]backend.Timing // one list a proof
}

// Prove makes one proof for each assignment, and verifies each before it
// returns any: an error that wraps [ErrSelfCheck] means that one did not
// verify. vk is the verifying part of the prover's key. progress may be nil.
func Prove(ctx context.Context, prover backend.Prover, vk *srs.VerifyingKey, ws []*r1cs.Assignment, rnd Blinder, progress func(stage string, done float64)) (*Result, error) {
	if err := checkKey(vk, ws); err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	blinding, err := rnd.Blind(len(ws))
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	sums, err := prover.Sums(ctx, ws, progress)
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	out := &Result{Proofs: make([]Proof, len(ws)), Timings: make([][]backend.Timing, len(ws))}
	for i := range ws {
		out.Proofs[i] = *Combine(vk, &sums[i], &blinding[i])
		out.Timings[i] = sums[i].Timings
	}
	return out, selfCheck(vk, ws, out.Proofs)
}

// checkKey refuses what cannot give a proof. With delta at infinity a proof
// would not be blinded.
func checkKey(vk *srs.VerifyingKey, ws []*r1cs.Assignment) error {
	if vk.DeltaG1.IsInfinity() || vk.DeltaG2.IsInfinity() {
		return fmt.Errorf("verifying key: delta is the point at infinity")
	}
	for i, w := range ws {
		if w == nil || len(w.Inputs) != len(vk.IC) {
			return fmt.Errorf("%w: assignment %d of %d does not have the %d inputs of the key", ErrInputCount, i, len(ws), len(vk.IC))
		}
	}
	return nil
}

// Combine blinds the sums:
//
//	A = alpha1 + r·delta1 + Σ a_i·w_i
//	B = beta2 + s·delta2 + Σ b2_i·w_i
//	C = Σ h_i·q_i + Σ l_i·w_i + s·(alpha1 + Σ a_i·w_i) + r·(beta1 + Σ b1_i·w_i) + r·s·delta1
func Combine(vk *srs.VerifyingKey, sums *backend.Sums, b *Blinding) *Proof {
	var rs fr.Element
	rs.Mul(&b.R, &b.S)
	alphaA := addG1(vk.AlphaG1, sums.A)
	betaB := addG1(vk.BetaG1, sums.B1)
	return &Proof{
		A: addG1(alphaA, mulG1(vk.DeltaG1, b.R)),
		B: addG2(addG2(vk.BetaG2, sums.B2), mulG2(vk.DeltaG2, b.S)),
		C: addG1(sums.H, sums.L, mulG1(alphaA, b.S), mulG1(betaB, b.R), mulG1(vk.DeltaG1, rs)),
	}
}

// selfCheck verifies proofs as a stranger would: from their bytes.
func selfCheck(vk *srs.VerifyingKey, ws []*r1cs.Assignment, proofs []Proof) error {
	key, err := Prepare(vk)
	if err != nil {
		return err
	}
	for i := range proofs {
		p, err := DecodeProof(proofs[i].Encode())
		if err == nil {
			err = key.Verify(ws[i].Inputs[1:], p)
		}
		if err != nil {
			return fmt.Errorf("%w: assignment %d of %d: %w; check the assignment against the circuit, and the key", ErrSelfCheck, i, len(ws), err)
		}
	}
	return nil
}

func addG1(ps ...bls12381.G1Affine) (sum bls12381.G1Affine) {
	for i := range ps {
		sum.Add(&sum, &ps[i])
	}
	return sum
}

func addG2(ps ...bls12381.G2Affine) (sum bls12381.G2Affine) {
	for i := range ps {
		sum.Add(&sum, &ps[i])
	}
	return sum
}

func mulG1(p bls12381.G1Affine, x fr.Element) bls12381.G1Affine {
	return *p.ScalarMultiplication(&p, x.BigInt(new(big.Int)))
}

func mulG2(p bls12381.G2Affine, x fr.Element) bls12381.G2Affine {
	return *p.ScalarMultiplication(&p, x.BigInt(new(big.Int)))
}
