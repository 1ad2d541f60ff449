package affine

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/lanes"
)

// group is what the tests need of a group, with gnark-crypto's own arithmetic
// as the reference.
type group[A comparable] struct {
	forms map[string]Engine[A]
	base  A
	add   func(a, b A) A
	neg   func(a A) A
	mul   func(a A, s *big.Int) A
	raw   func(a A) []byte
}

var g1, g2 = func() (group[bls12381.G1Affine], group[bls12381.G2Affine]) {
	_, _, p, q := bls12381.Generators()
	a := group[bls12381.G1Affine]{
		map[string]Engine[bls12381.G1Affine]{"plain": plainEngineG1()}, p,
		func(a, b bls12381.G1Affine) bls12381.G1Affine { return *new(bls12381.G1Affine).Add(&a, &b) },
		func(a bls12381.G1Affine) bls12381.G1Affine { return *new(bls12381.G1Affine).Neg(&a) },
		func(a bls12381.G1Affine, s *big.Int) bls12381.G1Affine {
			return *new(bls12381.G1Affine).ScalarMultiplication(&a, s)
		},
		func(a bls12381.G1Affine) []byte { b := a.RawBytes(); return b[:] },
	}
	b := group[bls12381.G2Affine]{
		map[string]Engine[bls12381.G2Affine]{"plain": plainEngineG2()}, q,
		func(a, b bls12381.G2Affine) bls12381.G2Affine { return *new(bls12381.G2Affine).Add(&a, &b) },
		func(a bls12381.G2Affine) bls12381.G2Affine { return *new(bls12381.G2Affine).Neg(&a) },
		func(a bls12381.G2Affine, s *big.Int) bls12381.G2Affine {
			return *new(bls12381.G2Affine).ScalarMultiplication(&a, s)
		},
		func(a bls12381.G2Affine) []byte { b := a.RawBytes(); return b[:] },
	}
	lane(a.forms, b.forms)
	return a, b
}()

// each runs a test for both groups in every form.
func each(t *testing.T, one func(*testing.T, group[bls12381.G1Affine], Engine[bls12381.G1Affine]), two func(*testing.T, group[bls12381.G2Affine], Engine[bls12381.G2Affine])) {
	for name, e := range g1.forms {
		t.Run("G1/"+name, func(t *testing.T) { one(t, g1, e) })
	}
	for name, e := range g2.forms {
		t.Run("G2/"+name, func(t *testing.T) { two(t, g2, e) })
	}
}

// corners are points that take every branch of an addition: infinity, P, -P,
// 2P, another one.
func (g group[A]) corners() []A {
	var out []A
	for _, k := range []int64{0, 1, -1, 2, -2, 77} {
		s := big.NewInt(k)
		out = append(out, g.mul(g.base, s.Mod(s, fr.Modulus())))
	}
	return out
}

// adding is the engine's adder on gnark-crypto's points.
type adding[A any] interface {
	pairs(dst, p, q []A, ops []Op)
}

func (e *engine[P, A]) pairs(dst, p, q []A, ops []Op) {
	own := func(a []A) []P {
		b := make([]P, len(a))
		e.load(b, a)
		return b
	}
	sums := make([]P, len(ops))
	e.adder().Add(sums, own(p), own(q), ops)
	e.store(dst, sums)
}

func TestAdditionOfAllPairsOfCorners(t *testing.T) {
	each(t, testPairs[bls12381.G1Affine], testPairs[bls12381.G2Affine])
}

func testPairs[A comparable](t *testing.T, g group[A], e Engine[A]) {
	c := g.corners()
	var ops []Op
	var want []A
	for i, a := range c {
		for j, b := range c {
			for signs := range uint32(4) {
				x, y := a, b
				if signs&1 != 0 {
					x = g.neg(x)
				}
				if signs&2 != 0 {
					y = g.neg(y)
				}
				ops = append(ops, Op{A: uint32(i) | signs&1<<31, B: uint32(j) | signs>>1<<31})
				want = append(want, g.add(x, y))
			}
		}
	}
	for n := range len(ops) + 1 { // each pair also as the last of a shared inversion
		got := make([]A, n)
		e.(adding[A]).pairs(got, c, c, ops[:n])
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("pair %d of %d, %v: got %v want %v", i, n, ops[i], got[i], want[i])
			}
		}
	}
}

