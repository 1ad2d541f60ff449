package groth16

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// ProofBytes is the size of an encoded proof: A 48, B 96, C 48.
const ProofBytes = 192

const (
	g1Bytes = fp.Bytes     // a compressed point of G1
	g2Bytes = 2 * fp.Bytes // a compressed point of G2
)

// Proof is one partition's proof.
type Proof struct {
	A bls12381.G1Affine
	B bls12381.G2Affine
	C bls12381.G1Affine
}

// Errors that callers tell apart.
var (
	// ErrInvalidProof: the proof does not prove the statement.
	ErrInvalidProof = errors.New("invalid proof")
	// ErrProofLength: the bytes are not a whole number of proofs, at least one.
	ErrProofLength = errors.New("wrong proof length")
	// ErrInputCount: the number of public inputs is not the key's.
	ErrInputCount = errors.New("wrong number of public inputs")
)

// Reasons for which a point is refused.
var (
	errUncompressed = errors.New("not a compressed point")
	errInfinity     = errors.New("point at infinity")
	errRange        = errors.New("x is not below the field modulus")
	errCurve        = errors.New("no point of the curve has this x")
	errSubgroup     = errors.New("point is not in the prime-order subgroup")
)

// PointError says which point of which partition's proof is refused, and why. It
// wraps [ErrInvalidProof].
type PointError struct {
	Partition int    // from 0
	Point     string // A, B or C
	Reason    error
}

func (e *PointError) Error() string {
	return fmt.Sprintf("%v: partition %d, point %s: %v", ErrInvalidProof, e.Partition, e.Point, e.Reason)
}

// Unwrap gives the class and the reason.
func (e *PointError) Unwrap() []error { return []error{ErrInvalidProof, e.Reason} }

// Encode writes the proof in 192 bytes: compressed points in the usual BLS12-381
// form, big-endian, x.c1 before x.c0 in G2.
func (p *Proof) Encode() []byte {
	a, b, c := p.A.Bytes(), p.B.Bytes(), p.C.Bytes()
	out := make([]byte, 0, ProofBytes)
	return append(append(append(out, a[:]...), b[:]...), c[:]...)
}

// EncodeProofs concatenates the proofs of all partitions in their order.
func EncodeProofs(proofs []Proof) []byte {
	out := make([]byte, 0, ProofBytes*len(proofs))
	for i := range proofs {
		out = append(out, proofs[i].Encode()...)
	}
	return out
}

// DecodeProof reads exactly one proof of 192 bytes. Each point must be
// compressed, canonical, on the curve, in the subgroup and finite.
func DecodeProof(b []byte) (*Proof, error) {
	if len(b) != ProofBytes {
		return nil, fmt.Errorf("%w: %d bytes, one proof has %d", ErrProofLength, len(b), ProofBytes)
	}
	return decodeProof(b, 0)
}

// DecodeProofs reads the proofs of all partitions, 192 bytes each.
func DecodeProofs(b []byte) ([]Proof, error) {
	if len(b) == 0 || len(b)%ProofBytes != 0 {
		return nil, fmt.Errorf("%w: %d bytes are not one or more proofs of %d", ErrProofLength, len(b), ProofBytes)
	}
	out := make([]Proof, len(b)/ProofBytes)
	for i := range out {
		p, err := decodeProof(b[i*ProofBytes:(i+1)*ProofBytes], i)
		if err != nil {
			return nil, err
		}
		out[i] = *p
	}
	return out, nil
}

func decodeProof(b []byte, partition int) (*Proof, error) {
	p := &Proof{}
	if err := decodeG1(&p.A, b[:g1Bytes]); err != nil {
		return nil, &PointError{partition, "A", err}
	}
	if err := decodeG2(&p.B, b[g1Bytes:g1Bytes+g2Bytes]); err != nil {
		return nil, &PointError{partition, "B", err}
	}
	if err := decodeG1(&p.C, b[g1Bytes+g2Bytes:]); err != nil {
		return nil, &PointError{partition, "C", err}
	}
	return p, nil
}

// Flags in the top bits of a point's first byte; the third is the sign of y.
const (
	flagMask       = 0xe0
	flagCompressed = 0x80
	flagInfinity   = 0x40
)

// checkFlags refuses what is not a finite compressed point.
func checkFlags(b byte) error {
	if b&flagCompressed == 0 {
		return errUncompressed
	}
	if b&flagInfinity != 0 {
		return errInfinity
	}
	return nil
}

// inField tells whether 48 big-endian bytes, flags cleared, are below p.
func inField(b []byte) bool {
	x := [fp.Bytes]byte(b)
	x[0] &^= flagMask
	_, err := fp.BigEndian.Element(&x)
	return err == nil
}

func decodeG1(p *bls12381.G1Affine, b []byte) error {
	if err := checkFlags(b[0]); err != nil {
		return err
	}
	if !inField(b) {
		return errRange
	}
	// What is left for SetBytes to find is an x without a y, or the subgroup;
	// it sets y only if there is one.
	*p = bls12381.G1Affine{}
	if _, err := p.SetBytes(b); err != nil {
		if p.Y.IsZero() {
			return errCurve
		}
		return errSubgroup
	}
	return nil
}

func decodeG2(p *bls12381.G2Affine, b []byte) error {
	if err := checkFlags(b[0]); err != nil {
		return err
	}
	// Only the first coordinate carries flags; the second must be below p as it
	// stands.
	_, err := fp.BigEndian.Element((*[fp.Bytes]byte)(b[fp.Bytes:]))
	if err != nil || !inField(b[:fp.Bytes]) {
		return errRange
	}
	*p = bls12381.G2Affine{}
	if _, err := p.SetBytes(b); err != nil {
		if p.Y.IsZero() {
			return errCurve
		}
		return errSubgroup
	}
	return nil
}
