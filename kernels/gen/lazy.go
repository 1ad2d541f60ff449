package main

import (
	"math/big"
)

// Values of the transforms stay in [0, 2r): products need no correction then,
// and 2r fits the limbs. 4r does not, so every sum is corrected.

// emitAddLazy adds on [0, 2r). A sum that carries out of the limbs leaves a low
// part below 2r, so the word of carry minus borrow is 0 or all ones.
func emitAddLazy(p prime, blk *block, out, a, b []string) {
	twice := imms(limbs(new(big.Int).Lsh(p.value, 1), p.n))
	t, s := blk.temps32("t", p.n), blk.temps32("s", p.n)
	c, w := blk.temp("c"), blk.temp("w")
	for i := range t {
		blk.op("%s %s, %s, %s", map[bool]string{true: "add.cc.u32", false: "addc.cc.u32"}[i == 0], t[i], a[i], b[i])
	}
	blk.op("addc.u32 %s, 0, 0", c)
	for i := range s {
		blk.op("%s %s, %s, %s", map[bool]string{true: "sub.cc.u32", false: "subc.cc.u32"}[i == 0], s[i], t[i], twice[i])
	}
	blk.op("subc.u32 %s, %s, 0", w, c)
	blk.lines = append([]string{".reg .pred q;"}, blk.lines...)
	blk.op("setp.ne.u32 q, %s, 0", w)
	for i := range out {
		blk.op("selp.u32 %s, %s, %s, q", out[i], t[i], s[i])
	}
}

// emitSubLazy subtracts on [0, 2r), adding 2r back after a borrow.
func emitSubLazy(p prime, blk *block, out, a, b []string) {
	twice := prime{p.name, new(big.Int).Lsh(p.value, 1), p.n}
	emitSub(twice, blk, out, a, b)
}
