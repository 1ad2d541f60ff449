//go:build !amd64 || purego

package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// dot is the inner product of x and y, at most maxDot long and as long as each
// other.
func dot(z *fr.Element, x, y []fr.Element) { dotGeneric(z, x, y) }
