package cuda

import (
	"bytes"
	"context"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
)

// pointKernels are those of kernels/points, with the forms of key files.
var pointKernels = []string{
	"points_encode", "points_factors", "points_twists", "points_scale", "points_scale_each", "points_pairs", "points_load", "points_move",
	"points_gather", "points_affine", "key_g1", "file_g1",
}

var hostedPointsProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "hosted")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := hostedSources(dir); err != nil {
		return nil, err
	}
	for _, f := range []string{"points", "setup"} {
		if err := os.CopyFS(filepath.Join(dir, f), os.DirFS("../../kernels/"+f)); err != nil {
			return nil, err
		}
	}
	main, err := os.ReadFile(filepath.Join(dir, "msm/hosted/main.cc"))
	if err != nil {
		return nil, err
	}
	text := strings.Replace(string(main), `#include "../msm_tree.cu"`, `#include "../msm_tree.cu"
#include "../../points/points.cu"
#include "../../setup/key.cu"
#include "../../setup/file.cu"`, 1)
	text = strings.Replace(text, "K(g2_ops)", "K(g2_ops), K("+strings.Join(pointKernels, "), K(")+")", 1)
	if err := os.WriteFile(filepath.Join(dir, "msm/hosted/main.cc"), []byte(text), 0o644); err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "device")
	cmd := exec.Command("clang++-19", "-std=c++17", "-O2", "-w", "-I"+filepath.Join(dir, "field"), filepath.Join(dir, "msm/hosted/main.cc"), "-o", program)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(program)
})

func newPointsMachine(t testing.TB) *hostedMachine {
	t.Helper()
	if _, err := exec.LookPath("clang++-19"); err != nil {
		t.Skip("the kernels are compiled for the host by clang++-19, which is not installed")
	}
	program, err := hostedPointsProgram()
	if err != nil {
		t.Fatal(err)
	}
	m := &hostedMachine{hosted: startHosted(t, program), mu: &sync.Mutex{}, sizes: map[uint64]int64{}}
	m.sums = &Summer{dev: m}
	return m
}

