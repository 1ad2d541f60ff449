// Package lanes adds points of BLS12-381 eight at a time, with the processor's
// 52-bit multiply-add (AVX-512 IFMA).
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
