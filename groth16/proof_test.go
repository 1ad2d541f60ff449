package groth16

import (
	"bytes"
	"errors"
	"math/big"
	"slices"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// xOfG1 is a compressed x with or without a y; with one, the point is outside the
// subgroup, as nearly all of the curve is.
func xOfG1(t *testing.T, onCurve bool) []byte {
	t.Helper()
	for n := uint64(1); n < 1000; n++ {
		var x, y2, four fp.Element
		x.SetUint64(n)
		y2.Square(&x).Mul(&y2, &x).Add(&y2, four.SetUint64(4))
		if (y2.Legendre() == 1) == onCurve {
			b := x.Bytes()
			b[0] |= flagCompressed
			return b[:]
		}
	}
	t.Fatal("no such x")
	return nil
}

// xOfG2 is xOfG1 for y^2 = x^3 + 4(1+i).
func xOfG2(t *testing.T, onCurve bool) []byte {
	t.Helper()
	for n := uint64(1); n < 1000; n++ {
		var x, y2, b bls12381.E2
		x.A0.SetUint64(n)
		b.A0.SetUint64(4)
		b.A1.SetUint64(4)
		y2.Square(&x).Mul(&y2, &x).Add(&y2, &b)
		if (y2.Legendre() == 1) == onCurve {
			c1, c0 := x.A1.Bytes(), x.A0.Bytes()
			c1[0] |= flagCompressed
			return append(c1[:], c0[:]...)
		}
	}
	t.Fatal("no such x")
	return nil
}

// plusModulus adds p to the 48-byte coordinate at the offset: the same residue
// in another encoding. It tells whether the sum fits beside the flags.
func plusModulus(b []byte, at int) bool {
	flags := b[at] & flagMask
	if at%g1Bytes != 0 {
		panic("not a coordinate")
	}
	c := slices.Clone(b[at : at+g1Bytes])
	c[0] &^= flagMask
	x := new(big.Int).SetBytes(c)
	x.Add(x, fp.Modulus())
	if x.BitLen() > 381 {
		return false
	}
	x.FillBytes(b[at : at+g1Bytes])
	b[at] |= flags
	return true
}

// TestBadPointsNamed replaces each point of a valid proof by each kind of bad
// one and expects the point and the reason in the error.
func TestBadPointsNamed(t *testing.T) {
	good := referenceVectors(t)[0].proof[:ProofBytes]
	modulus := fp.Modulus().FillBytes(make([]byte, fp.Bytes))
	modulus[0] |= flagCompressed
	infinity1, infinity2 := make([]byte, g1Bytes), make([]byte, g2Bytes)
	infinity1[0], infinity2[0] = flagCompressed|flagInfinity, flagCompressed|flagInfinity
	dirty1 := slices.Clone(infinity1)
	dirty1[7] = 1
	c0TooBig := append(slices.Clone(good[g1Bytes:2*g1Bytes]), fp.Modulus().FillBytes(make([]byte, fp.Bytes))...)
	for _, c := range []struct {
		name   string
		g1, g2 []byte
		want   error
	}{
		{"zeros", make([]byte, g1Bytes), make([]byte, g2Bytes), errUncompressed},
		{"infinity", infinity1, infinity2, errInfinity},
		{"infinity that is not zero", dirty1, nil, errInfinity},
		{"infinity with a sign", append([]byte{0xe0}, infinity1[1:]...), append([]byte{0xe0}, infinity2[1:]...), errInfinity},
		{"x = p", modulus, append(slices.Clone(modulus), make([]byte, fp.Bytes)...), errRange},
		{"x of ones", bytes.Repeat([]byte{0xbf}, g1Bytes), bytes.Repeat([]byte{0xbf}, g2Bytes), errRange},
		{"c0 = p", nil, c0TooBig, errRange},
		{"off the curve", xOfG1(t, false), xOfG2(t, false), errCurve},
		{"outside the subgroup", xOfG1(t, true), xOfG2(t, true), errSubgroup},
	} {
		for _, p := range []struct {
			name string
			at   int
			bad  []byte
		}{{"A", 0, c.g1}, {"B", g1Bytes, c.g2}, {"C", g1Bytes + g2Bytes, c.g1}} {
			if p.bad == nil {
				continue
			}
			b := slices.Clone(good)
			copy(b[p.at:], p.bad)
			_, err := DecodeProofs(append(slices.Clone(good), b...))
			var e *PointError
			if !errors.As(err, &e) || e.Point != p.name || e.Partition != 1 || !errors.Is(err, c.want) || !errors.Is(err, ErrInvalidProof) {
				t.Errorf("%s as %s: %v", p.name, c.name, err)
			}
		}
	}
}

// TestOtherEncodingsRefused adds the modulus to coordinates of real proofs.
func TestOtherEncodingsRefused(t *testing.T) {
	tried := 0
	for _, v := range allVectors(t) {
		for at := 0; at < ProofBytes; at += g1Bytes {
			b := slices.Clone(v.proof[:ProofBytes])
			if !plusModulus(b, at) {
				continue
			}
			tried++
			if _, err := DecodeProof(b); !errors.Is(err, errRange) {
				t.Errorf("%s, coordinate at %d plus p: %v", v.name, at, err)
			}
		}
	}
	if tried == 0 {
		t.Error("no coordinate was small enough to try")
	}
}

func TestProofLengths(t *testing.T) {
	good := referenceVectors(t)[0].proof[:ProofBytes]
	for n := range 2*ProofBytes + 2 {
		b := append(slices.Clone(good), good...)
		b = append(b, 0)[:n]
		_, err := DecodeProofs(b)
		if whole := n > 0 && n%ProofBytes == 0; (err == nil) != whole || (!whole && !errors.Is(err, ErrProofLength)) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if _, err := DecodeProof(b); (err == nil) != (n == ProofBytes) {
			t.Errorf("%d bytes as one proof: %v", n, err)
		}
	}
}

// TestMoreFieldProofsDecode reads ten proofs whose inputs are unknown.
func TestMoreFieldProofsDecode(t *testing.T) {
	var f struct {
		Proofs map[string]string `json:"proofs_by_height"`
	}
	readJSON(t, "field/eiger-2k-porep-key2-proofs.json", &f)
	if len(f.Proofs) != 10 {
		t.Errorf("%d proofs, the file's note says ten", len(f.Proofs))
	}
	for h, p := range f.Proofs {
		b := unhex(t, p)
		got, err := DecodeProof(b)
		if err != nil {
			t.Errorf("height %s: %v", h, err)
		} else if !bytes.Equal(got.Encode(), b) {
			t.Errorf("height %s: encoding differs", h)
		}
	}
}

// FuzzDecodeProofs: no panic, and what is accepted has one encoding.
func FuzzDecodeProofs(f *testing.F) {
	for _, v := range allVectors(f) {
		f.Add(v.proof)
		f.Add(v.proof[:len(v.proof)-1])
	}
	f.Add([]byte{})
	f.Add(make([]byte, ProofBytes))
	f.Fuzz(func(t *testing.T, b []byte) {
		proofs, err := DecodeProofs(b)
		if err != nil {
			if !errors.Is(err, ErrInvalidProof) && !errors.Is(err, ErrProofLength) {
				t.Errorf("error of no class: %v", err)
			}
			return
		}
		if !bytes.Equal(EncodeProofs(proofs), b) {
			t.Errorf("%x decodes and encodes to %x", b, EncodeProofs(proofs))
		}
	})
}