func TestSumAgreesWithAdditionOneByOne(t *testing.T) {
	each(t, testSums[bls12381.G1Affine], testSums[bls12381.G2Affine])
}

func testSums[A comparable](t *testing.T, g group[A], e Engine[A]) {
	s := e.NewSum()
	for _, n := range []int{0, 1, 2, 3, 9, lanes.Batch - 1, lanes.Batch + 1, 2*lanes.Batch + 5} {
		testSum(t, g, e, s, n)
	}
}

func testSum[A comparable](t *testing.T, g group[A], e Engine[A], s Sum[A], n int) {
	c := g.corners()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for _, only := range []int{-1, 1, 0} { // mixed, all equal, all infinity
		var want A
		points := make([]A, n)
		for i := range points {
			k := only
			if only < 0 {
				k = rng.IntN(len(c))
			}
			points[i] = c[k]
			want = g.add(want, c[k])
		}
		for from := 0; from < n; from += 700 {
			part := points[from:min(from+700, n)]
			l := e.NewList(len(part))
			l.Load(part)
			s.Add(l)
		}
		if got := s.Total(); got != want {
			t.Fatalf("%d points %d: got %v want %v", n, only, got, want)
		}
	}
}

func TestDecode(t *testing.T) {
	each(t, testDecode[bls12381.G1Affine], testDecode[bls12381.G2Affine])
}

func testDecode[A comparable](t *testing.T, g group[A], e Engine[A]) {
	var raw []byte
	var want A
	for _, p := range g.corners()[1:] {
		raw = append(raw, g.raw(p)...)
		want = g.add(want, p)
	}
	l := e.NewList(5)
	if !l.Decode(raw) {
		if _, plain := e.(interface{ plain() }); !plain && g.forms["plain"] != e {
			t.Fatal("refused")
		}
		return
	}
	s := e.NewSum()
	s.Add(l)
	if got := s.Total(); got != want {
		t.Fatalf("sum is %v, want %v", got, want)
	}
	raw[0] |= 0x40
	if l.Decode(raw) {
		t.Error("a flag was taken")
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
	each(t, testTables[bls12381.G1Affine], testTables[bls12381.G2Affine])
}

func testTables[A comparable](t *testing.T, g group[A], e Engine[A]) {
	s := append(edges(), scalars(20)...)
	want := make([]A, len(s))
	for i := range s {
		want[i] = g.mul(g.base, s[i].BigInt(new(big.Int)))
	}
	for _, w := range []int{2, 3, 7, 8, 13} {
		got := make([]A, len(s))
		e.NewTable(g.base, w).Mul(got, s)
		for i := range s {
			if got[i] != want[i] {
				t.Fatalf("width %d, scalar %s: got %v want %v", w, s[i].String(), got[i], want[i])
			}
		}
	}
}

func TestTableSpansMoreThanOneBatch(t *testing.T) {
	n := lanes.Batch + 7
	s := scalars(n)
	got := make([]bls12381.G1Affine, n)
	G1.NewTable(g1.base, 8).Mul(got, s)
	want := bls12381.BatchScalarMultiplicationG1(&g1.base, s)
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("point %d differs", i)
		}
	}
}

func TestMultiExp(t *testing.T) {
	each(t, testMultiExps[bls12381.G1Affine], testMultiExps[bls12381.G2Affine])
}

func multiExpOf[A any](ctx context.Context, e Engine[A], l List[A], s []fr.Element, workers int) (sum A, err error) {
	m := e.NewMultiExp(len(s), workers)
	defer m.Close()
	for from := 0; from < len(s); from += 30000 {
		to := min(from+30000, len(s))
		if err := m.Add(ctx, l.Part(from, to), s[from:to]); err != nil {
			return sum, err
		}
	}
	return m.Total(ctx)
}

