package cpu

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/internal/affine"
	"cuzk/srs"
)

// FuzzRead holds reading in the engine's form against decoding point by point:
// both refuse the same bytes, and sums agree.
func FuzzRead(f *testing.F) {
	q, _ := keyOf(11)
	f.Add(q.Raw)
	f.Add(q.Raw[:96])
	for _, at := range []int{0, 1, 48, 96*8 + 47, 96 * 10} {
		bad := append([]byte{}, q.Raw...)
		bad[at] ^= 0xff
		f.Add(bad)
	}
	f.Add(make([]byte, 96))
	f.Fuzz(func(t *testing.T, raw []byte) {
		n := min(len(raw)/96, 40)
		q := srs.Query{Name: "l", N: n, Raw: raw[:96*n]}
		points := make([]bls12381.G1Affine, n)
		positions := make([]uint32, n)
		for i := range positions {
			positions[i] = uint32(i)
		}
		list := affine.G1.NewList(n)
		got, want := pointsG1(q).read(context.Background(), list, positions), q.DecodeG1(points, 0)
		if (got == nil) != (want == nil) {
			t.Fatalf("read: %v, decode: %v", got, want)
		}
		if got != nil {
			return
		}
		s, own := affine.G1.NewSum(), affine.G1.NewSum()
		s.Add(list)
		loaded := affine.G1.NewList(n)
		loaded.Load(points)
		own.Add(loaded)
		if a, b := s.Total(), own.Total(); a != b {
			t.Fatalf("sum is %v, of decoded points %v", a, b)
		}
	})
}
