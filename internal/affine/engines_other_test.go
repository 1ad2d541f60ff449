//go:build !amd64 || purego

package affine

import "github.com/consensys/gnark-crypto/ecc/bls12-381"

func lane(map[string]Engine[bls12381.G1Affine], map[string]Engine[bls12381.G2Affine]) {}
