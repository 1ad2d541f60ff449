package groth16

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/srs"
)

// PreparedKey is a verifying key with what does not depend on the proof computed
// once. It may be used from several goroutines.
type PreparedKey struct {
	ic        []bls12381.G1Affine
	negGamma  bls12381.G2Affine
	negDelta  bls12381.G2Affine
	alphaBeta bls12381.GT // e(alpha, beta)
}

// Prepare computes e(alpha, beta), about a millisecond.
func Prepare(vk *srs.VerifyingKey) (*PreparedKey, error) {
	k := &PreparedKey{ic: vk.IC}
	if len(vk.IC) == 0 {
		return nil, fmt.Errorf("prepare verifying key: list ic is empty")
	}
	var err error
	k.alphaBeta, err = bls12381.Pair([]bls12381.G1Affine{vk.AlphaG1}, []bls12381.G2Affine{vk.BetaG2})
	if err != nil {
		return nil, fmt.Errorf("prepare verifying key: %w", err)
	}
	k.negGamma.Neg(&vk.GammaG2)
	k.negDelta.Neg(&vk.DeltaG2)
	return k, nil
}

// Inputs is the number of public inputs of a proof, the constant one left out.
func (k *PreparedKey) Inputs() int { return len(k.ic) - 1 }

// Verify checks one proof against a key that is used once; see
// [PreparedKey.Verify].
func Verify(vk *srs.VerifyingKey, inputs []fr.Element, proof *Proof) error {
	k, err := Prepare(vk)
	if err != nil {
		return err
	}
	return k.Verify(inputs, proof)
}

// VerifyBatch checks proofs against a key that is used once; see
// [PreparedKey.VerifyBatch].
func VerifyBatch(vk *srs.VerifyingKey, inputs [][]fr.Element, proofs []Proof, rnd io.Reader) error {
	k, err := Prepare(vk)
	if err != nil {
		return err
	}
	return k.VerifyBatch(inputs, proofs, rnd)
}

// Verify returns nil iff the proof is valid for the inputs (the constant one
// left out):
//
//	e(A, B) · e(acc, −gamma) · e(C, −delta) = e(alpha, beta)
//
// with acc = ic_0 + Σ x_i·ic_i. The proof's points must be in their subgroups, as
// [DecodeProof] makes sure. Errors wrap [ErrInvalidProof] or [ErrInputCount].
func (k *PreparedKey) Verify(inputs []fr.Element, proof *Proof) error {
	if len(inputs) != k.Inputs() {
		return k.countError(0, len(inputs))
	}
	if err := finite(proof, 0); err != nil {
		return err
	}
	var one fr.Element
	one.SetOne()
	acc, err := k.accumulate(one, inputs)
	if err != nil {
		return err
	}
	return k.equal([]bls12381.G1Affine{proof.A}, []bls12381.G2Affine{proof.B}, acc, proof.C, &k.alphaBeta)
}

// VerifyBatch returns nil iff every proof is valid for its inputs, up to an error
// of probability 2^-128. One proof is checked by itself; of several, random
// multiples are added up (bellperson verify_proofs_batch):
//
//	Π e(z_j·A_j, B_j) · e(Σ z_j·acc_j, −gamma) · e(Σ z_j·C_j, −delta) = e(alpha, beta)^Σ z_j
//
// with z_j of 128 bits from rnd. If the sum fails, proofs are checked one by one
// so that the error names the first bad partition.
func (k *PreparedKey) VerifyBatch(inputs [][]fr.Element, proofs []Proof, rnd io.Reader) error {
	if err := k.checkBatch(inputs, proofs); err != nil {
		return err
	}
	if len(proofs) == 1 {
		return k.Verify(inputs[0], &proofs[0])
	}
	z, err := weights(len(proofs), rnd)
	if err != nil {
		return err
	}
	if err := k.verifySum(inputs, proofs, z); err != nil {
		return k.blame(inputs, proofs, err)
	}
	return nil
}

// checkBatch refuses batches that are not well formed.
func (k *PreparedKey) checkBatch(inputs [][]fr.Element, proofs []Proof) error {
	if len(proofs) == 0 {
		return fmt.Errorf("%w: no proof to verify", ErrProofLength)
	}
	if len(inputs) != len(proofs) {
		return fmt.Errorf("%w: inputs for %d partitions, proofs for %d", ErrInputCount, len(inputs), len(proofs))
	}
	for j := range proofs {
		if len(inputs[j]) != k.Inputs() {
			return k.countError(j, len(inputs[j]))
		}
		if err := finite(&proofs[j], j); err != nil {
			return err
		}
	}
	return nil
}

