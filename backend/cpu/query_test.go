package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
	"cuzk/srs"
)

func TestDepositFollowsTheMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	words := make([]uint64, 100)
	for i := range words {
		words[i] = rng.Uint64()
	}
	bit := func(i int) uint64 { return words[i/64] >> (i % 64) & 1 }
	r := bitReader{words: words}
	at := 0
	masks := []uint64{0, 1, 1 << 63, ^uint64(0), ^uint64(0) >> 1, ^uint64(1), 0xff00ff, 5 << 60}
	for range 40 {
		masks = append(masks, rng.Uint64(), rng.Uint64()|rng.Uint64()|rng.Uint64())
	}
	for _, mask := range masks {
		got := r.deposit(mask)
		for i := range 64 {
			want := uint64(0)
			if mask>>i&1 == 1 {
				want = bit(at)
				at++
			}
			if got>>i&1 != want {
				t.Fatalf("mask %x: place %d is %d, want %d", mask, i, got>>i&1, want)
			}
		}
	}
}

func TestPositionCountsMembersBelow(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	s := r1cs.NewBitset(1000)
	for i := range 1000 {
		if rng.IntN(3) == 0 {
			s.Set(i)
		}
	}
	set := newSlotSet(s)
	n := 0
	for i := range 1000 {
		if got := set.position(i); got != n {
			t.Fatalf("position of %d is %d, want %d", i, got, n)
		}
		if s.Has(i) {
			n++
		}
	}
}

func TestFullBitsHasNoMore(t *testing.T) {
	for _, n := range []int{0, 1, 63, 64, 65, 128} {
		if got := fullBits(n).Count(); got != n {
			t.Errorf("full set of %d has %d members", n, got)
		}
	}
}

func TestGatherDecodesRuns(t *testing.T) {
	all := make([]int, 100)
	for i := range all {
		all[i] = i
	}
	calls := 0
	p := points[int]{n: len(all), decode: func(dst []int, from int) error {
		calls++
		copy(dst, all[from:])
		return nil
	}}
	positions := []uint32{0, 1, 2, 7, 9, 10, 99}
	got := make([]int, len(positions))
	if err := p.gather(got, positions); err != nil {
		t.Fatal(err)
	}
	for i, k := range positions {
		if got[i] != int(k) {
			t.Errorf("position %d gave %d", k, got[i])
		}
	}
	if calls != 4 {
		t.Errorf("%d runs were decoded, there are 4", calls)
	}
}

// benchQuery is a query of n points in memory, all of them bits or elements.
func benchQuery(n int) *queryG1 {
	_, _, g, _ := bls12381.Generators()
	s := make([]fr.Element, 1<<12)
	for i := range s {
		s[i] = fr.NewElement(uint64(i*i + 1))
	}
	held := make([]bls12381.G1Affine, 0, n)
	for part := bls12381.BatchScalarMultiplicationG1(&g, s); len(held) < n; {
		held = append(held, part...)
	}
	return &queryG1{set: newSlotSet(fullBits(n)), msm: msmG1, points: points[bls12381.G1Affine]{n: n, held: held}}
}

// mapped moves the points of a query to where a key file has them.
func mapped(q *queryG1) *queryG1 {
	var raw []byte
	for i := range q.points.held {
		b := q.points.held[i].RawBytes()
		raw = append(raw, b[:]...)
	}
	from := srs.Query{Name: "l", N: q.points.n, Raw: raw}
	return &queryG1{set: q.set, msm: msmG1, points: points[bls12381.G1Affine]{n: q.points.n, decode: from.DecodeG1}}
}

func BenchmarkSumBits(b *testing.B) {
	const n = 1 << 18
	q := benchQuery(n)
	rng := rand.New(rand.NewPCG(8, 9))
	s := &selection{ones: r1cs.NewBitset(n)}
	for i := range s.ones {
		s.ones[i] = rng.Uint64()
	}
	for _, c := range []struct {
		name string
		q    *queryG1
	}{{"resident", q}, {"mapped", mapped(q)}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := c.q.sum(context.Background(), s, DefaultSlice, func(float64) {}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*s.ones.Count()), "ns/point")
		})
	}
}

func BenchmarkMSM(b *testing.B) {
	for _, logN := range []int{14, 16, 18} {
		n := 1 << logN
		q := benchQuery(n)
		for name, values := range map[string]fr.Vector{"full": randomVector(10, n), "byte": bytesOnly(n)} {
			b.Run(fmt.Sprintf("%s/2^%d", name, logN), func(b *testing.B) {
				s := &selection{ones: r1cs.NewBitset(n), w: &r1cs.Assignment{Elements: values}}
				for i := range n {
					s.others = append(s.others, other{uint32(i), uint32(i)})
				}
				for b.Loop() {
					if _, err := q.sum(context.Background(), s, DefaultSlice, func(float64) {}); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/point")
			})
		}
	}
}

func bytesOnly(n int) fr.Vector {
	v := make(fr.Vector, n)
	for i := range v {
		v[i] = fr.NewElement(uint64(i%254 + 2))
	}
	return v
}
