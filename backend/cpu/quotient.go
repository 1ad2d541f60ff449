package cpu

import (
	"context"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/parallel"
	"github.com/consensys/gnark-crypto/utils"
)

// quotient computes the coefficients of H = (A·B - C)/(xᵐ - 1), where A and B
// take the values a and b on the domain of m points and C those of c = a∘b,
// which a satisfied system makes the third matrix's values. The result has m
// coefficients, the last of them zero, and takes the storage of c; a and b are
// spent. The three have m elements, m a power of two.
//
// Where the processor can, package ntt does the work, elsewhere
// [plainQuotient].
func quotient(ctx context.Context, a, b, c fr.Vector, report func(float64)) error {
	if done, err := quotientInLanes(ctx, a, b, c, report); done {
		return err
	}
	return plainQuotient(ctx, a, b, c, report)
}

// plainQuotient is quotient with gnark-crypto's transforms.
//
// Let g be a 2m-th root of unity, so gᵐ = -1. C is A·B mod xᵐ - 1; let R be
// A·B mod xᵐ + 1, the polynomial through the values of A·B on the coset g·<ω>.
// A·B = H·(xᵐ - 1) + C gives R = -2H + C mod xᵐ + 1, hence H = (C - R)/2: six
// transforms. Coefficients stay in bit-reversed order up to the last step.
func plainQuotient(ctx context.Context, a, b, c fr.Vector, report func(float64)) error {
	t, err := newTransform(len(a))
	if err != nil {
		return err
	}
	step := 0
	for _, run := range []func(){
		func() { t.inMul(c, a, b); t.toCoefficients(c) },
		func() { t.toCoefficients(a) },
		func() { t.toCoset(a) },
		func() { t.toCoefficients(b) },
		func() { t.toCoset(b); t.inMul(a, a, b) },
		func() { t.fromCoset(a); t.halfDifference(c, a) },
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		run()
		step++
		report(float64(step) / 6)
	}
	return ctx.Err()
}

// transform is the domain of m points and its coset by a 2m-th root of unity.
// Its tables are small: twiddles of the domain's size, made once, would save
// some of a transform's time for four vectors more of memory.
type transform struct {
	domain *fft.Domain
	logM   int
	g, inv fr.Element // the coset's generator and its inverse
}

func newTransform(m int) (*transform, error) {
	g, err := fft.Generator(2 * uint64(m))
	if err != nil {
		return nil, err
	}
	t := &transform{domain: fft.NewDomain(uint64(m), fft.WithoutPrecompute()), logM: bits.Len(uint(m)) - 1, g: g}
	t.inv.Inverse(&g)
	return t, nil
}

// toCoefficients turns values on the domain into coefficients, bit-reversed.
func (t *transform) toCoefficients(v fr.Vector) {
	t.domain.FFTInverse(v, fft.DIF, fft.WithNbTasks(cores()))
}

// toCoset turns bit-reversed coefficients into values on the coset.
func (t *transform) toCoset(v fr.Vector) {
	t.scale(v, &t.g)
	t.domain.FFT(v, fft.DIT, fft.WithNbTasks(cores()))
}

// fromCoset turns values on the coset into bit-reversed coefficients.
func (t *transform) fromCoset(v fr.Vector) {
	t.toCoefficients(v)
	t.scale(v, &t.inv)
}

// scaleBlock is log2 of the table of powers that scale goes over.
const scaleBlock = 10

// scale multiplies coefficient i by xⁱ. Position hi·2ᵏ + lo of the bit-reversed
// vector holds coefficient rev(lo)·2^(logM-k) + rev(hi): one table of powers
// serves every block hi, and one power more is the block's own.
func (t *transform) scale(v fr.Vector, x *fr.Element) {
	k := min(scaleBlock, t.logM)
	top := t.logM - k
	table := make(fr.Vector, 1<<k)
	var stride fr.Element
	stride.Exp(*x, big.NewInt(1<<top))
	fft.BuildExpTable(stride, table)
	utils.BitReverse(table)
	parallel.Execute(1<<top, func(from, to int) {
		for hi := from; hi < to; hi++ {
			var own fr.Element
			own.Exp(*x, big.NewInt(int64(bits.Reverse64(uint64(hi))>>(64-top))))
			block := v[hi<<k : (hi+1)<<k]
			block.Mul(block, table)
			block.ScalarMul(block, &own)
		}
	}, cores())
}

// inMul sets c to a∘b.
func (t *transform) inMul(c, a, b fr.Vector) {
	parallel.Execute(len(c), func(from, to int) {
		part := c[from:to]
		part.Mul(a[from:to], b[from:to])
	}, cores())
}

// halfDifference sets c to (c - r)/2 and puts it into natural order.
func (t *transform) halfDifference(c, r fr.Vector) {
	var half fr.Element
	half.SetUint64(2)
	half.Inverse(&half)
	parallel.Execute(len(c), func(from, to int) {
		part := c[from:to]
		part.Sub(part, r[from:to])
		part.ScalarMul(part, &half)
	}, cores())
	utils.BitReverse(c)
}