func (k *PreparedKey) countError(partition, n int) error {
	return fmt.Errorf("%w: partition %d has %d, the key takes %d", ErrInputCount, partition, n, k.Inputs())
}

// finite refuses points at infinity, which a pairing would let pass as one.
func finite(p *Proof, partition int) error {
	switch {
	case p.A.IsInfinity():
		return &PointError{partition, "A", errInfinity}
	case p.B.IsInfinity():
		return &PointError{partition, "B", errInfinity}
	case p.C.IsInfinity():
		return &PointError{partition, "C", errInfinity}
	}
	return nil
}

// weights draws n integers of 128 bits.
func weights(n int, rnd io.Reader) ([]fr.Element, error) {
	buf := make([]byte, 16*n)
	if _, err := io.ReadFull(rnd, buf); err != nil {
		return nil, fmt.Errorf("draw randomness for batch verification: %w", err)
	}
	z := make([]fr.Element, n)
	var b [fr.Bytes]byte
	for j := range z {
		binary.BigEndian.PutUint64(b[16:], binary.BigEndian.Uint64(buf[16*j:]))
		binary.BigEndian.PutUint64(b[24:], binary.BigEndian.Uint64(buf[16*j+8:]))
		z[j].SetBytes(b[:])
	}
	return z, nil
}

// verifySum is the weighted equation of VerifyBatch.
func (k *PreparedKey) verifySum(inputs [][]fr.Element, proofs []Proof, z []fr.Element) error {
	var sum, t fr.Element
	x := make([]fr.Element, k.Inputs())
	a := make([]bls12381.G1Affine, len(proofs))
	b := make([]bls12381.G2Affine, len(proofs))
	c := make([]bls12381.G1Affine, len(proofs))
	for j := range proofs {
		sum.Add(&sum, &z[j])
		for i := range x {
			x[i].Add(&x[i], t.Mul(&z[j], &inputs[j][i]))
		}
		a[j].ScalarMultiplication(&proofs[j].A, z[j].BigInt(new(big.Int)))
		b[j], c[j] = proofs[j].B, proofs[j].C
	}
	acc, err := k.accumulate(sum, x)
	if err != nil {
		return err
	}
	cz, err := combine(c, z)
	if err != nil {
		return err
	}
	var want bls12381.GT
	want.Exp(k.alphaBeta, sum.BigInt(new(big.Int)))
	return k.equal(a, b, acc, cz, &want)
}

// accumulate is first·ic_0 + Σ x_i·ic_{i+1}.
func (k *PreparedKey) accumulate(first fr.Element, x []fr.Element) (bls12381.G1Affine, error) {
	scalars := make([]fr.Element, 0, len(k.ic))
	return combine(k.ic, append(append(scalars, first), x...))
}

// combine is Σ s_i·p_i.
func combine(p []bls12381.G1Affine, s []fr.Element) (bls12381.G1Affine, error) {
	var sum bls12381.G1Affine
	if _, err := sum.MultiExp(p, s, ecc.MultiExpConfig{}); err != nil {
		return sum, fmt.Errorf("sum %d points: %w", len(p), err)
	}
	return sum, nil
}

// equal tests Π e(a_j, b_j) · e(acc, −gamma) · e(c, −delta) = want.
func (k *PreparedKey) equal(a []bls12381.G1Affine, b []bls12381.G2Affine, acc, c bls12381.G1Affine, want *bls12381.GT) error {
	got, err := bls12381.Pair(append(a, acc, c), append(b, k.negGamma, k.negDelta))
	if err != nil {
		return fmt.Errorf("pairing: %w", err)
	}
	if !got.Equal(want) {
		return fmt.Errorf("%w: the pairing equation does not hold for these public inputs and this key", ErrInvalidProof)
	}
	return nil
}

// blame finds the first partition whose proof fails by itself.
func (k *PreparedKey) blame(inputs [][]fr.Element, proofs []Proof, sum error) error {
	for j := range proofs {
		if err := k.Verify(inputs[j], &proofs[j]); err != nil {
			return fmt.Errorf("partition %d of %d: %w", j, len(proofs), err)
		}
	}
	return fmt.Errorf("sum of %d proofs: %w", len(proofs), sum)
}
