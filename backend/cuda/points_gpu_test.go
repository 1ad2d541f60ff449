package cuda

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
)

// cardMachine is a stand on the first GPU.
func cardMachine(t testing.TB) *stand {
	t.Helper()
	b := openFirst(t, Options{})
	m, err := b.stand()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestPoints is the tests of the kernels of points on a GPU, and larger transforms.
func TestPoints(t *testing.T) {
	m := cardMachine(t)
	t.Run("multiples", func(t *testing.T) { testMultiples(t, m, 12, 1000) })
	t.Run("transforms", func(t *testing.T) { testTransforms(t, m, 9, 100) })
	for _, logN := range []int{15, 16} {
		t.Run(fmt.Sprintf("2^%d points", logN), func(t *testing.T) { largeTransform(t, vectorsOn(t, m, logN, 1<<14)) })
	}
}

func largeTransform(t *testing.T, v *pointVectors) {
	ctx, k := context.Background(), pad(nil, int(v.n()), 3)
	g, err := fr.Generator(2 * uint64(v.n()))
	if err != nil {
		t.Fatal(err)
	}
	mem := v.put(t, k)
	if err := v.transform(ctx, mem, true, false, v.whole()); err != nil {
		t.Fatal(err)
	}
	fft.NewDomain(uint64(v.n()), fft.WithShift(g)).FFT(k, fft.DIF, fft.OnCoset())
	v.compare(t, "transform", mem, k)
}

// TestValuesOfKey converts a key on a GPU and checks it.
func TestValuesOfKey(t *testing.T) {
	b := openFirst(t, Options{})
	for _, logN := range []int{16, 20} {
		t.Run(fmt.Sprintf("2^%d", logN), func(t *testing.T) { valuesOnCard(t, b, logN) })
	}
}

func valuesOnCard(t *testing.T, b *Backend, logN int) {
	ctx, rows := context.Background(), 1<<logN*3/5
	f, err := forms.New(rows, logN)
	if err != nil {
		t.Fatal(err)
	}
	r := newRandom(2)
	tau, delta := r.element(), r.element()
	k, l, err := f.Exponents(tau, delta)
	if err != nil {
		t.Fatal(err)
	}
	h := pointList(powersOfKey(f, tau, delta))
	var got rawBytesSink
	if err := b.Values(ctx, h, f, rows, &got, nil); err != nil {
		t.Fatal(err)
	}
	if want := pointList(append(k, l[:rows]...)); !bytes.Equal(got.Bytes(), want.raw) {
		t.Fatal("the lists differ")
	}
	out := got.Bytes()
	lists := func() error {
		return b.CheckValues(ctx, h, rawQuery{out[:96*len(k)], 96}, rawQuery{out[96*len(k):], 96}, f, rows, nil)
	}
	if err := lists(); err != nil {
		t.Error(err)
	}
	copy(out, out[96:192])
	if lists() == nil {
		t.Error("a wrong point passed")
	}
}

// BenchmarkPoints times the launches of which a conversion consists: 2^20 items each.
func BenchmarkPoints(b *testing.B) {
	m := cardMachine(b)
	v := vectorsOn(b, m, 22, 1<<22)
	one := pad(nil, 1, 1)
	mem := fillWithPoints(b, v)
	k := pad(nil, 1<<22, 8)
	ctx := context.Background()
	for name, run := range map[string]func() error{
		"shared": func() error {
			return v.run(ctx, mem, pointStage{depth: 14, lgRadix: 2, lgBlock: 8, lgLanes: -1, blocks: pointBlocks{0, 1 << 14}, coset: true})
		},
		"own": func() error { return v.multiplyAll(ctx, mem, func() []fr.Element { return k }) },
		"one": func() error { return v.addMultiples(ctx, mem, 0, mem, 0, v.n(), &one[0], true) },
		"pairs": func() error {
			return v.pairs(ctx, mem, pointStage{lgBlock: 22, lgLanes: -1, blocks: pointBlocks{0, 1}}, 21)
		},
		"quarters": func() error {
			return v.quarters(ctx, mem, pointStage{lgRadix: 2, lgBlock: 22, lgLanes: -1, blocks: pointBlocks{0, 1}})
		},
		"all": func() error { return v.transform(ctx, mem, false, false, v.whole()) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := run(); err != nil {
					b.Fatal(err)
				}
				if err := settle(ctx, m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// fillWithPoints makes a vector of some thousand different points.
func fillWithPoints(b testing.TB, v *pointVectors) (mem gpu.Memory) {
	b.Helper()
	mem, err := v.vector()
	if err != nil {
		b.Fatal(err)
	}
	_, _, g, _ := bls12381.Generators()
	p := bls12381.BatchScalarMultiplicationG1(&g, pad(nil, 1<<12, 6))
	for from := int64(0); from < v.n(); from += int64(len(p)) {
		err := enqueueWith(v.m, v.affine, rawBytes(p), func(s *steps) {
			s.launch("points_load", perPoint(len(p)), v.affine, uint32(len(p)), uint32(from), uint32(0), uint32(v.n()-1), mem)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return mem
}
