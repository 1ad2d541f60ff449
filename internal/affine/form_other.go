//go:build !amd64 || purego

package affine

import "github.com/consensys/gnark-crypto/ecc/bls12-381"

func newEngineG1() Engine[bls12381.G1Affine] { return plainEngineG1() }

func newEngineG2() Engine[bls12381.G2Affine] { return plainEngineG2() }
