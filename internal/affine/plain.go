package affine

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"cuzk/internal/lanes"
)

// field is the arithmetic of a coordinate field with elements F.
type field[F any] interface {
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

// affinePoint is gnark-crypto's form of a point with coordinates in F.
type affinePoint[F any] interface {
	~struct{ X, Y F }
}

// point gives generic code the coordinates of an affinePoint, which converts to
// it.
type point[F any] struct{ X, Y F }

// The adders of the two groups.
type (
	plainG1 = plain[bls12381.G1Affine, fp.Element, *fp.Element]
	plainG2 = plain[bls12381.G2Affine, bls12381.E2, *bls12381.E2]
)

// plain adds lists of points in gnark-crypto's form, exactly in all cases. The
// zero value is ready.
type plain[P affinePoint[F], F any, PF field[F]] struct {
	p, q []P    // operands of a batch, signs applied; sums replace p
	den  []F    // what each addition divides by; meaningless where op is done
	pre  []F    // product of the den before
	op   []step // how each addition is finished
	run  F      // running product, then running inverse

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

// Add implements adder.
func (a *plain[P, F, PF]) Add(dst, p, q []P, ops []Op) {
	for len(ops) > 0 {
		n := a.batch(p, q, ops)
		copy(dst, a.p[:n])
		dst, ops = dst[n:], ops[n:]
	}
}

// Accumulate implements adder.
func (a *plain[P, F, PF]) Accumulate(p, q []P, ops []Op) {
	for len(ops) > 0 {
		n := a.batch(p, q, ops)
		for i, o := range ops[:n] {
			p[o.A&^minus] = a.p[i]
		}
		ops = ops[n:]
	}
}

// batch leaves the sums of the first operations in a.p.
func (a *plain[P, F, PF]) batch(p, q []P, ops []Op) (n int) {
	n = min(len(ops), lanes.Batch)
	a.room(n)
	for i, o := range ops[:n] {
		a.p[i], a.q[i] = a.pick(p, o.A), a.pick(q, o.B)
	}
	a.sum(a.p[:n], a.q[:n])
	return n
}

func (a *plain[P, F, PF]) room(n int) {
	if len(a.den) < n {
		a.p, a.q, a.den, a.pre, a.op = make([]P, n), make([]P, n), make([]F, n), make([]F, n), make([]step, n)
	}
}

// pick is the point that half an operation means.
func (a *plain[P, F, PF]) pick(p []P, ref uint32) P {
	if ref&minus == 0 {
		return p[ref]
	}
	a.u = point[F](p[ref&^minus])
	PF(&a.u.Y).Neg(&a.u.Y)
	return P(a.u)
}

// sum sets acc[i] to acc[i] + q[i].
func (a *plain[P, F, PF]) sum(acc, q []P) {
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
func (a *plain[P, F, PF]) prepare(p, q *P, den *F) step {
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

func infinite[F any, PF field[F]](p *point[F]) bool {
	return PF(&p.X).IsZero() && PF(&p.Y).IsZero()
}

// finish puts p+q into p, given the inverse of prepare's denominator.
func (a *plain[P, F, PF]) finish(op step, p, q *P, inverse PF) {
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
