package values

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// FromPowers makes the lists K and M of the list h, N - 1 elements, the way it is
// done with points of a key, here with their exponents: the reference for it.
func (f *Form) FromPowers(h []fr.Element) (k, m []fr.Element) {
	domain := fft.NewDomain(uint64(f.N()), fft.WithShift(f.g))
	p := f.correlate(h)
	for _, z := range f.Factors() {
		for t := range p[z.Degree:] {
			var v fr.Element
			p[t].Sub(&p[t], v.Mul(&z.Level, &p[t+z.Degree]))
		}
	}
	onS, onRows := f.padded(p), f.padded(p)
	domain.FFT(onS, fft.DIF, fft.OnCoset())
	domain.FFT(onRows, fft.DIF)
	fft.BitReverse(onS)
	fft.BitReverse(onRows)
	k, m = f.WeightsK(), f.WeightsM()
	for s := range k {
		k[s].Mul(&k[s], &onS[f.Index(s)])
	}
	for i := range m {
		m[i].Mul(&m[i], &onRows[i])
	}
	return k, m
}

// correlate is the coefficients of Z2·Σ_j h_j·x^(-j-1) at x^-|S| to x^(|U|-1), that
// is Σ_i (Z2)_i·h_(i-e-1) at e, by a cyclic product of 2n terms.
func (f *Form) correlate(h []fr.Element) []fr.Element {
	n := f.N()
	domain := fft.NewDomain(uint64(2 * n))
	z, turned := make([]fr.Element, 2*n), make([]fr.Element, 2*n)
	copy(z, f.Z2())
	for j := range h {
		turned[len(h)-1-j] = h[j]
	}
	domain.FFT(z, fft.DIF)
	domain.FFT(turned, fft.DIF)
	for i := range z {
		z[i].Mul(&z[i], &turned[i])
	}
	domain.FFTInverse(z, fft.DIT)
	// x^e is at len(h) + e.
	first := len(h) - f.Points()
	return z[first : first+f.Points()+f.Unused()]
}

func (f *Form) padded(v []fr.Element) []fr.Element {
	out := make([]fr.Element, f.N())
	copy(out, v)
	return out
}