// testMultiExps multiplies multiples k·base, so that the sum is known as a
// scalar.
func testMultiExps[A comparable](t *testing.T, g group[A], e Engine[A]) {
	ends := edges()
	for _, n := range []int{0, 1, 2, 5, 40, len(ends), 700} {
		multiples, random := scalars(n), scalars(n+1)
		points := make([]A, n)
		e.NewTable(g.base, 8).Mul(points, multiples)
		for name, value := range map[string]func(i int) fr.Element{
			"random": func(i int) fr.Element { return random[i] },
			"edges":  func(i int) fr.Element { return ends[i%len(ends)] },
			"small":  func(i int) fr.Element { return fr.NewElement(uint64(i % 7)) },
			"zero":   func(int) fr.Element { return fr.Element{} },
			"equal":  func(int) fr.Element { return random[0] },
		} {
			values := make([]fr.Element, n)
			var want, p fr.Element
			for i := range values {
				values[i] = value(i)
				want.Add(&want, p.Mul(&values[i], &multiples[i]))
			}
			l := e.NewList(n)
			l.Load(points)
			got, err := multiExpOf(context.Background(), e, l, values, 1+n%3)
			if err != nil {
				t.Fatal(err)
			}
			if got != g.mul(g.base, want.BigInt(new(big.Int))) {
				t.Fatalf("%s, %d points: %v", name, n, got)
			}
		}
	}
}

// TestMultiExpOfShortScalars has scalars of equal length, all bits set, whose
// highest digit is as large as it can be.
func TestMultiExpOfShortScalars(t *testing.T) {
	points := make([]bls12381.G1Affine, 40)
	multiples := scalars(len(points))
	G1.NewTable(g1.base, 8).Mul(points, multiples)
	l := G1.NewList(len(points))
	l.Load(points)
	for bits := uint(1); bits < 40; bits++ {
		values := make([]fr.Element, len(points))
		var want, p fr.Element
		for i := range values {
			values[i].SetUint64(1<<bits - 1)
			if i%3 == 0 {
				values[i].Neg(&values[i])
			}
			want.Add(&want, p.Mul(&values[i], &multiples[i]))
		}
		got, err := multiExpOf(context.Background(), G1, l, values, 2)
		if err != nil || got != g1.mul(g1.base, want.BigInt(new(big.Int))) {
			t.Errorf("%d bits: got %v, error %v", bits, got, err)
		}
	}
}

// TestMultiExpOfCorners has equal points, opposite ones and infinity meet in the
// buckets.
func TestMultiExpOfCorners(t *testing.T) {
	each(t, testCorners[bls12381.G1Affine], testCorners[bls12381.G2Affine])
}

func testCorners[A comparable](t *testing.T, g group[A], e Engine[A]) {
	c := g.corners()
	rng := rand.New(rand.NewPCG(5, 5))
	points, values := make([]A, 300), make([]fr.Element, 300)
	var want A
	for i := range points {
		points[i] = c[rng.IntN(len(c))]
		values[i] = fr.NewElement(uint64(rng.IntN(5)))
		if i%2 == 1 {
			values[i].Neg(&values[i])
		}
		want = g.add(want, g.mul(points[i], values[i].BigInt(new(big.Int))))
	}
	l := e.NewList(len(points))
	l.Load(points)
	got, err := multiExpOf(context.Background(), e, l, values, 2)
	if err != nil || got != want {
		t.Fatalf("got %v, want %v, error %v", got, want, err)
	}
}

// TestMultiExpOfLongRuns has more points in a bucket than a unit takes, and more
// workers than windows.
func TestMultiExpOfLongRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("half a second")
	}
	n := 5*minPart + 11
	multiples := scalars(n)
	points := bls12381.BatchScalarMultiplicationG1(&g1.base, multiples)
	values := make([]fr.Element, n)
	var want, p fr.Element
	for i := range values {
		values[i] = fr.NewElement(uint64(2 + i%2))
		want.Add(&want, p.Mul(&values[i], &multiples[i]))
	}
	l := G1.NewList(n)
	l.Load(points)
	got, err := multiExpOf(context.Background(), G1, l, values, 5)
	if err != nil || got != g1.mul(g1.base, want.BigInt(new(big.Int))) {
		t.Fatalf("got %v, error %v", got, err)
	}
}

func TestMultiExpStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	l := G1.NewList(100)
	l.Load(make([]bls12381.G1Affine, 100))
	if _, err := multiExpOf(ctx, G1, l, scalars(100), 2); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

var _ = fmt.Sprint
