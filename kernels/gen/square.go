package main

// square is the Montgomery square: the products a_i a_j, i < j, once (66 for
// twelve limbs), doubled, plus the twelve squares, then twelve reduction steps:
// 234 wide multiplies instead of 300.
func (p prime) square() string {
	blk := &block{}
	t := blk.temps32("t", p.n)
	p.montgomerySquare(blk, t, numbered(p.n, p.n))
	p.conditional(blk, numbered(0, p.n), t)
	return p.function("sqr", blk, []string{"a"}, "=&r")
}

func (p prime) montgomerySquare(blk *block, out, a []string) {
	n := p.n
	w := blk.temps32("w", 2*n)
	p.offDiagonal(blk, w, a)
	// Twice the cross products, plus the squares on even positions.
	blk.op("add.cc.u32 %s, %s, %s", w[1], w[1], w[1])
	for i := 2; i < 2*n-1; i++ {
		blk.op("addc.cc.u32 %s, %s, %s", w[i], w[i], w[i])
	}
	blk.op("addc.u32 %s, 0, 0", w[2*n-1])
	blk.op("mul.lo.u32 %s, %s, %s", w[0], a[0], a[0])
	blk.op("mul.hi.u32 %s, %s, %s", blk.temp("z"), a[0], a[0])
	blk.op("add.cc.u32 %s, %s, z", w[1], w[1])
	for i := 1; i < n; i++ {
		blk.op("madc.lo.cc.u32 %s, %s, %s, %s", w[2*i], a[i], a[i], w[2*i])
		blk.op("madc.hi.cc.u32 %s, %s, %s, %s", w[2*i+1], a[i], a[i], w[2*i+1])
	}
	p.reduceWide(blk, out, w)
}

// offDiagonal sets w[1..2n-2] to the sum of a_i a_j 2^(32(i+j)) over i < j,
// collected in two accumulators by the parity of i+j.
func (p prime) offDiagonal(blk *block, w, a []string) {
	n := p.n
	acc := [2][]string{blk.temps32("x", 2*n), blk.temps32("y", 2*n)}
	set := [2][]bool{make([]bool, 2*n), make([]bool, 2*n)}
	for i := 0; i < n-1; i++ {
		for _, first := range []int{i + 1, i + 2} {
			if first < n {
				blk.crossRow(acc, set, a, i, first)
			}
		}
	}
	// x holds even positions from 2, y odd ones from 1.
	blk.op("mov.u32 %s, %s", w[1], acc[1][1])
	carry := "add.cc.u32"
	for k := 2; k <= 2*n-2; k++ {
		x, y := "0", "0"
		if set[0][k] {
			x = acc[0][k]
		}
		if set[1][k] {
			y = acc[1][k]
		}
		blk.op("%s %s, %s, %s", carry, w[k], x, y)
		carry = "addc.cc.u32"
	}
}

// crossRow adds a_i a_j for j = first, first+2, ... as one chain.
func (b *block) crossRow(acc [2][]string, set [2][]bool, a []string, i, first int) {
	par := (i + first) & 1
	cur, has := acc[par], set[par]
	old := func(k int) string {
		if has[k] {
			return cur[k]
		}
		return "0"
	}
	k := i + first
	for j := first; j < len(a); j, k = j+2, k+2 {
		lo := "mad.lo.cc.u32"
		if j > first {
			lo = "madc.lo.cc.u32"
		}
		b.op("%s %s, %s, %s, %s", lo, cur[k], a[i], a[j], old(k))
		b.op("madc.hi.cc.u32 %s, %s, %s, %s", cur[k+1], a[i], a[j], old(k+1))
		has[k], has[k+1] = true, true
	}
	if k < len(cur) {
		b.op("addc.u32 %s, %s, 0", cur[k], old(k))
		has[k] = true
	}
}

// reduceWide emits out = w/R mod p for a 2n-limb w < p^2, below 2p. The low
// half is cleared limb by limb in two accumulators as in montgomery; the high
// half is added at the end. A product without .cc leaves the carry flag alone,
// so the carry of the limb that joins e[0] survives the making of m.
func (p prime) reduceWide(blk *block, out, w []string) {
	n := p.n
	pl := imms(limbs(p.value, n))
	e, o := append([]string{}, w[:n]...), blk.temps32("o", n)
	blk.temp("m")
	for i := 0; i < n; i++ {
		if i > 0 {
			e, o = o, e
			blk.op("add.cc.u32 %s, %s, %s", e[0], e[0], o[1])
		}
		blk.op("mul.lo.u32 m, %s, %s", e[0], imm(p.inv32()))
		if i == 0 {
			for j := 1; j < n; j += 2 {
				blk.op("mul.lo.u32 %s, %s, m", o[j-1], pl[j])
				blk.op("mul.hi.u32 %s, %s, m", o[j], pl[j])
			}
		} else {
			src := append(append([]string{}, o[2:]...), "0", "0")
			blk.wideChain(o, src, pl, 1, "m", true)
		}
		blk.wideChain(e, e, pl, 0, "m", false)
		blk.op("addc.u32 %s, %s, 0", o[n-1], o[n-1])
	}
	s := blk.temps32("r", n)
	blk.addChain(s, append(append([]string{}, e[1:]...), "0"), o)
	blk.addChain(out, s, w[n:])
}
