package poseidon

import (
	"strconv"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// batch makes n inputs, the first of which are extremes.
func batch(arity, n int) [][]fr.Element {
	var minusOne fr.Element
	minusOne.SetOne()
	minusOne.Neg(&minusOne)
	in := make([][]fr.Element, n)
	for i := range in {
		in[i] = inputs(arity, uint64(i))
		for j := range in[i] {
			switch i {
			case 1:
				in[i][j] = fr.Element{}
			case 2:
				in[i][j] = minusOne
			case 3:
				in[i][j] = fr.Element{r0 - 1, r1, r2, r3}
			}
		}
	}
	return in
}

func TestManyAgreeWithOne(t *testing.T) {
	for _, p := range allParams() {
		for n := range 2*Lanes + 2 {
			in := batch(p.Arity, n)
			dst := make([][]fr.Element, n)
			for i := range dst {
				dst[i] = make([]fr.Element, p.WitnessLen())
			}
			out := make([]fr.Element, n)
			p.WitnessMany(dst, in)
			p.HashMany(out, in)
			want := make([]fr.Element, p.WitnessLen())
			for i := range in {
				digest := p.Witness(want, in[i])
				if out[i] != digest {
					t.Fatalf("arity %d: digest %d of %d differs", p.Arity, i, n)
				}
				for j := range want {
					if dst[i][j] != want[j] {
						t.Fatalf("arity %d: value %d of witness %d of %d differs", p.Arity, j, i, n)
					}
				}
			}
		}
	}
}

func TestManyDoNotAllocate(t *testing.T) {
	p := ForArity(8)
	in := batch(8, Lanes)
	out, dst := make([]fr.Element, Lanes), make([][]fr.Element, Lanes)
	for i := range dst {
		dst[i] = make([]fr.Element, p.WitnessLen())
	}
	if n := testing.AllocsPerRun(5, func() { p.HashMany(out, in); p.WitnessMany(dst, in) }); n != 0 {
		t.Errorf("%v allocations a run", n)
	}
}

// Time is of one permutation.
func BenchmarkWitnessMany(b *testing.B) {
	for _, arity := range []int{2, 8, 11} {
		b.Run(strconv.Itoa(arity), func(b *testing.B) {
			p, in := ForArity(arity), batch(arity, Lanes)
			dst := make([][]fr.Element, Lanes)
			for i := range dst {
				dst[i] = make([]fr.Element, p.WitnessLen())
			}
			b.SetBytes(int64(fr.Bytes * p.WitnessLen()))
			for i := 0; i < b.N; i += Lanes {
				p.WitnessMany(dst, in)
			}
		})
	}
}
