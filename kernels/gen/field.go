package main

import (
	"fmt"
	"math/big"
	"strings"
)

// A prime describes one field of BLS12-381 as 32-bit limbs, little endian.
type prime struct {
	name  string // prefix of types and functions: fp, fr
	value *big.Int
	n     int // limbs; even
}

var (
	fp = prime{"fp", hexInt("1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab"), 12}
	fr = prime{"fr", hexInt("73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001"), 8}
)

func hexInt(s string) *big.Int {
	v, ok := new(big.Int).SetString(s, 16)
	if !ok {
		panic("bad constant " + s)
	}
	return v
}

// limbs splits v into n 32-bit limbs, least significant first.
func limbs(v *big.Int, n int) []uint32 {
	out := make([]uint32, n)
	t, mask := new(big.Int).Set(v), big.NewInt(1<<32-1)
	for i := range out {
		out[i] = uint32(new(big.Int).And(t, mask).Uint64())
		t.Rsh(t, 32)
	}
	return out
}

// radix is R = 2^(32 n), the Montgomery factor.
func (p prime) radix() *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(32*p.n)) }

// inv32 is -1/p mod 2^32.
func (p prime) inv32() uint32 {
	m := new(big.Int).Lsh(big.NewInt(1), 32)
	v := new(big.Int).ModInverse(p.value, m)
	return uint32(v.Sub(m, v).Uint64())
}

// block collects the text of one asm statement. Operands are named by the
// caller; temporaries are declared inside the statement's braces, so the carry
// flag never lives across statements (the compiler does not model it).
type block struct {
	lines []string
	temps []string
}

func (b *block) temp(name string) string {
	b.temps = append(b.temps, name)
	return name
}

func (b *block) temps32(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = b.temp(fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}

func (b *block) op(format string, args ...any) {
	b.lines = append(b.lines, fmt.Sprintf(format, args...)+";")
}

// text is the body of the asm statement as C string literals.
func (b *block) text() string {
	var s strings.Builder
	s.WriteString("        \"{\\n\\t\"\n")
	for i := 0; i < len(b.temps); i += 16 {
		fmt.Fprintf(&s, "        \".reg .u32 %s;\\n\\t\"\n", strings.Join(b.temps[i:min(i+16, len(b.temps))], ", "))
	}
	for _, l := range b.lines {
		fmt.Fprintf(&s, "        \"%s\\n\\t\"\n", l)
	}
	s.WriteString("        \"}\"\n")
	return s.String()
}

// operand lists of asm statements: outputs come first.
func operands(names []string, constraint string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = fmt.Sprintf("\"%s\"(%s)", constraint, n)
	}
	return strings.Join(parts, ", ")
}

func indexed(name string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s.v[%d]", name, i)
	}
	return out
}

func numbered(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%%%d", from+i)
	}
	return out
}

func imm(v uint32) string { return fmt.Sprintf("0x%08x", v) }

func imms(v []uint32) []string {
	out := make([]string, len(v))
	for i := range v {
		out[i] = imm(v[i])
	}
	return out
}

// wideChain adds the products of a[k] (every second limb, from k0) and b to the
// accumulator pairs acc[0,1], acc[2,3], ... as one carry chain. src gives the
// old value of each accumulator limb ("0" for none); carryIn says that the flag
// holds a carry into acc[0]. The carry out stays in the flag.
func (b *block) wideChain(acc, src, a []string, k0 int, by string, carryIn bool) {
	for i := k0; i < len(a); i += 2 {
		j := i - k0
		lo := "mad.lo.cc.u32"
		if carryIn || j > 0 {
			lo = "madc.lo.cc.u32"
		}
		b.op("%s %s, %s, %s, %s", lo, acc[j], a[i], by, src[j])
		b.op("madc.hi.cc.u32 %s, %s, %s, %s", acc[j+1], a[i], by, src[j+1])
	}
}

