package values

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// shapes are rows and domains with few and many parts, full and not.
var shapes = []struct{ rows, logN, parts int }{
	{5, 3, 1}, {6, 3, 2}, {7, 3, 2}, {8, 3, 3}, {9, 4, 1}, {12, 4, 3}, {13, 4, 2}, {38, 6, 3}, {42, 6, 3}, {2500, 12, 5}, {4033, 12, 6}, {9233, 14, 3}, {24577, 15, 2},
}

func random(t *testing.T, n int) []fr.Element {
	t.Helper()
	out := make([]fr.Element, n)
	for i := range out {
		if _, err := out[i].SetRandom(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// quotientAt is (A·B - C)/Z at tau times Z/delta, by Lagrange's formula.
func quotientAt(t *testing.T, a, b []fr.Element, tau, delta fr.Element) fr.Element {
	t.Helper()
	n := uint64(len(a))
	omega, err := fr.Generator(n)
	if err != nil {
		t.Fatal(err)
	}
	var sums [3]fr.Element
	x := fr.One()
	for j := range a {
		var l, v fr.Element
		l.Sub(&tau, &x).Inverse(&l).Mul(&l, &x)
		sums[0].Add(&sums[0], v.Mul(&a[j], &l))
		sums[1].Add(&sums[1], v.Mul(&b[j], &l))
		sums[2].Add(&sums[2], v.Mul(&a[j], &b[j]).Mul(&v, &l))
		x.Mul(&x, &omega)
	}
	var scale fr.Element
	one := fr.One()
	scale.Exp(tau, new(big.Int).SetUint64(n))
	scale.Sub(&scale, &one)
	scale.Div(&scale, new(fr.Element).SetUint64(n))
	for i := range sums {
		sums[i].Mul(&sums[i], &scale)
	}
	sums[0].Mul(&sums[0], &sums[1]).Sub(&sums[0], &sums[2])
	return *sums[0].Div(&sums[0], &delta)
}

func TestSums(t *testing.T) {
	for _, c := range shapes {
		t.Run(fmt.Sprintf("%d of 2^%d", c.rows, c.logN), func(t *testing.T) {
			f, err := New(c.rows, c.logN)
			if err != nil {
				t.Fatal(err)
			}
			if len(f.Parts) != c.parts || f.Rows() < c.rows {
				t.Fatalf("parts %v for %d rows", f.Parts, c.rows)
			}
			secrets := random(t, 2)
			k, m, err := f.Exponents(secrets[0], secrets[1])
			if err != nil {
				t.Fatal(err)
			}
			a, b := f.padded(random(t, f.Rows())), f.padded(random(t, f.Rows()))
			want := quotientAt(t, a, b, secrets[0], secrets[1])
			var got, v fr.Element
			for i := range m {
				got.Add(&got, v.Mul(&a[i], &b[i]).Mul(&v, &m[i]))
			}
			for s, p := range f.Products(a, b) {
				got.Add(&got, v.Mul(&p, &k[s]))
			}
			if !got.Equal(&want) {
				t.Fatal("the sum over values is not the quotient")
			}
		})
	}
}

func TestFromPowers(t *testing.T) {
	for _, c := range shapes {
		f, err := New(c.rows, c.logN)
		if err != nil {
			t.Fatal(err)
		}
		secrets := random(t, 2)
		k, m, err := f.Exponents(secrets[0], secrets[1])
		if err != nil {
			t.Fatal(err)
		}
		h := make([]fr.Element, f.N()-1)
		one := fr.One()
		h[0].Exp(secrets[0], big.NewInt(int64(f.N())))
		h[0].Sub(&h[0], &one).Div(&h[0], &secrets[1])
		for i := 1; i < len(h); i++ {
			h[i].Mul(&h[i-1], &secrets[0])
		}
		gotK, gotM := f.FromPowers(h)
		for s := range k {
			if !k[s].Equal(&gotK[s]) {
				t.Fatalf("%v: K_%d differs", c, s)
			}
		}
		for i := range m {
			if !m[i].Equal(&gotM[i]) {
				t.Fatalf("%v: M_%d differs", c, i)
			}
		}
	}
}

// TestZ2 multiplies the roots out.
func TestZ2(t *testing.T) {
	f, err := New(42, 6)
	if err != nil {
		t.Fatal(err)
	}
	want := []fr.Element{fr.One()}
	for u := f.Rows(); u < f.N(); u++ {
		var root, v fr.Element
		root.Exp(f.omega, big.NewInt(int64(u)))
		next := make([]fr.Element, len(want)+1)
		for i := range want {
			next[i+1].Add(&next[i+1], &want[i])
			next[i].Sub(&next[i], v.Mul(&root, &want[i]))
		}
		want = next
	}
	for i, x := range f.Z2() {
		if !x.Equal(&want[i]) {
			t.Fatalf("coefficient %d of Z2 differs", i)
		}
	}
}

func TestPoints(t *testing.T) {
	for _, c := range shapes {
		f, err := New(c.rows, c.logN)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int]bool{}
		for s := range f.Points() {
			if j := f.Index(s); j < 0 || j >= f.N() || seen[j] {
				t.Fatalf("%v: point %d is at %d", c, s, j)
			}
			seen[f.Index(s)] = true
		}
		// Z_S from its factors vanishes on S and nowhere else on the coset.
		v := f.padded(nil)
		v[0] = fr.One()
		for _, z := range f.Factors() {
			for d := len(v) - 1; d >= 0; d-- {
				var low fr.Element
				low.Mul(&v[d], &z.Level).Neg(&low)
				if d >= z.Degree {
					low.Add(&low, &v[d-z.Degree])
				}
				v[d] = low
			}
		}
		domain := fft.NewDomain(uint64(f.N()), fft.WithShift(f.g))
		domain.FFT(v, fft.DIF, fft.OnCoset())
		fft.BitReverse(v)
		for j := range v {
			if v[j].IsZero() != seen[j] {
				t.Fatalf("%v: Z_S at coset point %d", c, j)
			}
		}
	}
}

// TestFull is the choice for circuits of full size.
func TestFull(t *testing.T) {
	for _, c := range []struct {
		circuit             string
		rows, parts, points int
	}{{"update-32GiB", 81_049_504, 4, 81_788_928}, {"update-64GiB", 85_006_106, 4, 85_065_728}, {"porep-32GiB", 130_278_869, 6, 130_285_568}} {
		f, err := New(c.rows, 27)
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Parts) != c.parts || f.Points() != c.points {
			t.Errorf("%s: %d points in %d parts", c.circuit, f.Points(), len(f.Parts))
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct{ rows, logN int }{{4, 3}, {9, 3}, {3, 2}, {1, 20}, {1<<20 - 1, 20}} {
		if f, err := New(c.rows, c.logN); err == nil {
			t.Errorf("%d rows of 2^%d: %v", c.rows, c.logN, f.Parts)
		}
	}
}
