//go:build !purego

package cpu

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/ntt"
)

// quotientInLanes does what quotient does if the processor can do it eight
// elements at a time and the domain is large enough, and tells whether it did.
func quotientInLanes(ctx context.Context, a, b, c fr.Vector, report func(float64)) (bool, error) {
	if !ntt.Available || len(a) < 1<<ntt.MinLog {
		return false, nil
	}
	return true, ntt.Quotient(ctx, a, b, c, cores(), report)
}
