package job

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is the SHA-256 of a request's content in the form that
// [Request.WriteTo] gives it.
type Digest [sha256.Size]byte

// String is the digest in hex, 64 characters.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// IsZero tells whether the digest was never set.
func (d Digest) IsZero() bool { return d == Digest{} }

// ParseDigest reads what String writes.
func ParseDigest(s string) (Digest, error) {
	var d Digest
	if len(s) != hex.EncodedLen(len(d)) {
		return d, fmt.Errorf("digest %q: want %d hex digits", s, hex.EncodedLen(len(d)))
	}
	if _, err := hex.Decode(d[:], []byte(s)); err != nil {
		return Digest{}, fmt.Errorf("digest %q: %w", s, err)
	}
	return d, nil
}
