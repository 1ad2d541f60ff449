//go:build !purego

package ntt

import (
	"math/big"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils/cpu"
)

// Available tells whether the processor has what the package needs.
var Available = cpu.SupportAVX512IFMA

const (
	words = 5 // limbs of a number
	lanes = 8
)

// limbs is one number below r, the lowest first.
type limbs [words]uint64

// block is eight numbers side by side: limb i of number j at [i][j]. Numbers are
// at least 0 and below 2^260, which is 35r; limbs may be negative or above 2^52
// unless a function says otherwise.
type block [words][lanes]uint64

const (
	blockBytes   = int(unsafe.Sizeof(block{}))
	limbsBytes   = int(unsafe.Sizeof(limbs{}))
	elementBytes = fr.Bytes
)

// stage does outer·inner butterflies in eight lanes: x and y become x + ty and
// x - ty + 2r, so numbers grow by 2r. In group o, from data + o·outerStep on, x
// are inner blocks innerStep apart, y lie distance behind them, and t is
// w[o·wStep], times v unless that is nil; numbers of v are at most r and 2^-5 of
// it, its limbs carried. All distances are bytes.
//
//go:noescape
func stage(data *block, outer, outerStep, inner, innerStep, distance int, w *limbs, wStep int, v *block)

// mul sets z[k] to x[k]·y[k]/2^260, carried, below r and the 2^260th part of the
// product, for n blocks. Limbs of y are carried. stepY is 0 for one y.
//
//go:noescape
func mul(z, x, y *block, n, stepY int)

// mulSpread sets z[k] to x[k]·w[k]/2^260 in all lanes, as mul.
//
//go:noescape
func mulSpread(z, x *block, w *limbs, n int)

// sub sets z to x - y + 2r, y at most 2r.
//
//go:noescape
func sub(z, x, y *block, n int)

// settle takes n blocks to at most r and 2^-18 of it, carried.
//
//go:noescape
func settle(z *block, n int)

// unpack reads n blocks: lane j of block k is the element lane·j + step·k bytes
// behind src. Elements are below 2^256.
//
//go:noescape
func unpack(z *block, src *fr.Element, lane, step, n int)

// pack writes n blocks to where unpack would read them, below r.
//
//go:noescape
func pack(dst *fr.Element, lane, step int, z *block, n int)

// constants are what the assembly needs, at the offsets that it names.
var constants = newConstants()

type constantTable struct {
	modulus, double, minus limbs  // r, 2r, 2^260 - r
	negInv, mask           uint64 // -1/r mod 2^52, 2^52 - 1
	guess                  uint64 // 2^56 over the modulus' bits from 230 on
	_                      [6]uint64
	joinLow, joinHigh      [lanes]uint64 // how quarters of two registers are joined
}

const (
	limbBits = 52
	radix    = limbBits * words
)

func newConstants() (c constantTable) {
	r := fr.Modulus()
	one := big.NewInt(1)
	c.modulus = split(r)
	c.double = split(new(big.Int).Lsh(r, 1))
	c.minus = split(new(big.Int).Sub(new(big.Int).Lsh(one, radix), r))
	base := new(big.Int).Lsh(one, limbBits)
	c.negInv = new(big.Int).Sub(base, new(big.Int).ModInverse(r, base)).Uint64()
	c.mask = 1<<limbBits - 1
	c.guess = 1 << 56 / (new(big.Int).Rsh(r, 230).Uint64() + 1)
	c.joinLow = [lanes]uint64{0, 1, 8, 9, 4, 5, 12, 13}
	c.joinHigh = [lanes]uint64{2, 3, 10, 11, 6, 7, 14, 15}
	return c
}

// split cuts an integer into limbs.
func split(x *big.Int) (z limbs) {
	mask := big.NewInt(1<<limbBits - 1)
	for i := range z {
		l := new(big.Int).Rsh(x, uint(i*limbBits))
		z[i] = l.And(l, mask).Uint64()
	}
	return z
}

// factor makes a number that others are multiplied by: x·2^260, so that products
// are as elements are, in Montgomery form of radix 2^256.
func factor(x *fr.Element) limbs {
	const mask = 1<<limbBits - 1
	var e fr.Element
	e.Mul(x, &sixteen)
	return limbs{
		e[0] & mask,
		(e[0]>>52 | e[1]<<12) & mask,
		(e[1]>>40 | e[2]<<24) & mask,
		(e[2]>>28 | e[3]<<36) & mask,
		e[3] >> 16,
	}
}

var sixteen = fr.NewElement(16)

// spread is eight factors.
func spread(x *[lanes]fr.Element) (z block) {
	for j := range x {
		for i, l := range factor(&x[j]) {
			z[i][j] = l
		}
	}
	return z
}
