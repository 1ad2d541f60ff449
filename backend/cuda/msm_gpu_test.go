package cuda

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	gpu "cuzk/cuda"
	checks "cuzk/kernels/check"
)

// Flags of the tests and benchmarks that need a card.
var (
	flagWindows = flag.Int("msm.windows", 0, "windows of every MSM in the benchmarks; 0 lets the plan choose")
	flagLogG1   = flag.Int("msm.g1", 22, "log2 of the largest sum in G1")
	flagLogG2   = flag.Int("msm.g2", 20, "log2 of the largest sum in G2")
	flagBlock   = flag.Int("msm.binblock", 0, "threads of the blocks that sort bins")
	flagPTX     = flag.String("msm.ptx", "", "file of a variant of the kernel of additions")
	flagScratch = flag.Int64("msm.scratch", 32<<30, "bytes of scratch memory in the benchmarks")
)

// gpuBench opens the first card, or skips where there is none.
func gpuBench(t testing.TB) (*Summer, *gpu.Owner) {
	t.Helper()
	o, err := gpu.Open(firstCard(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.Close() })
	var stream gpu.Stream
	if err := o.Do(func(c *gpu.Context) (err error) { stream, err = c.NewStream(); return err }); err != nil {
		t.Fatal(err)
	}
	s, err := NewSummer(o, stream)
	if err != nil {
		t.Fatal(err)
	}
	if *flagPTX != "" {
		replaceOps(t, s, o)
	}
	s.code.facts.binBlock = *flagBlock
	return s, o
}

// replaceOps takes the kernel of additions from a file instead of the embedded
// module, to compare variants.
func replaceOps(t testing.TB, s *Summer, o *gpu.Owner) {
	t.Helper()
	image, err := os.ReadFile(*flagPTX)
	if err != nil {
		t.Fatal(err)
	}
	err = o.Do(func(c *gpu.Context) error {
		if strings.Contains(string(image), "_ops_async") {
			if image, err = raiseTarget(image); err != nil {
				return err
			}
		}
		m, err := c.LoadModule(*flagPTX, image)
		if err != nil {
			return err
		}
		for _, k := range []string{"g1_ops", "g2_ops", "g1_ops_async", "g2_ops_async"} {
			if f, err := c.Function(m, k); err == nil {
				s.code.kernels[k] = f
			}
		}
		async := strings.Contains(string(image), "_ops_async")
		return s.code.prepare(c, async)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// loadCurve adds a kernel of module curve to those of the sums.
func (b *bench) loadCurve(name string) error {
	d, ok := b.s.dev.(*card)
	if !ok {
		return nil
	}
	return d.owner.Do(func(c *gpu.Context) error { return d.code.load(c, "curve", checks.Curve, []string{name}) })
}

func ownerAlloc(o *gpu.Owner) func(int64) (gpu.Memory, error) {
	return func(n int64) (m gpu.Memory, err error) {
		err = o.Do(func(c *gpu.Context) (err error) {
			if m, err = c.Alloc(n); err == nil {
				err = c.Memset(m, 0xa5, gpu.Stream{})
			}
			if err == nil {
				err = c.SyncStream(gpu.Stream{})
			}
			return err
		})
		return m, err
	}
}

func ownerFree(o *gpu.Owner) func(gpu.Memory) error {
	return func(m gpu.Memory) error { return o.Do(func(c *gpu.Context) error { return c.Free(m) }) }
}

// series is a large sum with known answer: points [1]G, [2]G, ... and scalars.
type series struct {
	points, scratch gpu.Memory
	scalars         Scalars
	values          []fr.Element
}

// upload copies a slice of elements.
func elementBytes(v []fr.Element) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), 32*len(v))
}

// parallel splits 0 ... n-1 over the cores.
func parallel(n int, fn func(from, to int)) {
	var wg sync.WaitGroup
	step := (n + runtime.NumCPU() - 1) / runtime.NumCPU()
	for from := 0; from < n; from += step {
		wg.Go(func() { fn(from, min(from+step, n)) })
	}
	wg.Wait()
}

