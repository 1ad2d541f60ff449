package cuda

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	gpu "cuzk/cuda"
)

// bench is a device under test with its memory.
type bench struct {
	*testing.T
	s     *Summer
	alloc func(bytes int64) (gpu.Memory, error)
	free  func(gpu.Memory) error
}

func hostedBench(t *testing.T) *bench {
	s := newHosted(t)
	h := s.dev.(*hosted)
	return &bench{t, s, h.alloc, h.free}
}

func gpuTestBench(t *testing.T) *bench {
	s, o := gpuBench(t)
	return &bench{t, s, ownerAlloc(o), ownerFree(o)}
}

// onDevices runs a test on the stand-in and on a card, where there is one.
func onDevices(t *testing.T, test func(b *bench)) {
	t.Run("hosted", func(t *testing.T) { test(hostedBench(t)) })
	t.Run("card", func(t *testing.T) { test(gpuTestBench(t)) })
}

func (b *bench) run(name string, test func(b *bench)) {
	b.Run(name, func(t *testing.T) { test(&bench{t, b.s, b.alloc, b.free}) })
}

func (b *bench) memory(bytes int64) gpu.Memory {
	b.Helper()
	m, err := b.alloc(max(bytes, 1))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := b.free(m); err != nil {
			b.Error(err)
		}
	})
	return m
}

func (b *bench) put(data []byte) gpu.Memory {
	b.Helper()
	m := b.memory(int64(len(data)))
	if err := b.s.dev.do(func(q queue) error { return q.upload(m, data) }); err != nil {
		b.Fatal(err)
	}
	return m
}

func (b *bench) get(m gpu.Memory) []byte {
	b.Helper()
	out := make([]byte, m.Bytes)
	if err := b.s.dev.do(func(q queue) error { return q.download(out, m) }); err != nil {
		b.Fatal(err)
	}
	return out
}

func (b *bench) scalars(k []fr.Element, form ScalarForm) Scalars {
	b.Helper()
	var data []byte
	for i := range k {
		w := [4]uint64(k[i])
		if form == Canonical {
			w = k[i].Bits()
		}
		data = encode(data, w[:])
	}
	return Scalars{b.put(data), len(k), form}
}

func encodeG1(p []bls12381.G1Affine) (b []byte) {
	for i := range p {
		b = encode(b, p[i].X[:], p[i].Y[:])
	}
	return b
}

func encodeG2(p []bls12381.G2Affine) (b []byte) {
	for i := range p {
		b = encode(b, p[i].X.A0[:], p[i].X.A1[:], p[i].Y.A0[:], p[i].Y.A1[:])
	}
	return b
}

// source makes the same values in every run.
func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 381)) }

func randomScalar(r *rand.Rand) (s fr.Element) {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	s.SetBytes(b[:])
	return s
}

// basis is n multiples of the generators with known factors.
type basis struct {
	factor []fr.Element
	g1     []bls12381.G1Affine
	g2     []bls12381.G2Affine
}

// newBasis takes factor(i) as the i-th factor; 0 makes infinity.
func newBasis(n int, factor func(i int) fr.Element) *basis {
	_, _, g1, g2 := bls12381.Generators()
	b := &basis{factor: make([]fr.Element, n)}
	for i := range b.factor {
		b.factor[i] = factor(i)
	}
	if n > 0 {
		b.g1 = bls12381.BatchScalarMultiplicationG1(&g1, b.factor)
		b.g2 = bls12381.BatchScalarMultiplicationG2(&g2, b.factor)
	}
	return b
}

// sums is what both groups must give for the scalars.
func (b *basis) sums(k []fr.Element) (p1 bls12381.G1Affine, p2 bls12381.G2Affine) {
	var sum, t fr.Element
	for i := range k {
		sum.Add(&sum, t.Mul(&k[i], &b.factor[i]))
	}
	var n big.Int
	sum.BigInt(&n)
	p1.ScalarMultiplicationBase(&n)
	p2.ScalarMultiplicationBase(&n)
	return p1, p2
}

