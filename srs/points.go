package srs

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Sizes of the pieces of a key file in bytes.
const (
	countSize = 4            // a list's length
	g1Size    = 2 * fp.Bytes // 96
	g2Size    = 4 * fp.Bytes // 192
	// vkHeader is the verifying key up to and including the length of ic.
	vkHeader = 3*g1Size + 3*g2Size + countSize
)

// Flags in the top bits of a point's first byte.
const (
	flagMask       = 0xe0
	flagCompressed = 0x80
	flagInfinity   = 0x40
)

var (
	errCompressed = errors.New("compressed point where an uncompressed one belongs")
	errInfinity   = errors.New("point at infinity")
	errSign       = errors.New("sign flag on an uncompressed point")
	errRange      = errors.New("coordinate is not below the field modulus")
	errCurve      = errors.New("point is not on the curve")
	errSubgroup   = errors.New("point is not in the prime-order subgroup")
)

// flagError explains a first byte with a flag set; uncompressed finite points
// have none.
func flagError(b byte) error {
	switch {
	case b&flagCompressed != 0:
		return errCompressed
	case b&flagInfinity != 0:
		return errInfinity
	}
	return errSign
}

// decodeG1 reads 96 bytes. It checks form alone: flags and ranges. The pair 0, 0
// is refused because gnark-crypto keeps infinity that way.
func decodeG1(p *bls12381.G1Affine, b []byte) error {
	_ = b[g1Size-1]
	if b[0]&flagMask != 0 {
		return flagError(b[0])
	}
	var err error
	if p.X, err = fp.BigEndian.Element((*[fp.Bytes]byte)(b)); err != nil {
		return errRange
	}
	if p.Y, err = fp.BigEndian.Element((*[fp.Bytes]byte)(b[fp.Bytes:])); err != nil {
		return errRange
	}
	if p.IsInfinity() {
		return errInfinity
	}
	return nil
}

// decodeG2 reads 192 bytes, with the checks of decodeG1.
func decodeG2(p *bls12381.G2Affine, b []byte) error {
	_ = b[g2Size-1]
	if b[0]&flagMask != 0 {
		return flagError(b[0])
	}
	for i, c := range []*fp.Element{&p.X.A1, &p.X.A0, &p.Y.A1, &p.Y.A0} {
		x, err := fp.BigEndian.Element((*[fp.Bytes]byte)(b[i*fp.Bytes:]))
		if err != nil {
			return errRange
		}
		*c = x
	}
	if p.IsInfinity() {
		return errInfinity
	}
	return nil
}

// checkG1 is decodeG1 with the curve and the subgroup.
func checkG1(p *bls12381.G1Affine, b []byte) error {
	if err := decodeG1(p, b); err != nil {
		return err
	}
	if !p.IsOnCurve() {
		return errCurve
	}
	if !p.IsInSubGroup() {
		return errSubgroup
	}
	return nil
}

// checkG2 is decodeG2 with the curve and the subgroup.
func checkG2(p *bls12381.G2Affine, b []byte) error {
	if err := decodeG2(p, b); err != nil {
		return err
	}
	if !p.IsOnCurve() {
		return errCurve
	}
	if !p.IsInSubGroup() {
		return errSubgroup
	}
	return nil
}

// OnCurveG1 names the first point that is not on the curve, by its position.
func OnCurveG1(points []bls12381.G1Affine) error {
	for i := range points {
		if !points[i].IsOnCurve() {
			return fmt.Errorf("%w: point %d: %w", ErrCorrupt, i, errCurve)
		}
	}
	return nil
}

// OnCurveG2 names the first point that is not on the curve, by its position.
func OnCurveG2(points []bls12381.G2Affine) error {
	for i := range points {
		if !points[i].IsOnCurve() {
			return fmt.Errorf("%w: point %d: %w", ErrCorrupt, i, errCurve)
		}
	}
	return nil
}
