package cuda

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// curveResults is CURVE_RESULTS of kernels/curve/curve.cu.
const curveResults = 7

// TestCurveFormulas takes all pairs of infinity, P, -P, 2P, an unrelated Q and its
// negative through every addition and doubling.
func TestCurveFormulas(t *testing.T) {
	r := source(16)
	p, q := randomScalar(r), randomScalar(r)
	var f [6]fr.Element
	f[1], f[4] = p, q
	f[2].Neg(&p)
	f[3].Double(&p)
	f[5].Neg(&q)
	var ps, qs []fr.Element
	for i := range f {
		for j := range f {
			ps, qs = append(ps, f[i]), append(qs, f[j])
		}
	}
	onDevices(t, func(b *bench) { b.checkCurve(ps, qs) })
}

// wantFactors are the factors of the kernel's results for the points of factors p
// and q.
func wantFactors(p, q fr.Element) (out [curveResults]fr.Element) {
	var sum, twice fr.Element
	sum.Add(&p, &q)
	twice.Double(&p)
	out[0], out[1], out[2], out[3] = sum, sum, twice, twice
	out[4].Add(&sum, &q)
	out[5].Double(&sum)
	out[6] = p
	return out
}

func (b *bench) checkCurve(ps, qs []fr.Element) {
	b.Helper()
	n := len(ps)
	u, v := newBasis(n, func(i int) fr.Element { return ps[i] }), newBasis(n, func(i int) fr.Element { return qs[i] })
	w := newBasis(n*curveResults, func(i int) fr.Element { return wantFactors(ps[i/curveResults], qs[i/curveResults])[i%curveResults] })
	out := b.memory(int64(n) * curveResults * 192)
	b.curveKernel("g1_curve_check", b.put(encodeG1(u.g1)), b.put(encodeG1(v.g1)), uint32(n), out)
	data := b.get(out)
	for i := range w.g1 {
		if got := decodeG1(data[96*i:]); !got.Equal(&w.g1[i]) {
			b.Errorf("G1 pair %d, result %d: %s, want %s", i/curveResults, i%curveResults, got.String(), w.g1[i].String())
		}
	}
	b.curveKernel("g2_curve_check", b.put(encodeG2(u.g2)), b.put(encodeG2(v.g2)), uint32(n), out)
	data = b.get(out)
	for i := range w.g2 {
		if got := decodeG2(data[192*i:]); !got.Equal(&w.g2[i]) {
			b.Errorf("G2 pair %d, result %d: %s, want %s", i/curveResults, i%curveResults, got.String(), w.g2[i].String())
		}
	}
	b.checkWeightedSum(u)
}

// curveKernel launches a kernel of module curve, which only tests load.
func (b *bench) curveKernel(name string, args ...any) {
	b.Helper()
	if err := b.loadCurve(name); err != nil {
		b.Fatal(err)
	}
	err := b.s.dev.do(func(q queue) error {
		err := q.launch(name, shape{grid: 1, rows: 1, block: 64}, args...)
		if err != nil {
			return err
		}
		return q.mark(0)
	})
	if err == nil {
		err = b.s.dev.wait(b.Context(), 0)
	}
	if err != nil {
		b.Fatal(fmt.Errorf("%s: %w", name, err))
	}
}

// checkWeightedSum: the host's Horner scheme with exponents out of order.
func (b *bench) checkWeightedSum(v *basis) {
	b.Helper()
	t := terms{points: encodeG1(v.g1)}
	var want, w fr.Element
	for i := range v.g1 {
		e := i * 7 % 13
		t.exponents = append(t.exponents, e)
		w.SetUint64(1 << e)
		want.Add(&want, w.Mul(&w, &v.factor[i]))
	}
	sum := weightedSum(t, decodeG1, func(acc *bls12381.G1Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G1Jac, p *bls12381.G1Affine) { acc.AddMixed(p) })
	var got, known bls12381.G1Affine
	got.FromJacobian(&sum)
	if known = newBasis(1, func(int) fr.Element { return want }).g1[0]; !got.Equal(&known) {
		b.Errorf("sum by exponents: %s, want %s", got.String(), known.String())
	}
}
