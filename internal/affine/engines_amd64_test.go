//go:build !purego

package affine

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/internal/lanes"
)

// lane adds the form of the lanes where the processor has them.
func lane(forms1 map[string]Engine[bls12381.G1Affine], forms2 map[string]Engine[bls12381.G2Affine]) {
	if lanes.Available {
		forms1["lanes"], forms2["lanes"] = newEngineG1(), newEngineG2()
	}
}
