package values

import (
	"math/big"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// ratio is the quotient of a sequence's elements j+1 and j as a fraction, from
// power = q^j.
type ratio func(power *fr.Element) (num, den fr.Element)

const scanBlock = 1 << 12

// scan is the sequence of n elements that begins with start, each the last times
// the ratio, on all cores. A fraction's den must not be zero.
func scan(n int, start, q fr.Element, next ratio) []fr.Element {
	out := make([]fr.Element, n)
	blocks := (n + scanBlock - 1) / scanBlock
	nums, dens := make([]fr.Element, blocks), make([]fr.Element, blocks)
	eachBlock(blocks, func(b int) { nums[b], dens[b] = scanProducts(out, b, q, next) })
	dens = fr.BatchInvert(dens)
	at := start
	for b := range blocks {
		step := nums[b]
		step.Mul(&step, &dens[b])
		nums[b] = at
		at.Mul(&at, &step)
	}
	eachBlock(blocks, func(b int) { scanFill(out, b, nums[b], q, next) })
	return out
}

func eachBlock(blocks int, do func(b int)) {
	var wg sync.WaitGroup
	cores := runtime.GOMAXPROCS(0)
	for c := range cores {
		wg.Go(func() {
			for b := c; b < blocks; b += cores {
				do(b)
			}
		})
	}
	wg.Wait()
}

// scanProducts is the ratio over a whole block.
func scanProducts(out []fr.Element, b int, q fr.Element, next ratio) (num, den fr.Element) {
	var power fr.Element
	power.Exp(q, big.NewInt(int64(b*scanBlock)))
	num.SetOne()
	den.SetOne()
	for range min(scanBlock, len(out)-b*scanBlock) - lastBlock(out, b) {
		x, y := next(&power)
		num.Mul(&num, &x)
		den.Mul(&den, &y)
		power.Mul(&power, &q)
	}
	return num, den
}

// lastBlock is 1 for the block after whose last element there is none.
func lastBlock(out []fr.Element, b int) int {
	if (b+1)*scanBlock >= len(out) {
		return 1
	}
	return 0
}

func scanFill(out []fr.Element, b int, at, q fr.Element, next ratio) {
	part := out[b*scanBlock : min((b+1)*scanBlock, len(out))]
	var power fr.Element
	power.Exp(q, big.NewInt(int64(b*scanBlock)))
	nums, dens := make([]fr.Element, len(part)-1), make([]fr.Element, len(part)-1)
	for j := range nums {
		nums[j], dens[j] = next(&power)
		power.Mul(&power, &q)
	}
	dens = fr.BatchInvert(dens)
	for j := range part {
		part[j] = at
		if j < len(nums) {
			at.Mul(&at, nums[j].Mul(&nums[j], &dens[j]))
		}
	}
}

// vanishU is Z2 at start·ω^j for j < n: Z2(ω·x) = ω^|U|·Z2(x)·(x - ω^(-|U|-1))/(x - ω^-1).
// start is one or g; from one at most Rows elements.
func (f *Form) vanishU(start fr.Element, n int) []fr.Element {
	m := int64(f.Unused())
	var turn, before, last fr.Element
	turn.Exp(f.omega, big.NewInt(m))
	before.Exp(f.omega, big.NewInt(-m-1))
	last.Inverse(&f.omega)
	return scan(n, f.vanishUAt(start), f.omega, func(power *fr.Element) (num, den fr.Element) {
		var x fr.Element
		x.Mul(power, &start)
		num.Sub(&x, &before).Mul(&num, &turn)
		den.Sub(&x, &last)
		return num, den
	})
}

// vanishUAt is Z2(x), factor by factor.
func (f *Form) vanishUAt(x fr.Element) fr.Element {
	m, first := f.Unused(), f.N()-f.Unused()
	blocks := (m + scanBlock - 1) / scanBlock
	products := make([]fr.Element, blocks)
	eachBlock(blocks, func(b int) {
		var power, d fr.Element
		power.Exp(f.omega, big.NewInt(int64(first+b*scanBlock)))
		products[b].SetOne()
		for range min(scanBlock, m-b*scanBlock) {
			products[b].Mul(&products[b], d.Sub(&x, &power))
			power.Mul(&power, &f.omega)
		}
	})
	out := fr.One()
	for i := range products {
		out.Mul(&out, &products[i])
	}
	return out
}

// Z2 is the coefficients of Z2, |U| + 1 of them, the constant first. With t the
// first root in U, the coefficient of x^(|U|-k) is (-t)^k·ω^(k(k-1)/2) times the
// Gaussian binomial of |U| over k.
func (f *Form) Z2() []fr.Element {
	m := f.Unused()
	var t, top fr.Element
	t.Exp(f.omega, big.NewInt(int64(f.N()-m))).Neg(&t)
	top.Exp(f.omega, big.NewInt(int64(m)))
	one := fr.One()
	out := scan(m+1, one, f.omega, func(power *fr.Element) (num, den fr.Element) {
		num.Sub(power, &top).Mul(&num, &t) // -t·ω^k·(1 - ω^(m-k))
		den.Mul(power, &f.omega)
		den.Sub(&one, &den)
		return num, den
	})
	for i, j := 0, m; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}