// uniform elements by rejection of the top word.
func uniform(n int, seed uint64) []fr.Element {
	v := make([]fr.Element, n)
	parallel(n, func(from, to int) {
		r := rand.NewPCG(seed, uint64(from))
		for i := from; i < to; i++ {
			v[i] = fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64() >> 1}
			for v[i][3] >= 0x73eda753299d7d48 {
				v[i][3] = r.Uint64() >> 1
			}
		}
	})
	return v
}

// expect is the sum of v[i] (i+1) over the chosen i.
func expect(v []fr.Element, chosen func(i int) bool) *big.Int {
	var sum fr.Element
	var mu sync.Mutex
	parallel(len(v), func(from, to int) {
		var part, t fr.Element
		for i := from; i < to; i++ {
			if chosen == nil || chosen(i) {
				k := fr.NewElement(uint64(i + 1))
				part.Add(&part, t.Mul(&v[i], &k))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum.Add(&sum, &part)
	})
	return sum.BigInt(new(big.Int))
}

// newSeries makes 2^log points of a group by multiples of the fixed base.
func newSeries(tb testing.TB, s *Summer, o *gpu.Owner, g2 bool, log int) *series {
	tb.Helper()
	alloc, n := ownerAlloc(o), 1<<log
	cv, bytes := curveG1, int64(TableBytesG1)
	if g2 {
		cv, bytes = curveG2, TableBytesG2
	}
	var q series
	var table, chunk gpu.Memory
	for m, size := range map[*gpu.Memory]int64{
		&q.points: int64(n) * cv.point, &q.scratch: *flagScratch, &q.scalars.Memory: int64(n) * 32, &table: bytes, &chunk: 32 << 22,
	} {
		var err error
		if *m, err = alloc(size); err != nil {
			tb.Fatal(err)
		}
	}
	q.fillPoints(tb, s, g2, cv, table, chunk, n)
	q.values = uniform(n, uint64(log))
	q.scalars.Count, q.scalars.Form = n, Montgomery
	if err := s.dev.do(func(d queue) error { return d.upload(q.scalars.Memory, elementBytes(q.values)) }); err != nil {
		tb.Fatal(err)
	}
	if err := errors.Join(ownerFree(o)(table), ownerFree(o)(chunk)); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for _, m := range []gpu.Memory{q.points, q.scratch, q.scalars.Memory} {
			ownerFree(o)(m)
		}
	})
	return &q
}