// kinds of points and scalars that a sum must survive.
var factorKinds = map[string]func(*rand.Rand) func(int) fr.Element{
	"random": func(r *rand.Rand) func(int) fr.Element { return func(int) fr.Element { return randomScalar(r) } },
	"equal": func(r *rand.Rand) func(int) fr.Element {
		s := randomScalar(r)
		return func(int) fr.Element { return s }
	},
	"opposite": func(r *rand.Rand) func(int) fr.Element {
		s := randomScalar(r)
		return func(i int) (e fr.Element) {
			if i%2 == 1 {
				e.Neg(&s)
				return e
			}
			return s
		}
	},
	"some infinite": func(r *rand.Rand) func(int) fr.Element {
		return func(i int) (e fr.Element) {
			if i%3 != 0 {
				e = randomScalar(r)
			}
			return e
		}
	},
	"all infinite": func(*rand.Rand) func(int) fr.Element { return func(int) fr.Element { return fr.Element{} } },
	"few": func(r *rand.Rand) func(int) fr.Element {
		return func(int) fr.Element { return fr.NewElement(1 + r.Uint64N(3)) }
	},
}

var scalarKinds = map[string]func(*rand.Rand) func(int) fr.Element{
	"random": factorKinds["random"],
	"zero":   factorKinds["all infinite"],
	"one":    func(*rand.Rand) func(int) fr.Element { return func(int) fr.Element { return fr.One() } },
	"minus one": func(*rand.Rand) func(int) fr.Element {
		return func(int) (e fr.Element) { return *e.SetInt64(-1) }
	},
	"equal": factorKinds["equal"],
	"0, 1, -1": func(r *rand.Rand) func(int) fr.Element {
		return func(int) (e fr.Element) { return *e.SetInt64(int64(r.IntN(3)) - 1) }
	},
	"bits": func(r *rand.Rand) func(int) fr.Element {
		return func(i int) fr.Element {
			if i%100 == 0 {
				return randomScalar(r)
			}
			return fr.NewElement(r.Uint64N(2))
		}
	},
	"one nonzero": func(r *rand.Rand) func(int) fr.Element {
		return func(i int) (e fr.Element) {
			if i == 5 {
				e = randomScalar(r)
			}
			return e
		}
	},
	"halves of r": func(r *rand.Rand) func(int) fr.Element {
		half := new(big.Int).Rsh(fr.Modulus(), 1)
		return func(i int) (e fr.Element) {
			return *e.SetBigInt(new(big.Int).Add(half, big.NewInt(int64(i%5)-2)))
		}
	},
	"window borders": func(r *rand.Rand) func(int) fr.Element {
		return func(i int) (e fr.Element) {
			b := new(big.Int).Lsh(big.NewInt(1), uint(i*7%255))
			return *e.SetBigInt(b.Add(b, big.NewInt(int64(i%3)-1)))
		}
	},
}

