// Package affine adds many points of y² = x³ + b at a time, in affine form.
//
// One affine addition needs the inverse of a coordinate difference. Additions
// that do not depend on each other share one inversion (Montgomery's trick:
// multiply all differences up, invert the product, walk back), so an addition
// costs five multiplications and a square instead of the eleven of mixed
// Jacobian addition. [Adder] is that step, [Sum] adds a stream of points with
// it, [Table] multiplies a fixed point by many scalars.
//
// The package is generic over the group: [G1] and [G2] of BLS12-381 differ in
// the coordinate field alone. The zero value of a point is infinity, as in
// gnark-crypto.
//
// Invariants:
//
//  1. Results are exact for all inputs: infinity, equal points and opposite
//     points take their own branch.
//  2. The curve's b does not occur, so points need not be on the curve for the
//     package to be safe; they are not checked.
package affine

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// Field is the arithmetic of a coordinate field with elements F.
type Field[F any] interface {
	*F
	Add(x, y *F) *F
	Sub(x, y *F) *F
	Mul(x, y *F) *F
	Square(x *F) *F
	Double(x *F) *F
	Neg(x *F) *F
	Inverse(x *F) *F
	Equal(x *F) bool
	IsZero() bool
	SetOne() *F
}

// Point is an affine point with coordinates in F.
type Point[F any] interface {
	~struct{ X, Y F }
}

// point gives generic code the coordinates of a Point, which converts to it.
type point[F any] struct{ X, Y F }

// The types of the two groups.
type (
	// SumG1 sums points of G1.
	SumG1 = Sum[bls12381.G1Affine, fp.Element, *fp.Element]
	// SumG2 sums points of G2.
	SumG2 = Sum[bls12381.G2Affine, bls12381.E2, *bls12381.E2]
	// TableG1 multiplies a fixed point of G1.
	TableG1 = Table[bls12381.G1Affine, fp.Element, *fp.Element]
	// TableG2 multiplies a fixed point of G2.
	TableG2 = Table[bls12381.G2Affine, bls12381.E2, *bls12381.E2]
)

// Adder adds lists of points. It holds scratch only; the zero value is ready
// and one goroutine may use it at a time.
type Adder[P Point[F], F any, PF Field[F]] struct {
	den []F    // what each addition divides by; meaningless where op is done
	pre []F    // product of the den before
	op  []step // how each addition is finished
	run F      // running product, then running inverse

	// Locals of prepare and finish: a method call on a type parameter makes
	// its operands escape, so they live here.
	u, v point[F]
	t    [3]F
}

type step uint8

const (
	stepDone   step = iota // the sum is already in place
	stepAdd                // chord
	stepDouble             // tangent
)

// Add sets acc[i] to acc[i] + q[i]. The lists have one length and share no
// storage.
func (a *Adder[P, F, PF]) Add(acc, q []P) {
	if n := len(acc); len(a.den) < n {
		a.den, a.pre, a.op = make([]F, n), make([]F, n), make([]step, n)
	}
	PF(&a.run).SetOne()
	for i := range acc {
		a.op[i] = a.prepare(&acc[i], &q[i], &a.den[i])
		if a.op[i] != stepDone {
			a.pre[i] = a.run
			PF(&a.run).Mul(&a.run, &a.den[i])
		}
	}
	PF(&a.run).Inverse(&a.run)
	for i := len(acc) - 1; i >= 0; i-- {
		if a.op[i] == stepDone {
			continue
		}
		inverse := PF(&a.pre[i])
		inverse.Mul(&a.run, &a.pre[i])
		PF(&a.run).Mul(&a.run, &a.den[i])
		a.finish(a.op[i], &acc[i], &q[i], inverse)
	}
}

// prepare finds the denominator of the slope of the line through p and q, or
// puts p+q into p where there is no slope.
func (a *Adder[P, F, PF]) prepare(p, q *P, den *F) step {
	a.u, a.v = point[F](*p), point[F](*q)
	if infinite[F, PF](&a.v) {
		return stepDone
	}
	if infinite[F, PF](&a.u) {
		*p = *q
		return stepDone
	}
	PF(den).Sub(&a.v.X, &a.u.X)
	if !PF(den).IsZero() {
		return stepAdd
	}
	if !PF(&a.u.Y).Equal(&a.v.Y) || PF(&a.u.Y).IsZero() {
		var inf P
		*p = inf
		return stepDone
	}
	PF(den).Double(&a.u.Y)
	return stepDouble
}

func infinite[F any, PF Field[F]](p *point[F]) bool {
	return PF(&p.X).IsZero() && PF(&p.Y).IsZero()
}

// finish puts p+q into p, given the inverse of prepare's denominator.
func (a *Adder[P, F, PF]) finish(op step, p, q *P, inverse PF) {
	a.u, a.v = point[F](*p), point[F](*q)
	u, v := &a.u, &a.v
	slope, x, y := PF(&a.t[0]), PF(&a.t[1]), PF(&a.t[2])
	if op == stepAdd {
		slope.Sub(&v.Y, &u.Y)
	} else {
		x.Square(&u.X)
		slope.Double(x)
		slope.Add(slope, x)
	}
	slope.Mul(slope, inverse)
	x.Square(slope)
	x.Sub(x, &u.X)
	x.Sub(x, &v.X)
	y.Sub(&u.X, x)
	y.Mul(y, slope)
	y.Sub(y, &u.Y)
	*p = P(point[F]{*x, *y})
}
