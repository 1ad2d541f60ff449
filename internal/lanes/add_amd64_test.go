//go:build !purego

package lanes

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

func pointsG1(n int) []bls12381.G1Affine {
	_, _, g, _ := bls12381.Generators()
	s := make([]fr.Element, n)
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	for i := range s {
		s[i].SetBigInt(randomBelow(rng, fr.Modulus()))
	}
	return bls12381.BatchScalarMultiplicationG1(&g, s)
}

func pointsG2(n int) []bls12381.G2Affine {
	_, _, _, g := bls12381.Generators()
	s := make([]fr.Element, n)
	rng := rand.New(rand.NewPCG(4, uint64(n)))
	for i := range s {
		s[i].SetBigInt(randomBelow(rng, fr.Modulus()))
	}
	return bls12381.BatchScalarMultiplicationG2(&g, s)
}

func TestLoadAndStore(t *testing.T) {
	needLanes(t)
	for _, n := range []int{0, 1, 7, 8, 9, 128, 129, 300} {
		a, b := append(pointsG1(n), bls12381.G1Affine{}), append(pointsG2(n), bls12381.G2Affine{})
		p, q := make([]G1, n+1), make([]G2, n+1)
		LoadG1(p, a)
		LoadG2(q, b)
		if p[n] != (G1{}) || q[n] != (G2{}) {
			t.Fatal("infinity is not zero")
		}
		c, d := make([]bls12381.G1Affine, n+1), make([]bls12381.G2Affine, n+1)
		StoreG1(c, p)
		StoreG2(d, q)
		for i := range a {
			if a[i] != c[i] || b[i] != d[i] {
				t.Fatalf("point %d of %d changed", i, n)
			}
		}
	}
}

func TestDecode(t *testing.T) {
	needLanes(t)
	const n = 19
	a, b := pointsG1(n), pointsG2(n)
	var raw1, raw2 []byte
	for i := range a {
		x, y := a[i].RawBytes(), b[i].RawBytes()
		raw1, raw2 = append(raw1, x[:]...), append(raw2, y[:]...)
	}
	p, q := make([]G1, n), make([]G2, n)
	if !DecodeG1(p, raw1) || !DecodeG2(q, raw2) {
		t.Fatal("refused")
	}
	c, d := make([]bls12381.G1Affine, n), make([]bls12381.G2Affine, n)
	StoreG1(c, p)
	StoreG2(d, q)
	for i := range a {
		if a[i] != c[i] || b[i] != d[i] {
			t.Fatalf("point %d differs", i)
		}
	}
	for _, i := range []int{0, 7, 8, 18} {
		for at := 0; at < 96; at += 48 {
			for _, top := range []byte{0x1a, 0x1b, 0x40, 0x80, 0x20} {
				bad := append([]byte{}, raw1...)
				bad[96*i+at] |= top
				bad[96*i+at+1] = 0xff
				if DecodeG1(p, bad) {
					t.Errorf("point %d, byte %d, %x: accepted", i, at, top)
				}
			}
		}
	}
}

func TestAdd(t *testing.T) {
	needLanes(t)
	const n = 600
	a, b := pointsG1(n), pointsG2(n)
	p, q := make([]G1, n), make([]G2, n)
	LoadG1(p, a)
	LoadG2(q, b)
	rng := rand.New(rand.NewPCG(5, 6))
	add1, add2 := NewAdderG1(), NewAdderG2()
	for _, count := range []int{1, 2, 7, 8, 9, 16, 17, 127, 128, 129, 500, Batch - 1, Batch} {
		ops := make([]Op, count)
		for i := range ops {
			k := uint32(rng.IntN(n))
			ops[i] = Op{k | uint32(rng.IntN(2))<<31, (k+1+uint32(rng.IntN(n-1)))%n | uint32(rng.IntN(2))<<31}
		}
		r, s := make([]G1, count), make([]G2, count)
		if !add1.Add(r, p, p, ops) || !add2.Add(s, q, q, ops) {
			t.Fatal("refused")
		}
		c, d := make([]bls12381.G1Affine, count), make([]bls12381.G2Affine, count)
		StoreG1(c, r)
		StoreG2(d, s)
		for i, o := range ops {
			if want := sum(a, o); c[i] != want {
				t.Fatalf("G1, %d additions, number %d: %v, want %v", count, i, c[i], want)
			}
			if want := sum2(b, o); d[i] != want {
				t.Fatalf("G2, %d additions, number %d: %v, want %v", count, i, d[i], want)
			}
		}
	}
}

