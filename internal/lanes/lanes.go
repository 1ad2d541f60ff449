// Package lanes adds points of BLS12-381 eight at a time, with the processor's
// 52-bit multiply-add (AVX-512 IFMA). Available tells whether it can; on other
// platforms, and with the build tag purego, the package has types alone and
// package affine does without it.
//
// A coordinate is eight limbs of 52 bits in Montgomery form of radix 2^416. That
// leaves 35 bits above the modulus p: products need no last subtraction, and sums
// and differences no reduction before they are multiplied. Blocks hold limb i of
// eight numbers in row i, one number in each 64-bit lane of eight registers; all
// arithmetic is on lists of blocks. Points lie in memory one by one ([G1], [G2]),
// so that any eight can be gathered and scattered.
//
// A batch of additions shares one inversion (Montgomery's trick), in two chains
// of eight lanes that hide each other's latency.
//
// Invariants:
//
//  1. Sums are those of the group law where both points are finite and have
//     different x. Other batches are refused before anything is written: the
//     product of the denominators is zero, or a coordinate that is read is.
//  2. Coordinates in memory keep the bounds of [G1], whatever the additions.
//  3. Operations name points that are there; that is checked, since the assembly
//     does not look.
package lanes

// G1 is a point of G1: the limbs of x, then those of y, each the coordinate in
// Montgomery form of radix 2^416, x at most 2^-12 above the modulus p, y at most
// 2p. All zero is infinity.
type G1 [2 * limbs]uint64

// G2 is a point of G2: x.A0, x.A1, y.A0, y.A1, each as in G1.
type G2 [4 * limbs]uint64

const (
	limbs = 8 // of 52 bits, in a number
	lanes = 8
)

// Op is one addition: numbers of the points to be added, with Minus set where
// the negative is meant.
type Op struct{ A, B uint32 }

// Minus marks a point whose negative is meant.
const Minus = 1 << 31

// Batch is the most additions that an adder takes at a time. They share one
// inversion of 4 microseconds.
const Batch = 2048
