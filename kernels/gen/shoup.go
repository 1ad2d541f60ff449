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
	for i := range 8 {
		if !set[0][i] {
			e[i] = "0"
		}
		if !set[1][i] {
			o[i] = "0"
		}
	}
	blk.addChain(t, e, append([]string{"0"}, o[:7]...))
	blk.op("sub.cc.u32 %s, %s, %s", t[0], t[0], q[0])
	for i := 1; i < 8; i++ {
		blk.op("subc%s.u32 %s, %s, %s", map[bool]string{true: "", false: ".cc"}[i == 7], t[i], t[i], q[i])
	}
	blk.op("mov.u32 %s, %s", out[0], t[0])
	blk.addChain(out[1:], t[1:], q[:7])
}

// highProduct sets q to limbs 8..15 of v x without the columns below 6. Upper limbs
// of v that are "" count as zero; the one below them may be "1", which costs an
// addition of x instead of products.
func (b *block) highProduct(q, v, x []string) {
	n := len(v)
	for n > 0 && v[n-1] == "" {
		n--
	}
	one := n > 0 && v[n-1] == "1"
	if one {
		n--
	}
	// Accumulators by column parity; index 0 of e is limb 6, of o limb 7.
	e, o := b.temps32("he", 11), b.temps32("ho", 10)
	set := map[string]bool{}
	for j := range x {
		b.highRow(e, set, v[:n], x[j], j, 6)
		b.highRow(o, set, v[:n], x[j], j, 7)
	}
	old := func(n string) string {
		if set[n] {
			return n
		}
		return "0"
	}
	if one {
		b.addShifted(e, old, x, n)
		for _, r := range e[:10] {
			set[r] = true
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

// highRow adds the products of v and x_j at columns base, base+2, ... as one chain;
// acc[0] is limb base.
func (b *block) highRow(acc []string, set map[string]bool, v []string, x string, j, base int) {
	old := func(n string) string {
		if set[n] {
			return n
		}
		return "0"
	}
	k := max(base, j)
	if (k-base)%2 == 1 {
		k++
	}
	prefix := "mad"
	for ; k-j < len(v); k += 2 {
		c, f := k-base, v[k-j]
		if f == "" {
			f = "0"
		}
		b.op("%s.lo.cc.u32 %s, %s, %s, %s", prefix, acc[c], f, x, old(acc[c]))
		b.op("madc.hi.cc.u32 %s, %s, %s, %s", acc[c+1], f, x, old(acc[c+1]))
		set[acc[c]], set[acc[c+1]] = true, true
		prefix = "madc"
	}
	if prefix == "madc" && k < 16 {
		b.op("addc.u32 %s, %s, 0", acc[k-base], old(acc[k-base]))
		set[acc[k-base]] = true
	}
}

// addShifted adds x times 2^(32 shift) to the columns from 6 on.
func (b *block) addShifted(e []string, old func(string) string, x []string, shift int) {
	prefix := "add"
	for c := 0; c < 10; c++ {
		y := "0"
		if j := c + 6 - shift; j < len(x) {
			y = x[j]
		}
		cc := ".cc"
		if c == 9 {
			cc = ""
		}
		b.op("%s%s.u32 %s, %s, %s", prefix, cc, e[c], old(e[c]), y)
		prefix = "addc"
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
	old := func(c int) string {
		if set[c] {
			return acc[c]
		}
		return "0"
	}
	prefix, c := "mad", -1
	for k := j; k < 8; k++ {
		if k%2 != par || a[k-j] == "" {
			continue
		}
		c = k - par
		if k == 7 {
			b.op("%s.lo.u32 %s, %s, %s, %s", prefix, acc[c], a[k-j], y, old(c))
			set[c] = true
			return
		}
		b.op("%s.lo.cc.u32 %s, %s, %s, %s", prefix, acc[c], a[k-j], y, old(c))
		b.op("madc.hi.cc.u32 %s, %s, %s, %s", acc[c+1], a[k-j], y, old(c+1))
		set[c], set[c+1] = true, true
		prefix = "madc"
	}
	// A short factor's chain ends below limb 7.
	if next := c + 2; c >= 0 && next+par < 8 {
		b.op("addc.u32 %s, %s, 0", acc[next], old(next))
		set[next] = true
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

// shoupConstant is fr_mul_NAME: the lazy product by w, given as immediates. A short
// w saves products: i is x^3 for the curve's parameter x, since r = x^4 - x^2 + 1,
// 192 bits with a zero limb.
func shoupConstant(name string, w *big.Int) string {
	v := new(big.Int).Div(new(big.Int).Lsh(w, 256), fr.value)
	blk := &block{}
	shoupBody(blk, numbered(0, 8), numbered(8, 8), constant(w), constant(v))
	return fmt.Sprintf("// x times %#x, in [0, 2r), for any 256-bit x.\n", w) + fr.function("mul_"+name, blk, []string{"x"}, "=&r")
}

// constant is v as immediates, with "" for zero limbs at either end and "1" for a
// top limb of one.
func constant(v *big.Int) []string {
	l := limbs(v, 8)
	out := imms(l)
	top := 7
	for ; top > 0 && l[top] == 0; top-- {
		out[top] = ""
	}
	if l[top] == 1 {
		out[top] = "1"
	}
	for i := 0; i < top && l[i] == 0; i++ {
		out[i] = ""
	}
	return out
}