// vectorsOn makes the work on vectors of 2^logN points, released with the test.
func vectorsOn(t testing.TB, m machine, logN int, piece int64) *pointVectors {
	t.Helper()
	v, err := newPointVectors(m, logN, piece)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.free(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// put loads multiples of the generator into a new vector.
func (v *pointVectors) put(t testing.TB, k []fr.Element) gpu.Memory {
	t.Helper()
	mem, err := v.vector()
	if err != nil {
		t.Fatal(err)
	}
	_, _, g, _ := bls12381.Generators()
	p := bls12381.BatchScalarMultiplicationG1(&g, k)
	for from := int64(0); from < int64(len(p)); from += v.piece {
		n := min(v.piece, int64(len(p))-from)
		err := enqueueWith(v.m, v.affine, rawBytes(p[from:from+n]), func(s *steps) {
			s.launch("points_load", perPoint(int(n)), v.affine, uint32(n), uint32(from), mem)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return mem
}

func enqueueWith(m machine, to gpu.Memory, data []byte, fn func(*steps)) error {
	if err := m.send(context.Background(), to.Slice(0, int64(len(data))), bytesOf(data)); err != nil {
		return err
	}
	return enqueue(m, fn)
}

// compare wants a vector to be multiples of the generator.
func (v *pointVectors) compare(t testing.TB, what string, mem gpu.Memory, k []fr.Element) {
	t.Helper()
	_, _, g, _ := bls12381.Generators()
	want := bls12381.BatchScalarMultiplicationG1(&g, k)
	got := make([]bls12381.G1Affine, len(k))
	for from := int64(0); from < int64(len(k)); from += v.piece {
		n := min(v.piece, int64(len(k))-from)
		part := mem.Slice(from*jacobianBytes, n*jacobianBytes)
		err := enqueue(v.m, func(s *steps) {
			s.launch("points_affine", perPoint(int((n+affineShare-1)/affineShare)), part, uint32(n), v.affine)
		})
		if err == nil {
			err = settle(context.Background(), v.m)
		}
		if err == nil {
			err = v.m.do(func(q queue) error { return q.download(rawBytes(got[from:from+n]), v.affine) })
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bad := 0
	for i := range want {
		if got[i] != want[i] {
			if bad++; bad < 4 {
				t.Errorf("%s: point %d of %d differs", what, i, len(k))
			}
		}
	}
}

// scalarsAtEdges are numbers that take the rare branches of a multiplication.
func scalarsAtEdges() []fr.Element {
	x := new(big.Int).SetUint64(0xd201000000010000)
	x2 := new(big.Int).Mul(x, x)
	var out []fr.Element
	for _, base := range []*big.Int{new(big.Int), x, x2, new(big.Int).Mul(x, x2), new(big.Int).Lsh(big.NewInt(1), 128), new(big.Int).Sub(x2, big.NewInt(1))} {
		for d := int64(-9); d < 10; d++ {
			var k fr.Element
			out = append(out, *k.SetBigInt(new(big.Int).Add(base, big.NewInt(d))))
		}
	}
	for i := range 40 {
		var k fr.Element
		out = append(out, *k.SetBigInt(new(big.Int).Lsh(big.NewInt(1), uint(6*i+9))))
	}
	return out
}

func pad(k []fr.Element, n int, seed uint64) []fr.Element {
	r := newRandom(seed)
	for len(k) < n {
		k = append(k, r.element())
	}
	return k[:n]
}

// randomScalars is a reproducible sequence.
type randomScalars struct{ at fr.Element }

func newRandom(seed uint64) *randomScalars {
	r := &randomScalars{}
	r.at.SetUint64(seed + 3)
	return r
}

func (r *randomScalars) element() fr.Element {
	var one fr.Element
	r.at.Square(&r.at).Square(&r.at).Add(&r.at, one.SetUint64(11))
	return r.at
}

// TestHostedMultiples multiplies points by edge scalars both ways.
func TestHostedMultiples(t *testing.T) {
	t.Parallel()
	testMultiples(t, newPointsMachine(t), 8, 64)
}

func testMultiples(t *testing.T, m machine, logN int, piece int64) {
	ctx, v := context.Background(), vectorsOn(t, m, logN, piece)
	n := int(v.n())
	k, p := pad(scalarsAtEdges(), n, 1), pad([]fr.Element{{}, {}}, n, 2)
	want := make([]fr.Element, n)
	for i := range want {
		want[i].Mul(&k[i], &p[i])
	}
	mem := v.put(t, p)
	if err := v.multiplyAll(ctx, mem, v.n(), func() ([]fr.Element, error) { return k, nil }); err != nil {
		t.Fatal(err)
	}
	v.compare(t, "scalars of their own", mem, want)
	v.sharedMultiples(t, k, p, want)
}

// sharedMultiples gives each scalar a program, by a layout of one point a part.
func (v *pointVectors) sharedMultiples(t *testing.T, k, p, want []fr.Element) {
	mem := v.put(t, p)
	l := placing{lgBlock: 0, lgPart: 0, parts: 1}
	for from := int64(0); from < v.n(); from += 32 {
		at := from
		err := enqueueWith(v.m, v.scalars, rawBytes(k[at:at+32]), func(s *steps) {
			s.launch("points_encode", perPoint(32), v.scalars, uint32(32), v.steps)
			s.launch("points_scale", perPoint(32), l.args(mem, at, 32, v.steps, uint32(0))...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	v.compare(t, "written programs", mem, want)
}

// TestHostedPointTransform compares transforms with those of the exponents, on
// random points and on ones that are equal, opposite and infinite.
func TestHostedPointTransform(t *testing.T) {
	t.Parallel()
	m := newPointsMachine(t)
	testTransforms(t, m, 6, 40)
	if !testing.Short() {
		testTransforms(t, m, 7, 32)
		testTransforms(t, m, 8, 100)
	}
}

func testTransforms(t *testing.T, m machine, logN int, piece int64) {
	v := vectorsOn(t, m, logN, piece)
	for name, k := range transformInputs(int(v.n())) {
		for _, coset := range []bool{false, true} {
			v.testTransform(t, fmt.Sprintf("2^%d, %s, coset %t", logN, name, coset), k, coset)
		}
	}
}

func transformInputs(n int) map[string][]fr.Element {
	same, sparse, sign := make([]fr.Element, n), make([]fr.Element, n), make([]fr.Element, n)
	r := newRandom(5)
	for i := range n {
		same[i].SetUint64(7)
		sign[i].SetInt64(int64(1 - 2*(i&1)))
		if i%7 == 0 || i > n/2 && i%3 == 0 {
			sparse[i] = r.element()
		}
	}
	return map[string][]fr.Element{"random": pad(nil, n, 9), "equal": same, "opposite": sign, "with infinite ones": sparse, "infinite": make([]fr.Element, n)}
}

func (v *pointVectors) testTransform(t *testing.T, what string, k []fr.Element, coset bool) {
	ctx, mem, r := context.Background(), v.put(t, k), v.cyclic()
	r.coset = coset
	if err := v.transform(ctx, mem, r, false); err != nil {
		t.Fatal(err)
	}
	v.compare(t, what, mem, evaluations(t, v.logN, k, coset))
	if err := v.transform(ctx, mem, r, true); err != nil {
		t.Fatal(err)
	}
	times := make([]fr.Element, len(k))
	var n fr.Element
	n.SetUint64(uint64(len(k)))
	for i := range k {
		times[i].Mul(&k[i], &n)
	}
	v.compare(t, what+", back", mem, times)
}

// evaluations are Σ k_j x^j at the roots of unity or on the coset, in bit-reversed
// order.
func evaluations(t *testing.T, logN int, k []fr.Element, coset bool) []fr.Element {
	g, err := fr.Generator(2 << logN)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]fr.Element, len(k))
	for i := range k {
		e := 2 * int64(reverse(uint32(i), logN))
		if coset {
			e++
		}
		var x fr.Element
		x.Exp(g, big.NewInt(e))
		for j := len(k) - 1; j >= 0; j-- {
			out[i].Mul(&out[i], &x).Add(&out[i], &k[j])
		}
	}
	return out
}

// pointList is a list of points in memory.
func pointList(k []fr.Element) rawQuery {
	_, _, g, _ := bls12381.Generators()
	var raw []byte
	for _, p := range bls12381.BatchScalarMultiplicationG1(&g, k) {
		b := p.RawBytes()
		raw = append(raw, b[:]...)
	}
	return rawQuery{raw, 96}
}

// powersOfKey are the exponents of h of a key from these secrets.
func powersOfKey(f *forms.Form, tau, delta fr.Element) []fr.Element {
	h := make([]fr.Element, f.N()-1)
	one := fr.One()
	h[0].Exp(tau, big.NewInt(int64(f.N())))
	h[0].Sub(&h[0], &one).Div(&h[0], &delta)
	for i := 1; i < len(h); i++ {
		h[i].Mul(&h[i-1], &tau)
	}
	return h
}

type rawBytesSink struct{ bytes.Buffer }

func (s *rawBytesSink) Raw(b []byte) error { _, err := s.Write(b); return err }

// TestHostedConversion converts keys and compares with the exponents, bit for bit.
func TestHostedConversion(t *testing.T) {
	t.Parallel()
	m := newPointsMachine(t)
	type shape struct {
		rows, logN int
		piece      int64
	}
	cases := []shape{{42, 6, 64}}
	if !testing.Short() { // one part, five of them and a launch larger than the least, three
		cases = append(cases, shape{33, 6, 50}, shape{62, 6, 16}, shape{145, 8, 48})
	}
	for _, c := range cases {
		testConversion(t, m, c.rows, c.logN, c.piece)
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes are left on the device", m.bytes)
	}
}

func testConversion(t *testing.T, m machine, rows, logN int, piece int64) {
	f, err := forms.New(rows, logN)
	if err != nil {
		t.Fatal(err)
	}
	r := newRandom(21)
	tau, delta := r.element(), r.element()
	k, l, err := f.Exponents(tau, delta)
	if err != nil {
		t.Fatal(err)
	}
	var got rawBytesSink
	last := 0.0
	err = valuesOn(context.Background(), m, piece, pointList(powersOfKey(f, tau, delta)), f, rows, &got, func(done float64) {
		if done < last || done > 1 {
			t.Errorf("progress %v after %v", done, last)
		}
		last = done
	})
	if err != nil {
		t.Fatal(err)
	}
	if last < 0.999 {
		t.Errorf("progress ends at %v", last)
	}
	want := pointList(append(k, l[:rows]...))
	if !bytes.Equal(got.Bytes(), want.raw) {
		t.Errorf("%d rows of 2^%d: the lists differ", rows, logN)
	}
}
