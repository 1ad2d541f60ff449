package affine

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

type adderG1 = Adder[bls12381.G1Affine, fp.Element, *fp.Element]
type adderG2 = Adder[bls12381.G2Affine, bls12381.E2, *bls12381.E2]

// group is what the tests need of a group, with gnark-crypto's own arithmetic
// as the reference.
type group[P any] struct {
	base P
	add  func(a, b P) P
	mul  func(a P, s *big.Int) P
}

var g1 = func() group[bls12381.G1Affine] {
	_, _, g, _ := bls12381.Generators()
	return group[bls12381.G1Affine]{g,
		func(a, b bls12381.G1Affine) bls12381.G1Affine { return *new(bls12381.G1Affine).Add(&a, &b) },
		func(a bls12381.G1Affine, s *big.Int) bls12381.G1Affine {
			return *new(bls12381.G1Affine).ScalarMultiplication(&a, s)
		}}
}()

var g2 = func() group[bls12381.G2Affine] {
	_, _, _, g := bls12381.Generators()
	return group[bls12381.G2Affine]{g,
		func(a, b bls12381.G2Affine) bls12381.G2Affine { return *new(bls12381.G2Affine).Add(&a, &b) },
		func(a bls12381.G2Affine, s *big.Int) bls12381.G2Affine {
			return *new(bls12381.G2Affine).ScalarMultiplication(&a, s)
		}}
}()

// corners are points that take every branch of an addition: infinity, P, -P,
// 2P, another one.
func (g group[P]) corners() []P {
	var out []P
	for _, k := range []int64{0, 1, -1, 2, -2, 77} {
		s := big.NewInt(k)
		out = append(out, g.mul(g.base, s.Mod(s, fr.Modulus())))
	}
	return out
}

func TestAdderAgreesOnAllPairsOfCorners(t *testing.T) {
	t.Run("G1", func(t *testing.T) { testPairs(t, g1, new(adderG1).Add) })
	t.Run("G2", func(t *testing.T) { testPairs(t, g2, new(adderG2).Add) })
}

func testPairs[P comparable](t *testing.T, g group[P], add func(acc, q []P)) {
	var acc, q, want []P
	for _, a := range g.corners() {
		for _, b := range g.corners() {
			acc, q, want = append(acc, a), append(q, b), append(want, g.add(a, b))
		}
	}
	for n := 0; n <= len(acc); n++ { // each pair also as the last of a shared inversion
		got := append([]P(nil), acc[:n]...)
		add(got, q[:n])
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("pair %d of %d: got %v want %v", i, n, got[i], want[i])
			}
		}
	}
}

func TestSumAgreesWithAdditionOneByOne(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, lanes - 1, lanes, lanes + 1, 2*lanes + 5, 3*lanes + 1} {
		t.Run(fmt.Sprintf("G1/%d", n), func(t *testing.T) { testSum(t, g1, new(SumG1), n) })
		t.Run(fmt.Sprintf("G2/%d", n), func(t *testing.T) { testSum(t, g2, new(SumG2), n) })
	}
}

type summer[P any] interface {
	Add(*P)
	Total() P
}

func testSum[P comparable](t *testing.T, g group[P], s summer[P], n int) {
	c := g.corners()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for _, only := range []int{-1, 1, 0} { // mixed, all equal, all infinity
		var want P
		for range n {
			k := only
			if only < 0 {
				k = rng.IntN(len(c))
			}
			s.Add(&c[k])
			want = g.add(want, c[k])
		}
		if got := s.Total(); got != want {
			t.Fatalf("points %d: got %v want %v", only, got, want)
		}
	}
}

func scalars(n int) []fr.Element {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	out := make([]fr.Element, n)
	for i := range out {
		var b [32]byte
		for j := range b {
			b[j] = byte(rng.Uint32())
		}
		out[i].SetBytes(b[:])
	}
	return out
}

// edges are scalars at the ends of windows and of the field.
func edges() []fr.Element {
	out := []fr.Element{}
	for _, k := range []uint{0, 1, 15, 16, 17, 31, 63, 64, 127, 191, 253, 254} {
		for d := int64(-1); d <= 1; d++ {
			x := new(big.Int).Lsh(big.NewInt(1), k)
			x.Add(x, big.NewInt(d))
			var e, m fr.Element
			e.SetBigInt(x)
			m.Neg(&e)
			out = append(out, e, m)
		}
	}
	half := new(big.Int).Rsh(fr.Modulus(), 1)
	var e fr.Element
	e.SetBigInt(half)
	return append(out, e, *new(fr.Element).Add(&e, new(fr.Element).SetOne()))
}

func TestTableAgreesWithScalarMultiplication(t *testing.T) {
	s := append(edges(), scalars(20)...)
	for _, w := range []int{2, 3, 7, 8, 13} {
		t.Run(fmt.Sprintf("G1/%d", w), func(t *testing.T) { testTable(t, g1, NewTable(g1.base, w).Mul, s) })
		t.Run(fmt.Sprintf("G2/%d", w), func(t *testing.T) { testTable(t, g2, NewTable(g2.base, w).Mul, s) })
	}
	t.Run("G1/17", func(t *testing.T) { testTable(t, g1, NewTable(g1.base, 17).Mul, s) })
}

func testTable[P comparable](t *testing.T, g group[P], mul func([]P, []fr.Element), s []fr.Element) {
	got := make([]P, len(s))
	mul(got, s)
	for i := range s {
		var k big.Int
		if want := g.mul(g.base, s[i].BigInt(&k)); got[i] != want {
			t.Fatalf("scalar %s: got %v want %v", s[i].String(), got[i], want)
		}
	}
}

func TestTableSpansMoreThanOneBatch(t *testing.T) {
	n := lanes + 7
	s := scalars(n)
	got := make([]bls12381.G1Affine, n)
	NewTable(g1.base, 8).Mul(got, s)
	want := bls12381.BatchScalarMultiplicationG1(&g1.base, s)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("point %d differs", i)
		}
	}
}

func BenchmarkSum(b *testing.B) {
	b.Run("G1", func(b *testing.B) {
		benchSum(b, bls12381.BatchScalarMultiplicationG1(&g1.base, scalars(1<<15)), new(SumG1))
	})
	b.Run("G2", func(b *testing.B) {
		benchSum(b, bls12381.BatchScalarMultiplicationG2(&g2.base, scalars(1<<15)), new(SumG2))
	})
}

func benchSum[P any](b *testing.B, points []P, s summer[P]) {
	n := 0
	for b.Loop() {
		for i := range points {
			s.Add(&points[i])
		}
		s.Total()
		n += len(points)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/point")
}

func BenchmarkTable(b *testing.B) {
	s := scalars(1 << 12)
	for _, w := range []int{13, 16, 17} {
		b.Run(fmt.Sprintf("G1/%d", w), func(b *testing.B) {
			benchTable(b, NewTable(g1.base, w).Mul, s)
		})
	}
	b.Run("G2/13", func(b *testing.B) { benchTable(b, NewTable(g2.base, 13).Mul, s) })
}

func benchTable[P any](b *testing.B, mul func([]P, []fr.Element), s []fr.Element) {
	out := make([]P, len(s))
	n := 0
	for b.Loop() {
		mul(out, s)
		n += len(s)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/point")
}
