package poseidon

import (
	"math/big"
	"strconv"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

var big5 = big.NewInt(5)

// walk follows the older circuit of neptune in the optimised form, one matrix
// after the other, and lists what it allocates.
type walk struct {
	p      *Params
	state  []fr.Element
	keys   []fr.Element
	values []fr.Element
}

func walkWitness(p *Params, in []fr.Element) []fr.Element {
	w := &walk{p: p, state: append([]fr.Element{p.Tag}, in...), keys: p.Keys[p.T:]}
	for i := range w.state {
		w.state[i].Add(&w.state[i], &p.Keys[i])
		w.box(i, i > 0, false)
	}
	w.state = matrix(p.M).row(w.state)
	for r := 1; r < half; r++ {
		w.full()
		if r == half-1 {
			w.state = matrix(p.PreSparse).row(w.state)
		} else {
			w.state = matrix(p.M).row(w.state)
		}
	}
	for _, s := range p.Sparse {
		w.box(0, true, true)
		w.sparse(s)
	}
	for range half {
		w.full()
		w.state = matrix(p.M).row(w.state)
	}
	return append(w.values, w.state[1])
}

func (w *walk) full() {
	for i := range w.state {
		w.box(i, true, true)
	}
}

// box raises element i to the fifth power and adds the next key, if any is
// left; kept says whether the powers are variables, input whether l is one.
func (w *walk) box(i int, kept, input bool) {
	var v [4]fr.Element
	v[0] = w.state[i]
	v[1].Mul(&v[0], &v[0])
	v[2].Mul(&v[1], &v[1])
	v[3].Exp(v[0], big5)
	if len(w.keys) > 0 {
		v[3].Add(&v[3], &w.keys[0])
		w.keys = w.keys[1:]
	}
	w.state[i] = v[3]
	if input {
		w.values = append(w.values, v[0])
	}
	if kept {
		w.values = append(w.values, v[1:]...)
	}
}

func (w *walk) sparse(s Sparse) {
	out := make([]fr.Element, len(w.state))
	var p fr.Element
	for i := range out {
		p.Mul(&w.state[i], &s.WHat[i])
		out[0].Add(&out[0], &p)
	}
	for j := 1; j < len(out); j++ {
		p.Mul(&w.state[0], &s.VRest[j-1])
		out[j].Add(&w.state[j], &p)
	}
	w.state = out
}

func TestWitnessAgreesWithWalk(t *testing.T) {
	for _, p := range allParams() {
		for seed := range uint64(3) {
			in := inputs(p.Arity, seed)
			want := walkWitness(p, in)
			if len(want) != p.WitnessLen() {
				t.Fatalf("arity %d: walk has %d values, WitnessLen says %d", p.Arity, len(want), p.WitnessLen())
			}
			got := make([]fr.Element, p.WitnessLen())
			digest := p.Witness(got, in)
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("arity %d, seed %d: value %d differs", p.Arity, seed, i)
				}
			}
			if digest != p.Hash(in) || digest != want[len(want)-1] {
				t.Errorf("arity %d, seed %d: digest of the witness differs from the hash", p.Arity, seed)
			}
		}
	}
}

func TestWitnessLenMatchesCircuit(t *testing.T) {
	for arity, want := range map[int]int{2: 311, 4: 377, 8: 505, 11: 598, 16: 761, 24: 1009, 36: 1385} {
		if got := ForArity(arity).WitnessLen(); got != want {
			t.Errorf("arity %d: %d variables, want %d", arity, got, want)
		}
	}
}

func BenchmarkWitness(b *testing.B) {
	for _, arity := range []int{2, 8, 11} {
		b.Run(strconv.Itoa(arity), func(b *testing.B) {
			p, in := ForArity(arity), inputs(arity, 1)
			dst := make([]fr.Element, p.WitnessLen())
			b.SetBytes(int64(fr.Bytes * len(dst)))
			for b.Loop() {
				in[0] = p.Witness(dst, in)
			}
		})
	}
}
