package vanilla

import (
	"encoding/hex"
	"errors"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Domain is 32 bytes as callers send them: a commitment, a tree node or a piece
// of randomness. As a number it is little-endian.
type Domain [32]byte

var errNotCanonical = errors.New("not below the modulus of the scalar field")

// DomainFrom checks the length of b.
func DomainFrom(b []byte) (Domain, error) {
	if len(b) != len(Domain{}) {
		return Domain{}, Errorf("has %d bytes, want %d", len(b), len(Domain{}))
	}
	return Domain(b), nil
}

// Element is the domain as a field element; an error if it is not below the
// modulus.
func (d *Domain) Element() (fr.Element, error) {
	e, err := fr.LittleEndian.Element((*[32]byte)(d))
	if err != nil {
		return e, &Error{Err: errNotCanonical}
	}
	return e, nil
}

// DomainOf is the canonical encoding of an element.
func DomainOf(e *fr.Element) (d Domain) {
	fr.LittleEndian.PutElement((*[32]byte)(&d), *e)
	return d
}

// String is the hex of the bytes in order.
func (d Domain) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes the hex of the bytes in order.
func (d Domain) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (d *Domain) UnmarshalText(text []byte) error {
	if len(text) != 2*len(d) {
		return Errorf("has %d characters, want %d hex digits", len(text), 2*len(d))
	}
	if _, err := hex.Decode(d[:], text); err != nil {
		return Errorf("not hex: %w", err)
	}
	return nil
}
