package values

import (
	"context"
	"errors"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// TestSample wants both sides to be equal, and not where an element of a list is
// another.
func TestSample(t *testing.T) {
	f, err := New(2400, 12)
	if err != nil {
		t.Fatal(err)
	}
	secrets := random(t, 2)
	k, m, err := f.Exponents(secrets[0], secrets[1])
	if err != nil {
		t.Fatal(err)
	}
	const rows = 2391
	s, err := f.Sample(context.Background(), rows, [32]byte{7})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.C) != rows || len(s.P) != len(k) || len(s.H) != f.N()-1 {
		t.Fatalf("%d, %d and %d numbers", len(s.P), len(s.C), len(s.H))
	}
	differs := func() bool {
		h := powers(f, secrets[0], secrets[1])
		var left, right fr.Element
		for i := range h {
			right.Add(&right, h[i].Mul(&h[i], &s.H[i]))
		}
		return !left.Add(inner(k, s.P), inner(m[:rows], s.C)).Equal(&right)
	}
	if differs() {
		t.Fatal("the sides differ")
	}
	one := fr.One()
	for _, x := range []*fr.Element{&k[0], &k[len(k)-1], &m[0], &m[rows-1]} {
		x.Add(x, &one)
		if !differs() {
			t.Error("a wrong element is not noticed")
		}
		x.Sub(x, &one)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := f.Sample(ctx, rows, [32]byte{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func inner(a, b []fr.Element) *fr.Element {
	var sum, v fr.Element
	for i := range a {
		sum.Add(&sum, v.Mul(&a[i], &b[i]))
	}
	return &sum
}

// powers are the exponents of h.
func powers(f *Form, tau, delta fr.Element) []fr.Element {
	h := make([]fr.Element, f.N()-1)
	h[0] = tau
	for range f.LogN {
		h[0].Square(&h[0])
	}
	one := fr.One()
	h[0].Sub(&h[0], &one).Div(&h[0], &delta)
	for i := 1; i < len(h); i++ {
		h[i].Mul(&h[i-1], &tau)
	}
	return h
}
