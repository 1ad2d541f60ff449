package main

import (
	"fmt"
	"math/big"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// shoup is the product of any 256-bit x and a constant w < r with its
// companion v = floor(w 2^256 / r): q = floor(v x / 2^256) up to a truncation
// below 2^-28, and the result x w - q r lies in [0, 2r): its excess over
// r is at most r x / 2^256 plus r 2^-28. Three half products, 86 wide and 14
// low multiplies against 112 wide for a Montgomery product; w, v are plain
// (not Montgomery), so the result keeps the form of x.
func shoup() string {
	blk := &block{}
	out, x := numbered(0, 8), numbered(8, 8)
	shoupBody(blk, out, x, numbered(16, 8), numbered(24, 8))
	var s strings.Builder
	s.WriteString("// x w mod r in [0, 2r) for any 256-bit x; v = floor(w 2^256 / r).\n")
	s.WriteString(fr.function("mul_shoup", blk, []string{"x", "w", "v"}, "=&r"))
	return s.String()
}

// shoupBody emits the product; w and v may be registers or immediates.
func shoupBody(blk *block, out, x, w, v []string) {
	q := blk.temps32("q", 8)
	blk.highProduct(q, v, x)
	e, o := blk.temps32("e", 8), blk.temps32("o", 8)
	set := [2][]bool{make([]bool, 8), make([]bool, 8)}
	blk.lowProduct(e, o, set, w, x)
	// -r mod 2^256 is 2^32-1, 0, ~r[2], ..., ~r[7]: the low limb is
	// (q << 32) - q, the others are products.
	neg := new(big.Int).Sub(fr.radix(), fr.value)
	nl := imms(limbs(neg, 8))
	blk.lowProduct(e, o, set, append([]string{"", ""}, nl[2:]...), q)
	t := blk.temps32("t", 8)
	blk.addChain(t, e, append([]string{"0"}, o[:7]...))
	blk.op("sub.cc.u32 %s, %s, %s", t[0], t[0], q[0])
	for i := 1; i < 8; i++ {
		blk.op("subc%s.u32 %s, %s, %s", map[bool]string{true: "", false: ".cc"}[i == 7], t[i], t[i], q[i])
	}
	blk.op("mov.u32 %s, %s", out[0], t[0])
	blk.addChain(out[1:], t[1:], q[:7])
}

// highProduct sets q to limbs 8..15 of v x without the columns below 6.
func (b *block) highProduct(q, v, x []string) {
	// Accumulators by column parity; index 0 of e is limb 6, of o limb 7.
	e, o := b.temps32("he", 11), b.temps32("ho", 10)
	set := map[string]bool{}
	old := func(n string) string {
		if set[n] {
			return n
		}
		return "0"
	}
	for j := range x {
		for par, acc := range [][]string{e, o} {
			base := 6 + par
			first := max(base, j)
			if (first-base)%2 == 1 {
				first++
			}
			started := false
			k := first
			for ; k-j < 8; k += 2 {
				lo := "mad.lo.cc.u32"
				if started {
					lo = "madc.lo.cc.u32"
				}
				started = true
				c := k - base
				b.op("%s %s, %s, %s, %s", lo, acc[c], v[k-j], x[j], old(acc[c]))
				b.op("madc.hi.cc.u32 %s, %s, %s, %s", acc[c+1], v[k-j], x[j], old(acc[c+1]))
				set[acc[c]], set[acc[c+1]] = true, true
			}
			if c := k - base; started && c+base < 16 {
				b.op("addc.u32 %s, %s, 0", acc[c], old(acc[c]))
				set[acc[c]] = true
			}
		}
	}
	// Limb 7 is e[1] + o[0]; its carry enters limb 8.
	b.op("add.cc.u32 %s, %s, %s", b.temp("hz"), e[1], o[0])
	for i := 0; i < 8; i++ {
		op := "addc.cc.u32"
		if i == 7 {
			op = "addc.u32"
		}
		b.op("%s %s, %s, %s", op, q[i], old(e[i+2]), old(o[i+1]))
	}
}

// lowProduct adds limbs 0..7 of a y to e (even columns) and o (odd columns,
// o[i] is limb i+1). Empty limbs of a are skipped.
func (b *block) lowProduct(e, o []string, set [2][]bool, a, y []string) {
	for j := range y {
		for par, acc := range [][]string{e, o} {
			b.lowRow(acc, set[par], a, y[j], j, par)
		}
	}
}

func (b *block) lowRow(acc []string, set []bool, a []string, y string, j, par int) {
	old := func(k int) string {
		if set[k] {
			return acc[k]
		}
		return "0"
	}
	suffix := ""
	for k := j; k < 8; k++ {
		if k%2 != par || a[k-j] == "" {
			continue
		}
		c := k - par
		last := k+2 > 7
		if k == 7 {
			b.op("mad%s.lo.u32 %s, %s, %s, %s", suffix, acc[c], a[k-j], y, old(c))
			set[c] = true
			return
		}
		b.op("mad%s.lo.cc.u32 %s, %s, %s, %s", suffix, acc[c], a[k-j], y, old(c))
		hi := "madc.hi.cc.u32"
		if last {
			hi = "madc.hi.u32"
		}
		b.op("%s %s, %s, %s, %s", hi, acc[c+1], a[k-j], y, old(c+1))
		set[c], set[c+1] = true, true
		suffix = "c"
	}
}

// rootConstants are the products by the constants of an 8-point transform over
// the root z = RootOfUnity^(2^29) of order 8: i = z^2, c = (z - z^3)/2 and c i,
// so that z = c + c i and z^3 = -c + c i.
func rootConstants() string {
	z := rootOfUnity(8)
	mul := func(x, y *big.Int) *big.Int { return new(big.Int).Mod(new(big.Int).Mul(x, y), fr.value) }
	i := mul(z, z)
	half := new(big.Int).ModInverse(big.NewInt(2), fr.value)
	c := mul(new(big.Int).Sub(new(big.Int).Add(z, fr.value), mul(z, i)), half)
	return shoupConstant("i", i) + shoupConstant("c", c) + shoupConstant("ci", mul(c, i))
}

// rootOfUnity is gnark-crypto's generator of the subgroup of order n.
func rootOfUnity(n uint64) *big.Int {
	g, err := fft.Generator(n)
	if err != nil {
		panic(err)
	}
	return g.BigInt(new(big.Int))
}

// shoupConstant is fr_mul_NAME: the lazy product by w, given as immediates.
func shoupConstant(name string, w *big.Int) string {
	v := new(big.Int).Div(new(big.Int).Lsh(w, 256), fr.value)
	blk := &block{}
	shoupBody(blk, numbered(0, 8), numbered(8, 8), imms(limbs(w, 8)), imms(limbs(v, 8)))
	return fmt.Sprintf("// x times %#x, in [0, 2r), for any 256-bit x.\n", w) + fr.function("mul_"+name, blk, []string{"x"}, "=&r")
}
