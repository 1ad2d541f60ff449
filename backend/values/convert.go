package values

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// FromPowers makes the lists K and M of the list h, N - 1 elements, the way it is
// done with points of a key, here with their exponents: the reference for it.
func (f *Form) FromPowers(h []fr.Element) (k, m []fr.Element) {
	n := f.N()
	domain := fft.NewDomain(uint64(n), fft.WithShift(f.g))
	z2 := f.padded(f.Z2())
	domain.FFT(z2, fft.DIF)
	// Correlation: the transform of h with the index turned round, times that of Z2,
	// brought back, is Σ_i (Z2)_i·h_{i+k} at -k.
	y := f.correlate(domain, z2, f.padded(h))
	r := f.padded(nil)
	for _, t := range f.Terms() {
		for e := range t.Degree {
			var v fr.Element
			v.Mul(&t.Value, &y[t.Degree-e-1])
			r[e].Add(&r[e], &v)
		}
	}
	// q_e = Σ_j (Z2)_j·h_{j-e-1}, which needs h_0 to h_{|U|-1}: at k = -e-1.
	y = f.correlate(domain, z2, f.padded(h[:f.Unused()]))
	q := f.padded(nil)
	for e := range f.Unused() {
		q[e] = y[n-e-1]
	}
	return f.finish(domain, r, q)
}

func (f *Form) padded(v []fr.Element) []fr.Element {
	out := make([]fr.Element, f.N())
	copy(out, v)
	return out
}

// correlate is Σ_i z_i·h_{i+k}, cyclic, at k, from the transform of z in
// bit-reversed order. h is spent.
func (f *Form) correlate(domain *fft.Domain, z, h []fr.Element) []fr.Element {
	turn(h)
	domain.FFT(h, fft.DIF)
	for i := range h {
		h[i].Mul(&h[i], &z[i])
	}
	domain.FFTInverse(h, fft.DIT)
	turn(h)
	return h
}

// turn puts element j at -j.
func turn(v []fr.Element) {
	for i, j := 1, len(v)-1; i < j; i, j = i+1, j-1 {
		v[i], v[j] = v[j], v[i]
	}
}

// finish evaluates r on S and r + Z_S·q on the rows, and weighs them.
func (f *Form) finish(domain *fft.Domain, r, q []fr.Element) (k, m []fr.Element) {
	n := f.N()
	sum := f.padded(r)
	for _, t := range f.Terms() {
		for e := range f.Unused() {
			var v fr.Element
			v.Mul(&t.Value, &q[e])
			to := &sum[(e+t.Degree)%n]
			to.Add(to, &v)
		}
	}
	domain.FFT(r, fft.DIF, fft.OnCoset())
	domain.FFT(sum, fft.DIF)
	fft.BitReverse(r)
	fft.BitReverse(sum)
	k, m = f.WeightsK(), f.WeightsM()
	for s := range k {
		k[s].Mul(&k[s], &r[f.Index(s)])
	}
	for i := range m {
		m[i].Mul(&m[i], &sum[i])
	}
	return k, m
}
