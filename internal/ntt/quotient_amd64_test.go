//go:build !purego

package ntt

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils"

	"cuzk/internal/offheap"
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

// schoolbook is H from its definition, by interpolation and long division: m²
// multiplications.
func schoolbook(a, b fr.Vector) fr.Vector {
	m := len(a)
	x, y := interpolate(a), interpolate(b)
	p := make(fr.Vector, 2*m)
	var t fr.Element
	for i := range x {
		for j := range y {
			p[i+j].Add(&p[i+j], t.Mul(&x[i], &y[j]))
		}
	}
	return p[m:] // of A·B - C, the part above X^m is H·X^m
}

// interpolate is the coefficients of the polynomial through values on the
// domain.
func interpolate(values fr.Vector) fr.Vector {
	m := len(values)
	omega, err := fr.Generator(uint64(m))
	if err != nil {
		panic(err)
	}
	omega.Inverse(&omega)
	var size, t fr.Element
	size.SetUint64(uint64(m))
	size.Inverse(&size)
	out := make(fr.Vector, m)
	step := fr.One()
	for k := range out {
		x := fr.One()
		for j := range values {
			out[k].Add(&out[k], t.Mul(&values[j], &x))
			x.Mul(&x, &step)
		}
		out[k].Mul(&out[k], &size)
		step.Mul(&step, &omega)
	}
	return out
}

func TestQuotientAgreesWithDefinition(t *testing.T) {
	needLanes(t)
	for _, c := range []struct{ log, levels int }{{6, 11}, {7, 11}, {8, 11}, {9, 3}, {9, 4}, {10, 11}} {
		m := 1 << c.log
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
			want := schoolbook(v[0], v[1])
			got := make(fr.Vector, m)
			err := inPasses(context.Background(), append(fr.Vector{}, v[0]...), append(fr.Vector{}, v[1]...), got, 2, c.levels, func(float64) {})
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("%s, 2^%d in passes of %d: coefficient %d is %s, want %s", name, c.log, c.levels, i, got[i].String(), want[i].String())
				}
			}
		}
	}
}

// TestPassesAgree has the same result in two passes and in many.
func TestPassesAgree(t *testing.T) {
	needLanes(t)
	const m = 1 << 14
	var want fr.Vector
	for _, levels := range []int{11, 7, 5, 4, 3} {
		a, b, c := randomVector(4, m), randomVector(5, m), make(fr.Vector, m)
		if err := inPasses(context.Background(), a, b, c, 3, levels, func(float64) {}); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = c
		}
		for i := range want {
			if c[i] != want[i] {
				t.Fatalf("passes of %d levels: coefficient %d differs", levels, i)
			}
		}
	}
}

func TestBitReverse(t *testing.T) {
	for log := range 14 {
		c := randomVector(6, 1<<log)
		want := append(fr.Vector{}, c...)
		utils.BitReverse(want)
		q := &quotient{c: c, tables: &tables{log: log}, scratch: make([][3][]block, 2)}
		if err := q.bitReverse(context.Background()); err != nil {
			t.Fatal(err)
		}
		for i := range c {
			if c[i] != want[i] {
				t.Fatalf("2^%d: place %d differs", log, i)
			}
		}
	}
}

func TestQuotientStops(t *testing.T) {
	needLanes(t)
	before := offheap.InUse()
	ctx, cancel := context.WithCancel(context.Background())
	const m = 1 << 10
	steps := 0
	err := Quotient(ctx, make(fr.Vector, m), make(fr.Vector, m), make(fr.Vector, m), 2, func(float64) {
		steps++
		cancel()
	})
	if !errors.Is(err, context.Canceled) || steps != 1 {
		t.Errorf("%d steps after cancelling in the first, error %v", steps, err)
	}
	if offheap.InUse() != before {
		t.Error("memory was not freed")
	}
}

func BenchmarkQuotient(b *testing.B) {
	needLanes(b)
	for _, log := range []int{17, 20} {
		b.Run(fmt.Sprintf("2^%d", log), func(b *testing.B) {
			m := 1 << log
			x, y, z := randomVector(6, m), randomVector(7, m), make(fr.Vector, m)
			testutil.CPUTime(b, m, func() {
				if err := Quotient(context.Background(), x, y, z, 2, func(float64) {}); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}
