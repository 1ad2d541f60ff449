package cpu

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/affine"
	"cuzk/internal/testutil"
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

// keyOf is a key file's list of n points k·g, k from 1 on.
func keyOf(n int) (srs.Query, []bls12381.G1Affine) {
	_, _, g, _ := bls12381.Generators()
	multiples := make([]fr.Element, n)
	for i := range multiples {
		multiples[i].SetUint64(uint64(i + 1))
	}
	list := make([]bls12381.G1Affine, n)
	affine.G1.NewTable(g, affine.WindowFor(n)).Mul(list, multiples)
	q := srs.Query{Name: "l", N: n}
	for i := range list {
		b := list[i].RawBytes()
		q.Raw = append(q.Raw, b[:]...)
	}
	return q, list
}

func TestReadTakesPositions(t *testing.T) {
	const n = 3 * chunkPoints
	q, list := keyOf(n)
	var positions []uint32
	var want bls12381.G1Affine
	for i := uint32(0); i < n; i += 1 + i%3 {
		positions = append(positions, i)
		want.Add(&want, &list[i])
	}
	to := affine.G1.NewList(len(positions))
	if err := pointsG1(q).read(context.Background(), to, positions); err != nil {
		t.Fatal(err)
	}
	s := affine.G1.NewSum()
	s.Add(to)
	if got := s.Total(); got != want {
		t.Errorf("sum is %v, want %v", got, want)
	}
}

func TestReadNamesTheBadPoint(t *testing.T) {
	q, _ := keyOf(50)
	q.Raw[37*96+5] ^= 0xff
	q.Raw[37*96] |= 0x1f
	for _, positions := range [][]uint32{{37}, {1, 2, 3, 5, 30, 37, 38}} {
		err := pointsG1(q).read(context.Background(), affine.G1.NewList(len(positions)), positions)
		if !errors.Is(err, srs.ErrCorrupt) || !strings.Contains(err.Error(), "query l, point 37 of 50") {
			t.Errorf("error %v", err)
		}
	}
	if err := pointsG1(q).read(context.Background(), affine.G1.NewList(1), []uint32{50}); err == nil {
		t.Error("a point behind the end was read")
	}
}

func BenchmarkSumBits(b *testing.B) {
	const n = 1 << 18
	q, _ := keyOf(n)
	l := queryG1{StageL, newSlotSet(fullBits(n)), pointsG1(q)}
	rng := rand.New(rand.NewPCG(8, 9))
	s := &selection{ones: r1cs.NewBitset(n)}
	for i := range s.ones {
		s.ones[i] = rng.Uint64()
	}
	testutil.CPUTime(b, s.ones.Count(), func() {
		if _, err := l.sumOnes(context.Background(), s, affine.G1, func(float64) {}); err != nil {
			b.Fatal(err)
		}
	})
}