func sum(a []bls12381.G1Affine, o Op) (z bls12381.G1Affine) {
	x, y := a[o.A&^Minus], a[o.B&^Minus]
	if o.A&Minus != 0 {
		x.Neg(&x)
	}
	if o.B&Minus != 0 {
		y.Neg(&y)
	}
	return *z.Add(&x, &y)
}

func sum2(a []bls12381.G2Affine, o Op) (z bls12381.G2Affine) {
	x, y := a[o.A&^Minus], a[o.B&^Minus]
	if o.A&Minus != 0 {
		x.Neg(&x)
	}
	if o.B&Minus != 0 {
		y.Neg(&y)
	}
	return *z.Add(&x, &y)
}

func TestAddRefusesWhatNeedsCare(t *testing.T) {
	needLanes(t)
	a := append(pointsG1(20), bls12381.G1Affine{})
	b := append(pointsG2(20), bls12381.G2Affine{})
	p, q := make([]G1, 21), make([]G2, 21)
	LoadG1(p, a)
	LoadG2(q, b)
	for _, bad := range []Op{{3, 3}, {3, 3 | Minus}, {20, 3}, {3, 20}, {20, 20}} {
		for _, at := range []int{0, 5, 8, 12} {
			ops := make([]Op, 13)
			for i := range ops {
				ops[i] = Op{uint32(i), uint32(i + 1)}
			}
			ops[at] = bad
			r, s := make([]G1, 13), make([]G2, 13)
			if NewAdderG1().Add(r, p, p, ops) || NewAdderG2().Add(s, q, q, ops) {
				t.Errorf("%v at %d was taken", bad, at)
			}
			if r[0] != (G1{}) || s[0] != (G2{}) {
				t.Error("something was written")
			}
		}
	}
}

func TestAccumulate(t *testing.T) {
	needLanes(t)
	const n = 300
	a, b := pointsG1(n), pointsG2(n)
	for _, count := range []int{0, 1, 7, 8, 100, 128, 140} {
		p, q := make([]G1, n), make([]G2, n)
		LoadG1(p, a)
		LoadG2(q, b)
		ops := make([]Op, count)
		want1, want2 := append([]bls12381.G1Affine{}, a...), append([]bls12381.G2Affine{}, b...)
		for i := range ops {
			ops[i] = Op{uint32(2 * i), uint32(299-2*i) | uint32(i%3/2)<<31}
			want1[2*i], want2[2*i] = sum(a, ops[i]), sum2(b, ops[i])
		}
		r, s := append([]G1{}, p...), append([]G2{}, q...)
		if !NewAdderG1().Accumulate(p, r, ops) || !NewAdderG2().Accumulate(q, s, ops) {
			t.Fatal("refused")
		}
		c, d := make([]bls12381.G1Affine, n), make([]bls12381.G2Affine, n)
		StoreG1(c, p)
		StoreG2(d, q)
		for i := range c {
			if c[i] != want1[i] || d[i] != want2[i] {
				t.Fatalf("%d operations: point %d differs", count, i)
			}
		}
	}
}

func BenchmarkAdd(b *testing.B) {
	needLanes(b)
	const n = 1 << 14
	p, q := make([]G1, n), make([]G2, n)
	LoadG1(p, pointsG1(n))
	LoadG2(q, pointsG2(n))
	rng := rand.New(rand.NewPCG(7, 7))
	for _, count := range []int{64, 256, Batch} {
		ops := make([]Op, count)
		for i := range ops {
			k := rng.IntN(n)
			ops[i] = Op{uint32(k), uint32((k + 1 + rng.IntN(n-1)) % n)}
		}
		r, s := make([]G1, count), make([]G2, count)
		a1, a2 := NewAdderG1(), NewAdderG2()
		b.Run(fmt.Sprintf("G1/%d", count), func(b *testing.B) { cpuTime(b, count, func() { a1.Add(r, p, p, ops) }) })
		b.Run(fmt.Sprintf("G2/%d", count), func(b *testing.B) { cpuTime(b, count, func() { a2.Add(s, q, q, ops) }) })
	}
}

func BenchmarkConvert(b *testing.B) {
	needLanes(b)
	const n = 1 << 10
	a := pointsG1(n)
	p := make([]G1, n)
	var raw []byte
	for i := range a {
		x := a[i].RawBytes()
		raw = append(raw, x[:]...)
	}
	b.Run("load", func(b *testing.B) { cpuTime(b, n, func() { LoadG1(p, a) }) })
	b.Run("store", func(b *testing.B) { cpuTime(b, n, func() { StoreG1(a, p) }) })
	b.Run("decode", func(b *testing.B) { cpuTime(b, n, func() { DecodeG1(p, raw) }) })
}
