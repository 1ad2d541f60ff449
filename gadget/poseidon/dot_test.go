package poseidon

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// dotNaive multiplies and adds one by one.
func dotNaive(x, y []fr.Element) (z fr.Element) {
	var p fr.Element
	for i := range x {
		p.Mul(&x[i], &y[i])
		z.Add(&z, &p)
	}
	return z
}

// The bounds of the lazy reduction are tightest when all factors are r−1 or
// all words are ones as far as the modulus lets them.
func dotCases(n int) map[string][2][]fr.Element {
	var minusOne, one fr.Element
	one.SetOne()
	minusOne.Neg(&one)
	top := fr.Element{0xffffffffffffffff, 0xffffffffffffffff, 0xffffffffffffffff, r3 - 1}
	greatest := fr.Element{r0 - 1, r1, r2, r3}
	fill := func(e fr.Element) []fr.Element {
		out := make([]fr.Element, n)
		for i := range out {
			out[i] = e
		}
		return out
	}
	return map[string][2][]fr.Element{
		"pseudo-random": {inputs(n, 1), inputs(n, 2)},
		"zero":          {fill(fr.Element{}), inputs(n, 2)},
		"minus one":     {fill(minusOne), fill(minusOne)},
		"greatest":      {fill(greatest), fill(greatest)},
		"top":           {fill(top), fill(top)},
		"one":           {fill(one), fill(greatest)},
	}
}

func TestDotAgreesWithNaive(t *testing.T) {
	for n := 0; n <= maxDot; n++ {
		for name, c := range dotCases(n) {
			want := dotNaive(c[0], c[1])
			var fast, generic fr.Element
			dot(&fast, c[0], c[1])
			dotGeneric(&generic, c[0], c[1])
			if fast != want || generic != want {
				t.Fatalf("length %d, %s: dot %v, generic %v, want %v", n, name, fast, generic, want)
			}
		}
	}
}

func BenchmarkDot18(b *testing.B) {
	x, y := inputs(18, 1), inputs(18, 2)
	for b.Loop() {
		dot(&x[0], x, y)
	}
}

func BenchmarkDotGeneric18(b *testing.B) {
	x, y := inputs(18, 1), inputs(18, 2)
	for b.Loop() {
		dotGeneric(&x[0], x, y)
	}
}
