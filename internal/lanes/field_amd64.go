//go:build !purego

package lanes

import (
	"math/big"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/utils/cpu"
)

// Available tells whether the processor has what the package needs.
var Available = cpu.SupportAVX512IFMA

// block is eight numbers side by side: limb i of number j at [i][j]. Except
// where a function says otherwise, limbs are below 2^52 and numbers below 4p.
type block [limbs][lanes]uint64

// pair is eight elements A0 + A1·u of the quadratic extension.
type pair [2]block

const (
	blockBytes = int(unsafe.Sizeof(block{}))
	pairBytes  = int(unsafe.Sizeof(pair{}))
)

// mulBlocks sets z[k] to x[k]·y[k]/2^416, at most p and 2^-30 of it, for n
// blocks one after another, so that a result may be a later factor. step is the
// distance of neighbours in bytes, negative to go down; stepY that of y.
//
//go:noescape
func mulBlocks(z, x, y *block, n, step, stepY int)

// mulPairs is mulBlocks in the extension. scratch is one pair.
//
//go:noescape
func mulPairs(z, x, y, scratch *pair, n, step, stepY int)

// squarePairs sets z[k] to x[k]²/2^416 in the extension, for n pairs, x at most
// 2p: (A0 + A1)·(A0 - A1) and 2·A0·A1. t is n pairs of scratch; z may be x.
func squarePairs(z, x, t *pair, n int) {
	u := unsafe.Slice(&t[0], 2*n)
	s, d := &u[0], &u[n]
	addBlocks(s, &x[0], &x[1], n, blockBytes, pairBytes)
	subBlocks(d, &x[0], &x[1], n, blockBytes, pairBytes)
	mulBlocks(s, s, d, n, blockBytes, blockBytes)
	addBlocks(d, &x[0], &x[0], n, blockBytes, pairBytes)
	mulBlocks(&z[1], &x[1], d, n, pairBytes, blockBytes)
	to := unsafe.Slice(z, n)
	for k := range to {
		to[k][0] = u[k]
	}
}

// addBlocks sets z to x + y. stepZ and step are the distances of neighbours in
// bytes, step for both x and y.
//
//go:noescape
func addBlocks(z, x, y *block, n, stepZ, step int)

// subBlocks sets z to x - y + 2p, y at most 2p. Limbs of x and y may be
// negative.
//
//go:noescape
func subBlocks(z, x, y *block, n, stepZ, step int)

// foldSub sets z to x - y mod p, at most p and 2^-12 of it, y at most 2p. Limbs
// of x and y may be negative.
//
//go:noescape
func foldSub(z, x, y *block, n int)

// foldSub2 sets z to x - y - w mod p, at most p and 2^-12 of it, y + w at most
// 4p.
//
//go:noescape
func foldSub2(z, x, y, w *block, n int)

// gather reads a coordinate of the points that 8n operations name: the A of
// each with shift 0, the B with shift 32. points is the coordinate of point 0.
// It tells which lanes met a zero.
//
//go:noescape
func gather(z *block, step int, points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int) (zero uint64)

// gatherSigned is gather with 2p - y where Minus is set; limbs may be negative.
//
//go:noescape
func gatherSigned(z *block, step int, points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int)

// prefetch asks for two cache lines of the points that n operations name.
//
//go:noescape
func prefetch(points unsafe.Pointer, logSize uint64, ops *Op, shift uint64, n int)

// scatter writes a coordinate of 8n points, size bytes apart.
//
//go:noescape
func scatter(points unsafe.Pointer, size int, z *block, step, n int)

// scatterTo writes a coordinate of the points that the A of 8n operations name.
//
//go:noescape
func scatterTo(points unsafe.Pointer, logSize uint64, ops *Op, z *block, step, n int)

// unpackWords reads 8n numbers of six words, size bytes apart.
//
//go:noescape
func unpackWords(z *block, step int, src unsafe.Pointer, size, n int)

// unpackBytes reads 8n big-endian numbers of 48 bytes, size bytes apart, and
// tells which lanes met a zero or a number that is not below p.
//
//go:noescape
func unpackBytes(z *block, step int, src unsafe.Pointer, size, n int) (odd uint64)

// packWords writes 8n numbers, z below 2p, as six words below p, size bytes
// apart.
//
//go:noescape
func packWords(dst unsafe.Pointer, size int, z *block, step, n int)

// limbBits is the size of a limb.
const limbBits = 52

// constants are what the assembly needs, at the offsets that it names.
var constants = newConstants()

type constantTable struct {
	modulus, double, fourfold [limbs]uint64
	negInv, mask              uint64 // -1/p mod 2^52, 2^52 - 1
	// The multiple of p in a number with highest limb h is about
	// (h - slack)·guess/2^40: slack is more than a carry into h can be.
	guess, slack uint64
	// multiples[i][k] is limb i of k·p, and for k = 7 of -p.
	multiples [limbs][lanes]uint64
}

func newConstants() (c constantTable) {
	p := fp.Modulus()
	radix := new(big.Int).Lsh(big.NewInt(1), limbBits)
	c.modulus = split(p)
	c.double = split(new(big.Int).Lsh(p, 1))
	c.fourfold = split(new(big.Int).Lsh(p, 2))
	inv := new(big.Int).ModInverse(p, radix)
	c.negInv = inv.Sub(radix, inv).Uint64()
	c.mask = 1<<limbBits - 1
	c.guess = 1 << 40 / (c.modulus[limbs-1] + 1)
	c.slack = 8
	for k := range lanes - 1 {
		for i, l := range split(new(big.Int).Mul(p, big.NewInt(int64(k)))) {
			c.multiples[i][k] = l
		}
	}
	for i, l := range c.modulus {
		c.multiples[i][lanes-1] = -l
	}
	return c
}

// split cuts a number into limbs.
func split(x *big.Int) (z [limbs]uint64) {
	mask := big.NewInt(1<<limbBits - 1)
	for i := range z {
		l := new(big.Int).Rsh(x, uint(i*limbBits))
		z[i] = l.And(l, mask).Uint64()
	}
	return z
}

// power is 2^k mod p in all lanes.
func power(k uint) (z block) {
	x := new(big.Int).Lsh(big.NewInt(1), k)
	for i, l := range split(x.Mod(x, fp.Modulus())) {
		for j := range lanes {
			z[i][j] = l
		}
	}
	return z
}

const (
	wordRadix = 64 * fp.Limbs    // numbers of gnark-crypto are x·2^384
	radix     = limbBits * limbs // ours are x·2^416
)

var (
	one       = power(radix)               // 1
	fromWords = power(2*radix - wordRadix) // x·2^384 to ours
	fromPlain = power(2 * radix)           // x to ours
	toWords   = power(wordRadix)           // ours to x·2^384
)
