package cuda

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
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
	if err := v.transform(ctx, mem, residue{coset: true, spans: v.cyclic().spans}, false); err != nil {
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
		sample, err := RandomSample(ctx, f, rows)
		if err != nil {
			t.Fatal(err)
		}
		return b.CheckValues(ctx, sample, h, rawQuery{out[:96*len(k)], 96}, rawQuery{out[96*len(k):], 96}, nil)
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
		"own": func() error { return v.multiplyAll(ctx, mem, v.n(), func() ([]fr.Element, error) { return k, nil }) },
		"one": func() error { return v.addMultiples(ctx, pointRun{mem: mem}, pointRun{mem: mem}, v.n(), &one[0], true) },
		"pairs": func() error {
			return v.pairs(ctx, mem, pointStage{lgBlock: 22, lgLanes: -1, blocks: pointBlocks{0, 1}}, 21)
		},
		"quarters": func() error {
			return v.quarters(ctx, mem, pointStage{lgRadix: 2, lgBlock: 22, lgLanes: -1, blocks: pointBlocks{0, 1}})
		},
		"all": func() error { return v.transform(ctx, mem, v.cyclic(), false) },
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

// BenchmarkPointsLarge times the same on a vector of 2^27 points, and says how long the
// conversion of update-32GiB takes by that.
func BenchmarkPointsLarge(b *testing.B) {
	const logN, rows = 27, 81049504
	m := cardMachine(b)
	v := vectorsOn(b, m, logN, pointsPiece)
	mem := fillWithPoints(b, v)
	ctx, shared := context.Background(), 0.0
	depth := pointStage{depth: 14, lgRadix: 2, lgBlock: logN - 14, lgLanes: -1, blocks: pointBlocks{0, 1 << 12}, coset: true}
	lanes := pointStage{depth: 3, lgRadix: 2, lgBlock: 2, lgLanes: 19, blocks: pointBlocks{0, 8}}
	for _, x := range []struct {
		name  string
		items int
		run   func() error
	}{
		{"factors", 3 << 23, func() error { return v.factors(ctx, mem, depth) }},
		{"factors of lanes", 21 << 19, func() error { return v.factors(ctx, mem, lanes) }},
		{"quarters", 1 << 23, func() error { return v.quarters(ctx, mem, depth) }},
		{"pairs", 1 << 24, func() error { return v.pairs(ctx, mem, depth, depth.lgBlock-1) }},
		{"own", 31 << 19, func() error { return v.twist(ctx, mem, false, false, pointBlocks{0, 1 << 19}) }},
	} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if err := x.run(); err != nil {
					b.Fatal(err)
				}
				if err := settle(ctx, m); err != nil {
					b.Fatal(err)
				}
			}
			each := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(x.items)
			b.ReportMetric(each, "ns/item")
			if x.name == "factors" {
				shared = each
			}
		})
	}
	b.Logf("a conversion of %d rows is %.1f s", rows, shared*workOf(b, v, rows)/1e9)
}

// BenchmarkValuesHost times what the host computes for update-32GiB, and shows the
// memory that it takes.
func BenchmarkValuesHost(b *testing.B) {
	f, err := forms.New(81049504, 27)
	if err != nil {
		b.Fatal(err)
	}
	c := &converter{pointVectors: &pointVectors{logN: 27}, form: f}
	for _, x := range []struct {
		name string
		run  func() error
	}{
		{"Z2", func() error { _, err := c.valuesOfZ2(c.cyclic(), c.n()); return err }},
		{"weights of K", func() error { f.WeightsK(); return nil }},
		{"weights of M", func() error { f.WeightsM(); return nil }},
		{"sample", func() error { _, err := f.Sample(context.Background(), 81049504, [32]byte{}); return err }},
	} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				if err := x.run(); err != nil {
					b.Fatal(err)
				}
			}
			debug.FreeOSMemory()
			b.Log(peakMemory())
		})
	}
}

// peakMemory is the line of the system that says how much the process had at most.
func peakMemory() string {
	b, _ := os.ReadFile("/proc/self/status") // empty elsewhere
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}

// workOf is how many multiplications by shared scalars a conversion is worth.
func workOf(b testing.TB, v *pointVectors, rows int) float64 {
	b.Helper()
	f, err := forms.New(rows, v.logN)
	if err != nil {
		b.Fatal(err)
	}
	dry := *v
	dry.dry = true
	if err := (&converter{pointVectors: &dry, form: f, rows: rows}).lists(context.Background()); err != nil {
		b.Fatal(err)
	}
	return dry.all
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
			s.launch("points_load", perPoint(len(p)), v.affine, uint32(len(p)), uint32(from), mem)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return mem
}
