package values

import (
	"errors"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// WeightsK are wK_s, in the order of the list K.
func (f *Form) WeightsK() []fr.Element {
	onU := f.vanishU(f.g, f.N())
	out := make([]fr.Element, f.Points())
	at := 0
	for i, p := range f.Parts {
		// Z_S' on a part: the other factors times 2^Log·level/x.
		var scale fr.Element
		scale.SetUint64(1<<p.Log).Mul(&scale, &f.levels[i]).Double(&scale).Neg(&scale)
		f.eachPoint(p, func(t, index int, w *way) {
			d := w.vanish(i)
			out[at+t].Mul(&d, &scale).Mul(&out[at+t], &onU[index])
		})
		at += 1 << p.Log
	}
	invert(out)
	at = 0
	for _, p := range f.Parts {
		f.eachPoint(p, func(t, _ int, w *way) { out[at+t].Mul(&out[at+t], &w.x) })
		at += 1 << p.Log
	}
	return out
}

// way is a walk over points with a common ratio, and what the factors of Z_S need at
// each: x^Degree.
type way struct {
	f       *Form
	x, step fr.Element
	y, z    []fr.Element // x and step to the degrees
}

// way begins at x.
func (f *Form) way(x, step fr.Element) *way {
	w := &way{f: f, x: x, step: step, y: make([]fr.Element, len(f.Parts)), z: make([]fr.Element, len(f.Parts))}
	for i, p := range f.Parts {
		degree := big.NewInt(1 << p.Log)
		w.y[i].Exp(x, degree)
		w.z[i].Exp(step, degree)
	}
	return w
}

func (w *way) next() {
	w.x.Mul(&w.x, &w.step)
	for i := range w.y {
		w.y[i].Mul(&w.y[i], &w.z[i])
	}
}

// vanish is Z_S(x), without the factor of one part.
func (w *way) vanish(without int) fr.Element {
	out := fr.One()
	for i := range w.y {
		if i != without {
			var d fr.Element
			out.Mul(&out, d.Sub(&w.y[i], &w.f.levels[i]))
		}
	}
	return out
}

// noPart is for vanish with all factors.
const noPart = -1

// eachPoint calls visit for the points of a part, on all cores.
func (f *Form) eachPoint(p Part, visit func(t, index int, w *way)) {
	stride := 1 << (f.LogN - p.Log)
	var step fr.Element
	step.Exp(f.omega, big.NewInt(int64(stride)))
	blocks := (1<<p.Log + scanBlock - 1) / scanBlock
	eachBlock(blocks, func(b int) {
		index := p.From + b*scanBlock*stride
		var x fr.Element
		x.Exp(f.g, big.NewInt(int64(2*index+1)))
		w := f.way(x, step)
		for t := b * scanBlock; t < min((b+1)*scanBlock, 1<<p.Log); t++ {
			visit(t, index, w)
			index += stride
			w.next()
		}
	})
}

// onRows is G(ω^i) of all rows.
func (f *Form) onRows() []fr.Element {
	out := f.vanishU(fr.One(), f.Rows())
	f.eachRow(func(i int, w *way) {
		v := w.vanish(noPart)
		out[i].Mul(&out[i], &v)
	})
	return out
}

// eachRow calls visit for the roots of unity of all rows, on all cores.
func (f *Form) eachRow(visit func(i int, w *way)) {
	n := f.Rows()
	eachBlock((n+scanBlock-1)/scanBlock, func(b int) {
		var x fr.Element
		x.Exp(f.omega, big.NewInt(int64(b*scanBlock)))
		w := f.way(x, f.omega)
		for i := b * scanBlock; i < min((b+1)*scanBlock, n); i++ {
			visit(i, w)
			w.next()
		}
	})
}

// invert inverts all elements in place, on all cores.
func invert(v []fr.Element) {
	eachBlock((len(v)+scanBlock-1)/scanBlock, func(b int) {
		part := v[b*scanBlock : min((b+1)*scanBlock, len(v))]
		copy(part, fr.BatchInvert(part))
	})
}

// WeightsM are wM_i.
func (f *Form) WeightsM() []fr.Element { return f.weightsM(f.onRows()) }

func (f *Form) weightsM(g []fr.Element) []fr.Element {
	out := append([]fr.Element(nil), g...)
	invert(out)
	var inv fr.Element
	inv.SetUint64(uint64(f.N())).Inverse(&inv)
	f.eachRow(func(i int, w *way) { out[i].Mul(&out[i], &w.x).Mul(&out[i], &inv) })
	return out
}

// Exponents are those of the lists K and M of a key from known secrets.
func (f *Form) Exponents(tau, delta fr.Element) (k, m []fr.Element, err error) {
	one := fr.One()
	var scale, at fr.Element
	scale.Exp(tau, big.NewInt(int64(f.N())))
	scale.Sub(&scale, &one)
	if scale.IsZero() || delta.IsZero() {
		return nil, nil, errors.New("delta is zero, or tau lies on the domain: choose other secrets")
	}
	scale.Div(&scale, &delta)
	at = f.vanishS(tau)
	if at.IsZero() {
		return nil, nil, errors.New("tau lies on the domain's coset: choose other secrets")
	}
	u := f.vanishUAt(tau)
	at.Mul(&at, &u)

	k = make([]fr.Element, f.Points())
	base := 0
	for _, p := range f.Parts {
		f.eachPoint(p, func(t, _ int, w *way) { k[base+t].Sub(&tau, &w.x) })
		base += 1 << p.Log
	}
	invert(k)
	w := f.WeightsK()
	var top fr.Element
	top.Mul(&scale, &at)
	for s := range k {
		k[s].Mul(&k[s], &w[s]).Mul(&k[s], &top)
	}

	g := f.onRows()
	w = f.weightsM(g)
	m = make([]fr.Element, f.Rows())
	f.eachRow(func(i int, w *way) { m[i].Sub(&tau, &w.x) })
	invert(m)
	for i := range m {
		g[i].Sub(&at, &g[i])
		m[i].Mul(&m[i], &w[i]).Mul(&m[i], &g[i]).Mul(&m[i], &scale)
	}
	return k, m, nil
}

// Products are p_s: the product of the polynomials with values a and b on the rows,
// at the points of S. a and b are spent; they have N elements.
func (f *Form) Products(a, b []fr.Element) []fr.Element {
	domain := fft.NewDomain(uint64(f.N()), fft.WithShift(f.g))
	for _, v := range [][]fr.Element{a, b} {
		domain.FFTInverse(v, fft.DIF)
		domain.FFT(v, fft.DIT, fft.OnCoset())
	}
	out := make([]fr.Element, f.Points())
	for s := range out {
		j := f.Index(s)
		out[s].Mul(&a[j], &b[j])
	}
	return out
}