func (q *series) fillPoints(tb testing.TB, s *Summer, g2 bool, cv curve, table, chunk gpu.Memory, n int) {
	tb.Helper()
	ctx := context.Background()
	_, _, b1, b2 := bls12381.Generators()
	var err error
	if g2 {
		err = s.TableG2(ctx, b2, table, q.scratch)
	} else {
		err = s.TableG1(ctx, b1, table, q.scratch)
	}
	step := min(n, 1<<22)
	index := make([]fr.Element, step)
	for from := 0; from < n && err == nil; from += step {
		parallel(step, func(a, b int) {
			for i := a; i < b; i++ {
				index[i] = fr.Element{uint64(from + i + 1)}
			}
		})
		err = s.dev.do(func(c queue) error { return c.upload(chunk, elementBytes(index)) })
		if err == nil {
			out := q.points.Slice(int64(from)*cv.point, int64(step)*cv.point)
			err = s.fixed(ctx, cv, table, Scalars{chunk, step, Canonical}, out, q.scratch)
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// run sums the first 2^log terms and checks the result.
func (q *series) run(tb testing.TB, s *Summer, g2 bool, log int) {
	tb.Helper()
	n := 1 << log
	k := Scalars{q.scalars.Memory.Slice(0, int64(n)*32), n, Montgomery}
	q.compare(tb, g2, expect(q.values[:n], nil), func() (bls12381.G1Affine, error) {
		return s.MSMG1(context.Background(), q.points, k, q.scratch)
	}, func() (bls12381.G2Affine, error) {
		return s.MSMG2(context.Background(), q.points, k, q.scratch)
	})
}

func (q *series) compare(tb testing.TB, g2 bool, want *big.Int, f1 func() (bls12381.G1Affine, error), f2 func() (bls12381.G2Affine, error)) {
	tb.Helper()
	if g2 {
		got, err := f2()
		var w bls12381.G2Affine
		if w.ScalarMultiplicationBase(want); err != nil || !got.Equal(&w) {
			tb.Fatalf("G2: %v, %v, want %v", err, got.String(), w.String())
		}
		return
	}
	got, err := f1()
	var w bls12381.G1Affine
	if w.ScalarMultiplicationBase(want); err != nil || !got.Equal(&w) {
		tb.Fatalf("G1: %v, %v, want %v", err, got.String(), w.String())
	}
}

// bits makes a random bitmap, a word of 64 bits an element of two words.
func (q *series) bits(tb testing.TB, o *gpu.Owner, n int) (Bits, func(int) bool) {
	tb.Helper()
	r, words := rand.NewPCG(1, 2), make([]fr.Element, (n+255)/256)
	for i := range words {
		words[i] = fr.Element{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
	}
	m, err := ownerAlloc(o)(int64(len(words)) * 32)
	if err != nil {
		tb.Fatal(err)
	}
	if err := o.Do(func(c *gpu.Context) error {
		return errors.Join(c.Upload(m, elementBytes(words)), c.SyncStream(gpu.Stream{}))
	}); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { ownerFree(o)(m) })
	return Bits{m, n}, func(i int) bool { return words[i/256][i%256/64]>>(i%64)&1 == 1 }
}

// runBits checks the sum over bits.
func (q *series) runBits(tb testing.TB, s *Summer, o *gpu.Owner, g2 bool, log int) {
	tb.Helper()
	n := 1 << log
	b, set := q.bits(tb, o, n)
	ones := make([]fr.Element, n)
	parallel(n, func(from, to int) {
		for i := from; i < to; i++ {
			ones[i].SetOne()
		}
	})
	q.compare(tb, g2, expect(ones, set), func() (bls12381.G1Affine, error) {
		return s.BitsG1(context.Background(), q.points, b, q.scratch)
	}, func() (bls12381.G2Affine, error) {
		return s.BitsG2(context.Background(), q.points, b, q.scratch)
	})
}

// TestGPULargeSums checks sums up to the sizes of the flags by known logarithms.
func TestGPULargeSums(t *testing.T) {
	s, o := gpuBench(t)
	s.windows = *flagWindows
	for _, g := range []struct {
		g2  bool
		max int
	}{{false, *flagLogG1}, {true, *flagLogG2}} {
		t.Run(fmt.Sprintf("G2=%v", g.g2), func(t *testing.T) {
			q := newSeries(t, s, o, g.g2, g.max)
			for log := 10; log <= g.max; log++ {
				q.run(t, s, g.g2, log)
			}
			q.runBits(t, s, o, g.g2, g.max)
			t.Logf("exceptions so far: %d", s.Exceptions())
		})
	}
}

func BenchmarkMSMG1(b *testing.B) { benchmarkMSM(b, false, *flagLogG1) }
func BenchmarkMSMG2(b *testing.B) { benchmarkMSM(b, true, *flagLogG2) }

func benchmarkMSM(b *testing.B, g2 bool, top int) {
	s, o := gpuBench(b)
	s.windows = *flagWindows
	q := newSeries(b, s, o, g2, top)
	ctx := context.Background()
	for log := 16; log <= top; log++ {
		if log%2 == 1 && log < top-2 {
			continue
		}
		k := Scalars{q.scalars.Memory.Slice(0, 32<<log), 1 << log, Montgomery}
		once := func() (err error) {
			if g2 {
				_, err = s.MSMG2(ctx, q.points, k, q.scratch)
			} else {
				_, err = s.MSMG1(ctx, q.points, k, q.scratch)
			}
			return err
		}
		b.Run(fmt.Sprintf("2^%d", log), func(b *testing.B) {
			q.profile(b, s, once)
			for b.Loop() {
				if err := once(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(int(1)<<log)/b.Elapsed().Seconds()/1e6, "Mpoint/s")
		})
	}
	bits, _ := q.bits(b, o, 1<<top)
	b.Run(fmt.Sprintf("bits/2^%d", top), func(b *testing.B) {
		once := func() (err error) {
			if g2 {
				_, err = s.BitsG2(ctx, q.points, bits, q.scratch)
			} else {
				_, err = s.BitsG1(ctx, q.points, bits, q.scratch)
			}
			return err
		}
		q.profile(b, s, once)
		for b.Loop() {
			if err := once(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("fixed/2^20", func(b *testing.B) { benchmarkFixed(b, s, o, q, g2) })
}

// benchmarkFixed overwrites the first points: it runs last.
func benchmarkFixed(b *testing.B, s *Summer, o *gpu.Owner, q *series, g2 bool) {
	cv, bytes := curveG1, int64(TableBytesG1)
	if g2 {
		cv, bytes = curveG2, TableBytesG2
	}
	const n = 1 << 20
	table, err := ownerAlloc(o)(bytes)
	if err != nil {
		b.Fatal(err)
	}
	defer ownerFree(o)(table)
	q.fillPoints(b, s, g2, cv, table, q.scalars.Memory, n)
	k := Scalars{q.scalars.Memory, n, Montgomery}
	for b.Loop() {
		if err := s.fixed(context.Background(), cv, table, k, q.points.Slice(0, n*cv.point), q.scratch); err != nil {
			b.Fatal(err)
		}
	}
}

// profile logs the device times of the stages of one call.
func (q *series) profile(b *testing.B, s *Summer, once func() error) {
	b.Helper()
	if err := once(); err != nil {
		b.Fatal(err)
	}
	s.Profile()
	if err := once(); err != nil {
		b.Fatal(err)
	}
	stages, err := s.Stages()
	if err != nil {
		b.Fatal(err)
	}
	line := ""
	for _, st := range stages {
		line += fmt.Sprintf("  %s %.2f ms", st.Stage, float64(st.Took.Microseconds())/1000)
	}
	b.Logf("%s", line)
}

// TestGPUAdverseLargeSums has large buckets, so that rows are sorted the slow way
// and trees are deep.
func TestGPUAdverseLargeSums(t *testing.T) {
	s, o := gpuBench(t)
	const log = 20
	for _, g2 := range []bool{false, true} {
		q := newSeries(t, s, o, g2, log)
		for _, name := range []string{"equal", "bits", "minus one", "one nonzero"} {
			t.Run(fmt.Sprintf("G2=%v/%s", g2, name), func(t *testing.T) {
				q.values = scalarsOf(1<<log, scalarKinds[name], 15)
				if err := s.dev.do(func(d queue) error { return d.upload(q.scalars.Memory, elementBytes(q.values)) }); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				q.run(t, s, g2, log)
				t.Logf("with the check %v", time.Since(start))
			})
		}
	}
}

// TestGPUDeepLists has few additions share an inversion, so that warps take many
// chunks in turn.
func TestGPUDeepLists(t *testing.T) {
	s, o := gpuBench(t)
	_, _, g1, g2 := bls12381.Generators()
	const n = 1 << 16
	k := uniform(n, 3)
	b := &bench{t, s, ownerAlloc(o), ownerFree(o)}
	scalars := Scalars{b.put(elementBytes(k)), n, Montgomery}
	table, out, scratch := b.memory(TableBytesG2), b.memory(n*192), b.memory(2<<30)
	w1, w2 := bls12381.BatchScalarMultiplicationG1(&g1, k), bls12381.BatchScalarMultiplicationG2(&g2, k)
	for _, depth := range []int{128, 3, 2, 1} {
		s.code.facts.depth = depth
		ctx := context.Background()
		if err := errors.Join(s.TableG1(ctx, g1, table, scratch), s.FixedG1(ctx, table, scalars, out, scratch)); err != nil {
			t.Fatal(err)
		}
		data, wrong, first := b.get(out), 0, -1
		for i := range w1 {
			if p := decodeG1(data[96*i:]); !p.Equal(&w1[i]) {
				if wrong++; first < 0 {
					first = i
				}
			}
		}
		if wrong > 0 {
			t.Errorf("depth %d: %d of %d in G1 are wrong, the first is %d", depth, wrong, n, first)
		}
		if err := errors.Join(s.TableG2(ctx, g2, table, scratch), s.FixedG2(ctx, table, scalars, out, scratch)); err != nil {
			t.Fatal(err)
		}
		data, wrong, first = b.get(out), 0, -1
		for i := range w2 {
			if p := decodeG2(data[192*i:]); !p.Equal(&w2[i]) {
				if wrong++; first < 0 {
					first = i
				}
			}
		}
		if wrong > 0 {
			t.Errorf("depth %d: %d of %d in G2 are wrong, the first is %d", depth, wrong, n, first)
		}
	}
}