// montgomery emits out = a*b/R mod p, below 2p, without the final subtraction.
//
// Operand scanning, one reduction step a limb, with two accumulators: e holds
// products at even limbs of the window, o at odd ones (shifted up by a limb).
// After each row the window moves up one limb and they swap roles; the limb
// left over of the old e enters the new e and its carry starts the new o's
// chain. Every product's low and high half thus fall on an aligned pair in one
// chain, which the assembler fuses into a single wide multiply-add.
//
// The sum of a row stays below 2^(32(n+1)) when a < p, whatever b is; so b may
// be any n-limb number.
func (p prime) montgomery(blk *block, out, a, b []string) {
	n := p.n
	pl := imms(limbs(p.value, n))
	e, o := blk.temps32("e", n), blk.temps32("o", n)
	blk.temp("m")
	blk.temp("h")
	for i := 0; i < n; i++ {
		if i == 0 {
			blk.firstRow(e, o, a, b[0])
		} else {
			e, o = o, e
			// o is the old e: its limb 1 joins limb 0 of the new window.
			blk.op("add.cc.u32 %s, %s, %s", e[0], e[0], o[1])
			src := append(append([]string{}, o[2:]...), "0", "0")
			blk.wideChain(o, src, a, 1, b[i], true)
			blk.wideChain(e, e, a, 0, b[i], false)
			blk.op("addc.u32 %s, %s, 0", o[n-1], o[n-1])
		}
		p.reduceRow(blk, e, o, pl)
	}
	blk.op("add.cc.u32 %s, %s, %s", out[0], e[1], o[0])
	for j := 1; j < n-1; j++ {
		blk.op("addc.cc.u32 %s, %s, %s", out[j], e[j+1], o[j])
	}
	blk.op("addc.u32 %s, %s, 0", out[n-1], o[n-1])
}

// firstRow sets e and o to the products with the first limb of b.
func (b *block) firstRow(e, o, a []string, by string) {
	for i := range a {
		acc := e
		if i%2 == 1 {
			acc = o
		}
		j := i &^ 1
		b.op("mul.lo.u32 %s, %s, %s", acc[j], a[i], by)
		b.op("mul.hi.u32 %s, %s, %s", acc[j+1], a[i], by)
	}
}

// reduceRow adds the multiple of p that clears e[0].
func (p prime) reduceRow(blk *block, e, o, pl []string) {
	n := p.n
	if p.name == "fr" {
		reduceRowFr(blk, e, o, pl)
		return
	}
	blk.op("mul.lo.u32 m, %s, %s", e[0], imm(p.inv32()))
	blk.wideChain(o, o, pl, 1, "m", false)
	blk.wideChain(e, e, pl, 0, "m", false)
	blk.op("addc.u32 %s, %s, 0", o[n-1], o[n-1])
}

// reduceRowFr uses r[0] = 1 and r[1] = 2^32-1, with -1/r = 2^32-1 mod 2^32:
// m = -e0, m*r[0] = m clears e0 and carries when e0 is not 0, and m*r[1] is the
// pair (e0, m - [e0 != 0]). Only r[2..7] need the multiplier.
func reduceRowFr(blk *block, e, o, rl []string) {
	blk.op("sub.cc.u32 m, 0, %s", e[0])
	blk.op("subc.u32 h, m, 0")
	blk.op("add.cc.u32 %s, %s, %s", o[0], o[0], e[0])
	blk.op("addc.cc.u32 %s, %s, h", o[1], o[1])
	blk.wideChain(o[2:], o[2:], rl, 3, "m", true)
	blk.op("add.cc.u32 %s, %s, m", e[0], e[0])
	blk.op("addc.cc.u32 %s, %s, 0", e[1], e[1])
	blk.wideChain(e[2:], e[2:], rl, 2, "m", true)
	blk.op("addc.u32 %s, %s, 0", o[len(o)-1], o[len(o)-1])
}
