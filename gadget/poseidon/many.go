package poseidon

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Lanes is the number of permutations that WitnessMany and HashMany run side by
// side where the processor can (AVX-512 IFMA): work comes best in multiples.
const Lanes = 8

// WitnessMany is Witness for several inputs: dst[i] receives the values for
// in[i], and its last element is the digest. No dst may overlap another or an
// input. Inputs of one call do not depend on each other.
func (p *Params) WitnessMany(dst, in [][]fr.Element) {
	if len(dst) != len(in) {
		panic(fmt.Sprintf("poseidon: %d witnesses for %d inputs", len(dst), len(in)))
	}
	for i := range in {
		p.mustFit(in[i])
		p.mustHold(dst[i])
	}
	for len(in) > 1 && p.lanes != nil {
		n := min(Lanes, len(in))
		p.lanes.permute(in[:n], dst[:n], nil)
		dst, in = dst[n:], in[n:]
	}
	for i := range in {
		p.Witness(dst[i], in[i])
	}
}

// HashMany is Hash for several inputs: out[i] is the digest of in[i]. out may
// be part of later inputs, not of those of this call.
func (p *Params) HashMany(out []fr.Element, in [][]fr.Element) {
	if len(out) != len(in) {
		panic(fmt.Sprintf("poseidon: %d digests for %d inputs", len(out), len(in)))
	}
	for i := range in {
		p.mustFit(in[i])
	}
	for len(in) > 1 && p.lanes != nil {
		n := min(Lanes, len(in))
		p.lanes.permute(in[:n], nil, out[:n])
		out, in = out[n:], in[n:]
	}
	for i := range in {
		out[i] = p.Hash(in[i])
	}
}

func (p *Params) mustFit(in []fr.Element) {
	if len(in) != p.Arity {
		panic(fmt.Sprintf("poseidon: %d inputs for arity %d", len(in), p.Arity))
	}
}

func (p *Params) mustHold(dst []fr.Element) {
	if len(dst) != p.WitnessLen() {
		panic(fmt.Sprintf("poseidon: the witness of arity %d has %d elements, not %d", p.Arity, p.WitnessLen(), len(dst)))
	}
}