func scalarsOf(n int, kind func(*rand.Rand) func(int) fr.Element, seed uint64) []fr.Element {
	f, out := kind(source(seed)), make([]fr.Element, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// scratch is memory enough for every small sum of the tests: on a card the
// prefix products of all its warps take the most.
func (b *bench) scratch() gpu.Memory {
	b.Helper()
	return b.memory(64<<20 + 2*b.s.dev.facts().prefixBytes(curveG2))
}

// checkMSM compares both groups with the known sum.
func (b *bench) checkMSM(v *basis, k []fr.Element, form ScalarForm, scratch gpu.Memory) {
	b.Helper()
	n := len(k)
	s := b.scalars(k, form)
	w1, w2 := v.sums(k)
	g1, err := b.s.MSMG1(context.Background(), b.put(encodeG1(v.g1[:n])), s, scratch)
	if err != nil {
		b.Fatal(err)
	}
	if !g1.Equal(&w1) {
		b.Errorf("G1: %s, want %s", g1.String(), w1.String())
	}
	g2, err := b.s.MSMG2(context.Background(), b.put(encodeG2(v.g2[:n])), s, scratch)
	if err != nil {
		b.Fatal(err)
	}
	if !g2.Equal(&w2) {
		b.Errorf("G2: %s, want %s", g2.String(), w2.String())
	}
}

func TestMSMOfAllSizes(t *testing.T) {
	v := newBasis(513, factorKinds["random"](source(1)))
	onDevices(t, func(b *bench) {
		scratch := b.scratch()
		sizes := []int{0, 1, 2, 3, 31, 32, 33, 64, 65, 127, 513}
		if testing.Short() {
			sizes = []int{0, 1, 33, 127}
		}
		for _, n := range sizes {
			b.run(fmt.Sprint(n), func(b *bench) {
				b.checkMSM(v, scalarsOf(n, scalarKinds["random"], uint64(n)), ScalarForm(n%2), scratch)
			})
		}
	})
}

func TestMSMOfAdverseInputs(t *testing.T) {
	const n = 100
	onDevices(t, func(b *bench) {
		scratch := b.scratch()
		for points, factor := range factorKinds {
			if testing.Short() && points != "few" {
				continue // a second for every pair on the CPU
			}
			v := newBasis(n, factor(source(2)))
			for scalars, kind := range scalarKinds {
				if testing.Short() && scalars != "0, 1, -1" && scalars != "window borders" && scalars != "one nonzero" {
					continue
				}
				b.run(points+" points, "+scalars+" scalars", func(b *bench) {
					b.checkMSM(v, scalarsOf(n, kind, 3), Montgomery, scratch)
				})
			}
		}
	})
}

// TestMSMWithoutAsynchronousCopies is for the kernels of older cards.
func TestMSMWithoutAsynchronousCopies(t *testing.T) {
	if testing.Short() {
		t.Skip("seconds: runs without -short")
	}
	const n = 100
	v := newBasis(n, factorKinds["few"](source(13)))
	b := hostedBench(t)
	b.s.dev.(*hosted).fact.async = false
	for name, kind := range scalarKinds {
		if testing.Short() && name != "random" {
			continue
		}
		b.run(name, func(b *bench) { b.checkMSM(v, scalarsOf(n, kind, 14), Montgomery, b.scratch()) })
	}
}

// TestMSMInParts forces every way of cutting the work.
func TestMSMInParts(t *testing.T) {
	const n = 400
	v := newBasis(n, factorKinds["few"](source(6)))
	k := scalarsOf(n, scalarKinds["random"], 7)
	onDevices(t, func(b *bench) {
		for _, group := range []int{1, 3} {
			for _, size := range []int{n, 150} {
				if testing.Short() && (group > 1 || size < n) {
					continue
				}
				b.run(fmt.Sprintf("groups of %d, parts of %d", group, size), func(b *bench) { b.checkPlan(v, k, group, size) })
			}
		}
	})
}

// checkPlan runs a plan that the planner would not choose for the size: windows
// wide enough that rows and columns are halved.
func (b *bench) checkPlan(v *basis, k []fr.Element, group, size int) {
	b.Helper()
	p := newPlan(b.s.dev.facts(), curveG1, size, newWindows(20), group, 2*group)
	p.halvings = 4
	if group == 3 {
		p.binLimit = 10 // every row is sorted the slow way
	}
	t, err := b.s.runParts(context.Background(), &p, b.put(encodeG1(v.g1)), b.scalars(k, Montgomery), b.memory(p.bytes(b.s.dev.facts())))
	if err != nil {
		b.Fatal(err)
	}
	var got bls12381.G1Affine
	sum := weightedSum(t, decodeG1, func(acc *bls12381.G1Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G1Jac, p *bls12381.G1Affine) { acc.AddMixed(p) })
	got.FromJacobian(&sum)
	if want, _ := v.sums(k); !got.Equal(&want) {
		b.Errorf("%s, want %s", got.String(), want.String())
	}
}

// TestMSMAgreesWithGnark has another algorithm as the judge.
func TestMSMAgreesWithGnark(t *testing.T) {
	const n = 300
	v := newBasis(n, factorKinds["random"](source(4)))
	k := scalarsOf(n, scalarKinds["random"], 5)
	var want bls12381.G1Affine
	if _, err := want.MultiExp(v.g1, k, ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	onDevices(t, func(b *bench) {
		got, err := b.s.MSMG1(context.Background(), b.put(encodeG1(v.g1)), b.scalars(k, Montgomery), b.scratch())
		if err != nil || !got.Equal(&want) {
			b.Errorf("%v, %s, want %s", err, got.String(), want.String())
		}
	})
}

// TestMSMRefuses: what cannot be done is an error that says so.
func TestMSMRefuses(t *testing.T) {
	onDevices(t, func(b *bench) {
		k := b.scalars(make([]fr.Element, 4), Montgomery)
		points := b.memory(4 * 96)
		if _, err := b.s.MSMG1(context.Background(), points, k, b.memory(1000)); err == nil {
			b.Error("1000 bytes of scratch memory were enough")
		}
		k.Count = 5
		if _, err := b.s.MSMG1(context.Background(), points, k, b.scratch()); err == nil {
			b.Error("5 scalars in the memory of 4 were accepted")
		}
		k.Count = 4
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := b.s.MSMG1(ctx, points, k, b.scratch()); err == nil {
			b.Error("a cancelled context was ignored")
		}
	})
}
