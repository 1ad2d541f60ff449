//go:build !amd64 || purego

package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// laneParams is never made on this platform.
type laneParams struct{}

func newLaneParams(*Params) *laneParams { return nil }

func (*laneParams) permute(in, dst [][]fr.Element, out []fr.Element) {}
