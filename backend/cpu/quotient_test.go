package cpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend/conformance"
	"cuzk/internal/testutil"
)

func randomVector(seed uint64, n int) fr.Vector {
	rng := rand.New(rand.NewPCG(seed, 5))
	v := make(fr.Vector, n)
	for i := range v {
		for j := range v[i] {
			v[i][j] = rng.Uint64()
		}
		v[i][3] >>= 2 // below the modulus, and Montgomery form of something
	}
	return v
}

func TestQuotientAgreesWithSchoolbookDivision(t *testing.T) {
	for logM := range 9 {
		m := 1 << logM
		minusOne := fr.One()
		minusOne.Neg(&minusOne)
		constant := make(fr.Vector, m)
		for i := range constant {
			constant[i] = minusOne
		}
		for name, v := range map[string][2]fr.Vector{
			"random":     {randomVector(1, m), randomVector(2, m)},
			"zero":       {make(fr.Vector, m), randomVector(3, m)},
			"minus ones": {constant, constant},
		} {
			a, b := append(fr.Vector{}, v[0]...), append(fr.Vector{}, v[1]...)
			c := make(fr.Vector, m)
			for i := range c {
				c[i].Mul(&a[i], &b[i])
			}
			want, err := conformance.Quotient(a, b, c)
			if err != nil {
				t.Fatal(err)
			}
			plain := make(fr.Vector, m)
			if err := plainQuotient(context.Background(), append(fr.Vector{}, a...), append(fr.Vector{}, b...), plain, func(float64) {}); err != nil {
				t.Fatal(err)
			}
			if err := quotient(context.Background(), a, b, c, func(float64) {}); err != nil {
				t.Fatal(err)
			}
			if !c[m-1].IsZero() {
				t.Errorf("%s, 2^%d: the last coefficient is %s", name, logM, c[m-1].String())
			}
			for i := range want {
				if c[i] != want[i] || plain[i] != want[i] {
					t.Fatalf("%s, 2^%d: coefficient %d is %s, want %s", name, logM, i, c[i].String(), want[i].String())
				}
			}
		}
	}
}

// TestQuotientDivides evaluates H·(xᵐ - 1) + C = A·B at one point for a domain
// where blocks of scale and all cores take part.
func TestQuotientDivides(t *testing.T) {
	const m = 1 << 13
	a, b, c := randomVector(4, m), randomVector(5, m), make(fr.Vector, m)
	for i := range c {
		c[i].Mul(&a[i], &b[i])
	}
	x := fr.NewElement(123456789)
	at := func(values fr.Vector) fr.Element { return barycentric(values, x) }
	va, vb, vc := at(a), at(b), at(c)
	if err := quotient(context.Background(), a, b, c, func(float64) {}); err != nil {
		t.Fatal(err)
	}
	var h, xm fr.Element
	xm.SetOne()
	for i := m - 1; i >= 0; i-- {
		h.Mul(&h, &x)
		h.Add(&h, &c[i])
		xm.Mul(&xm, &x)
	}
	one := fr.One()
	h.Mul(&h, xm.Sub(&xm, &one))
	h.Add(&h, &vc)
	if va.Mul(&va, &vb); va != h {
		t.Error("H·(xᵐ - 1) + C is not A·B")
	}
}

// barycentric evaluates at x the polynomial through values on the domain.
func barycentric(values fr.Vector, x fr.Element) (sum fr.Element) {
	omega, err := fr.Generator(uint64(len(values)))
	if err != nil {
		panic(err)
	}
	power, xm := fr.One(), fr.One()
	for i := range values {
		var t fr.Element
		t.Sub(&x, &power)
		t.Div(&power, &t)
		sum.Add(&sum, t.Mul(&t, &values[i]))
		power.Mul(&power, &omega)
		xm.Mul(&xm, &x)
	}
	var size fr.Element
	size.SetUint64(uint64(len(values)))
	one := fr.One()
	sum.Mul(&sum, xm.Sub(&xm, &one))
	return *sum.Div(&sum, &size)
}

func TestQuotientStopsWhenCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	steps := 0
	err := quotient(ctx, make(fr.Vector, 64), make(fr.Vector, 64), make(fr.Vector, 64), func(float64) {
		steps++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || steps != 1 {
		t.Errorf("%d steps after cancelling in the first, error %v", steps, err)
	}
}

func BenchmarkQuotient(b *testing.B) {
	for _, logM := range []int{17, 20} {
		for name, f := range map[string]func(context.Context, fr.Vector, fr.Vector, fr.Vector, func(float64)) error{"own": quotient, "gnark-crypto": plainQuotient} {
			b.Run(fmt.Sprintf("2^%d/%s", logM, name), func(b *testing.B) {
				m := 1 << logM
				x, y, z := randomVector(6, m), randomVector(7, m), make(fr.Vector, m)
				testutil.CPUTime(b, m, func() {
					if err := f(context.Background(), x, y, z, func(float64) {}); err != nil {
						b.Fatal(err)
					}
				})
			})
		}
	}
}
