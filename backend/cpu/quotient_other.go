//go:build !amd64 || purego

package cpu

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// quotientInLanes does nothing on this platform, and says so.
func quotientInLanes(context.Context, fr.Vector, fr.Vector, fr.Vector, func(float64)) (bool, error) {
	return false, nil
}
