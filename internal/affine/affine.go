// Package affine adds many points of y² = x³ + b at a time, in affine form.
//
// One affine addition needs the inverse of a coordinate difference. Additions
// that do not depend on each other share one inversion (Montgomery's trick:
// multiply all differences up, invert the product, walk back), so an addition
// costs five multiplications and a square instead of the eleven of mixed
// Jacobian addition. Everything here is lists of such additions: [Sum] adds a
// stream of points, [Table] multiplies a fixed point by many scalars, and
// [MultiExp] sums points times scalars by Pippenger's buckets.
//
// Points are kept in one of two forms. Where the processor can, they are those
// of package lanes, which adds eight at a time; elsewhere, and with the build
// tag purego, gnark-crypto's. [G1] and [G2] are the engines of the two groups in
// the form that suits the processor. The zero value of a point is infinity in
// either form, as in gnark-crypto.
//
// Invariants:
//
//  1. Results are exact for all inputs: infinity, equal points and opposite
//     points take their own branch. Sums of group elements in affine form are
//     unique, so both forms give the same bytes.
//  2. The curve's b does not occur, so points need not be on the curve for the
//     package to be safe; they are not checked.
package affine

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Engine computes in one group. A is gnark-crypto's form of its points.
type Engine[A any] interface {
	// NewList makes room for n points.
	NewList(n int) List[A]
	// NewSum makes an empty sum.
	NewSum() Sum[A]
	// NewTable makes a table of multiples of p for windows of w bits, 2 to 17.
	NewTable(p A, w int) Table[A]
	// NewMultiExp makes an empty sum of points times scalars, meant for about n
	// of them and worked on by a number of goroutines.
	NewMultiExp(n, workers int) MultiExp[A]
}

// List is a list of points in an engine's form. Parts of it may be written by
// several goroutines.
type List[A any] interface {
	Len() int
	// Part is the points from, from+1, ... to-1, in the same storage.
	Part(from, to int) List[A]
	// Load copies points to the front.
	Load(points []A)
	// Decode reads uncompressed points, as proving keys have them, to the front.
	// False means that there is something else than finite points with
	// coordinates below p and no flags, or that the engine leaves decoding to
	// its caller; the list is of no use then until it is loaded.
	Decode(raw []byte) bool
	// Free gives the storage of a whole list back; nothing may use it, or a part
	// of it, afterwards.
	Free()
}

// Sum adds a stream of points. One goroutine may use it at a time.
type Sum[A any] interface {
	// Add adds all points of a list, which may be reused then.
	Add(points List[A])
	// Total is the sum of all points since the last Total, and empties the sum.
	Total() A
}

// MultiExp sums points times scalars. One goroutine may use it at a time.
type MultiExp[A any] interface {
	// Add adds points[i] times scalars[i] for all i. It may be ended early with
	// the context's error; the sum is of no use then. The scalars are spent.
	// Calls with Part points are best.
	Add(ctx context.Context, points List[A], scalars []fr.Element) error
	// Part is how many points Add takes at a time.
	Part() int
	// Total is the sum of all that was added, and empties the sum.
	Total(ctx context.Context) (A, error)
	// Bytes is the memory that it will hold, a list of Part points for Add
	// included.
	Bytes() int64
	// Close gives the memory back.
	Close()
}

// Table holds multiples of one point for multiplication by many scalars. It is
// immutable; several goroutines may multiply with it.
type Table[A any] interface {
	// Mul sets dst[i] to scalars[i] times the point, with one goroutine.
	Mul(dst []A, scalars []fr.Element)
}

// G1 and G2 are the engines of the two groups.
var (
	G1 = newEngineG1()
	G2 = newEngineG2()
)

func plainEngineG1() Engine[bls12381.G1Affine] {
	return &engine[bls12381.G1Affine, bls12381.G1Affine]{
		adder: func() adder[bls12381.G1Affine] { return new(plainG1) },
		load:  copyPoints[bls12381.G1Affine], store: copyPoints[bls12381.G1Affine],
		negate: func(p *bls12381.G1Affine) { p.Neg(p) },
		horner: hornerG1,
	}
}

func plainEngineG2() Engine[bls12381.G2Affine] {
	return &engine[bls12381.G2Affine, bls12381.G2Affine]{
		adder: func() adder[bls12381.G2Affine] { return new(plainG2) },
		load:  copyPoints[bls12381.G2Affine], store: copyPoints[bls12381.G2Affine],
		negate: func(p *bls12381.G2Affine) { p.Neg(p) },
		horner: hornerG2,
	}
}

func copyPoints[A any](dst, src []A) { copy(dst, src) }
