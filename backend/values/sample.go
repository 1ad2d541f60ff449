package values

import (
	"context"
	"math/rand/v2"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// Sample is both sides of a check of lists K and M against h of the same key: with
// random values on the rows, Σ p_s·K_s + Σ c_i·M_i must be Σ h_k·H_k. If it is, all
// products of values on these rows come out right, but for a chance of 2/r.
type Sample struct {
	P []fr.Element // for K
	C []fr.Element // for M, as many as rows
	H []fr.Element // for h, N - 1 of them
}

// Sample makes one from a seed that nobody could guess. It takes memory for some four
// vectors of N elements.
func (f *Form) Sample(ctx context.Context, rows int, seed [32]byte) (*Sample, error) {
	n := f.N()
	a, b := make([]fr.Element, n), make([]fr.Element, n)
	fill(a[:rows], seed, 0)
	fill(b[:rows], seed, 1)
	s := &Sample{C: make([]fr.Element, rows), P: make([]fr.Element, f.Points())}
	for i := range s.C {
		s.C[i].Mul(&a[i], &b[i])
	}
	domain := fft.NewDomain(uint64(n), fft.WithShift(f.g), fft.WithoutPrecompute())
	for _, v := range [][]fr.Element{a, b} {
		domain.FFTInverse(v, fft.DIF)
		runtime.GC() // a transform leaves a vector of its own behind
		domain.FFT(v, fft.DIT, fft.OnCoset())
		runtime.GC()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	v := fr.Vector(a)
	v.Mul(a, b)
	for i := range s.P {
		s.P[i] = a[f.Index(i)]
	}
	// A·B is h·(xⁿ - 1) + C, and -2·h + C modulo xⁿ + 1.
	copy(b, s.C)
	clear(b[rows:])
	domain.FFTInverse(a, fft.DIF, fft.OnCoset())
	runtime.GC()
	domain.FFTInverse(b, fft.DIF)
	fft.BitReverse(a)
	fft.BitReverse(b)
	eachBlock((n+scanBlock-1)/scanBlock, func(block int) {
		for i := block * scanBlock; i < min((block+1)*scanBlock, n); i++ {
			a[i].Sub(&b[i], &a[i]).Halve()
		}
	})
	s.H = a[:n-1]
	return s, ctx.Err()
}

// fill makes reproducible elements of a seed, each block from its own stream.
func fill(out []fr.Element, seed [32]byte, list byte) {
	blocks := (len(out) + scanBlock - 1) / scanBlock
	eachBlock(blocks, func(b int) {
		own := seed
		own[0] ^= list
		for i := range 4 {
			own[1+i] ^= byte(b >> (8 * i))
		}
		r := rand.NewChaCha8(own)
		var raw [48]byte // the bias of 384 bits modulo r is beyond notice
		for i := b * scanBlock; i < min((b+1)*scanBlock, len(out)); i++ {
			_, _ = r.Read(raw[:]) // never fails
			out[i].SetBytes(raw[:])
		}
	})
}
