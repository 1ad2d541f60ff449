package poseidon

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/r1cs"
)

// TestGadgetDigest compares the matrix with the reference's (circuits.md G.1).
func TestGadgetDigest(t *testing.T) {
	for name, p := range map[string]*Params{"poseidon_2": ForArity(2), "poseidon_4": ForArity(4), "poseidon_8": ForArity(8),
		"poseidon_11": ForArity(11), "poseidon_2_custom1": Custom1()} {
		t.Run(name, func(t *testing.T) {
			gadgettest.Digest(t, name, func(s r1cs.System) { p.Call(s, gadgettest.Numbers(s, p.Arity)) })
		})
	}
}

func TestGadgetAgreesWithNative(t *testing.T) {
	for _, arity := range []int{2, 4, 8, 11} {
		t.Run(fmt.Sprint(arity), func(t *testing.T) {
			p := ForArity(arity)
			in := make([]fr.Element, arity)
			for i := range in {
				in[i] = gadgettest.Number(i)
			}
			gadgettest.SameWitness(t,
				func(s r1cs.System) []r1cs.Var { return gadgettest.Numbers(s, arity) },
				func(s r1cs.System, v []r1cs.Var) {
					if got, want := s.Value(p.Call(s, v)), p.Hash(in); got != want {
						t.Errorf("digest %s, native %s", got.String(), want.String())
					}
				},
				func(w *r1cs.Writer) { p.Witness(w.Reserve(p.WitnessLen()), in) })
		})
	}
}

func TestTamperedVariableFails(t *testing.T) {
	gadgettest.EveryVariableMatters(t, func(s r1cs.System) { ForArity(2).Call(s, gadgettest.Numbers(s, 2)) })
}
