//go:build !purego

package lanes

import (
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

const (
	maxGroups = Batch / lanes // groups of eight additions in a batch
	subGroups = 16            // groups that one step of the way back takes
	subOps    = subGroups * lanes
)

// AdderG1 adds points of G1. It is scratch (half a MiB); one goroutine may use
// it at a time.
type AdderG1 struct{ adder[G1, block, fieldG1] }

// AdderG2 is AdderG1 for G2, of twice the size.
type AdderG2 struct{ adder[G2, pair, fieldG2] }

// NewAdderG1 makes an adder.
func NewAdderG1() *AdderG1 { return &AdderG1{newAdder[G1, block, fieldG1]()} }

// NewAdderG2 makes an adder.
func NewAdderG2() *AdderG2 { return &AdderG2{newAdder[G2, pair, fieldG2]()} }

// field is the arithmetic of a coordinate field on lists of C, eight
// coordinates each. Bounds of numbers are those of the functions on blocks.
type field[C any] interface {
	one() C
	mul(z, x, y *C, n int)
	mulDown(z, x, y *C, n int) // from the last of n on, which the pointers are at
	square(z, x, t *C, n int)
	sub(z, x, y *C, n int)
	foldSub(z, x, y *C, n int)
	foldSub2(z, x, y, w *C, n int)
	prefetch(first coordinate, ops []Op, shift uint64)
	gather(z *C, at coordinate, ops *Op, shift uint64, n int) uint64
	gatherSigned(z *C, at coordinate, ops *Op, shift uint64, n int)
	scatter(at coordinate, z *C, n int)
	scatterTo(at coordinate, ops *Op, z *C, n int)
	invert(z *C) bool
}

// coordinate is x or y of a list of points: where the first one's lies.
type coordinate struct{ at unsafe.Pointer }

// adder adds with coordinates in C.
//
// A batch goes forward, multiplying the denominators up in two chains that run
// side by side, inverts the two products, and comes back in steps that fit the
// first level cache.
type adder[P, C any, F field[C]] struct {
	f        F
	den, pre []C
	t        [5][]C // subGroups each
	out      []P    // a part that is not full
	ops      [subOps]Op
}

// newAdder allocates lists of their own: large ones lie at the start of a page,
// so no block straddles two cache lines.
func newAdder[P, C any, F field[C]]() adder[P, C, F] {
	a := adder[P, C, F]{den: make([]C, maxGroups+2), pre: make([]C, maxGroups+2), out: make([]P, subOps)}
	t := make([]C, len(a.t)*subGroups)
	for i := range a.t {
		a.t[i] = t[i*subGroups : (i+1)*subGroups]
	}
	return a
}

// Add sets dst[i] to ±p[ops[i].A] ± q[ops[i].B], for at most Batch operations.
// dst shares no storage with p and q. It returns false, and does nothing, if a
// sum needs care: an operand is infinity, or the two have the same x.
func (a *adder[P, C, F]) Add(dst, p, q []P, ops []Op) bool {
	if !a.inverses(p, q, ops) {
		return false
	}
	a.back(dst[:len(ops)], p, q, ops)
	return true
}

// Accumulate sets p[ops[i].A] to ±p[ops[i].A] ± q[ops[i].B], as Add. No place
// occurs twice.
func (a *adder[P, C, F]) Accumulate(p, q []P, ops []Op) bool {
	if !a.inverses(p, q, ops) {
		return false
	}
	a.back(nil, p, q, ops)
	return true
}

func (a *adder[P, C, F]) inverses(p, q []P, ops []Op) bool {
	if len(ops) == 0 {
		return true
	}
	mustName(len(p), len(q), ops)
	groups := (len(ops) + lanes - 1) / lanes
	return a.forward(p, q, ops) && a.invert(groups)
}

// mustName panics if an operation names a point that is not there: the assembly
// does not look.
func mustName(p, q int, ops []Op) {
	var a, b uint32
	for _, o := range ops {
		a, b = max(a, o.A&^Minus), max(b, o.B&^Minus)
	}
	if int(a) >= p || int(b) >= q {
		panic("lanes: an operation names a point that is not there")
	}
}

func xOf[P any](p []P) coordinate { return coordinate{unsafe.Pointer(&p[0])} }

// yOf is the second half of the first point.
func yOf[P any](p []P) coordinate {
	return coordinate{unsafe.Add(unsafe.Pointer(&p[0]), unsafe.Sizeof(p[0])/2)}
}

// part is up to subOps operations from number from on, and the number of groups;
// a last group that is not full repeats the first operation.
func (a *adder[P, C, F]) part(ops []Op, from int) (*Op, int) {
	n := min(len(ops)-from, subOps)
	if n%lanes == 0 {
		return &ops[from], n / lanes
	}
	copy(a.ops[:], ops[from:])
	groups := (n + lanes - 1) / lanes
	for i := n; i < groups*lanes; i++ {
		a.ops[i] = ops[from]
	}
	return &a.ops[0], groups
}

// forward fills den with x(q) - x(p), and pre with the products: pre[g+2] =
// pre[g]·den[g].
func (a *adder[P, C, F]) forward(p, q []P, ops []Op) bool {
	a.pre[0], a.pre[1] = a.f.one(), a.f.one()
	x, y := &a.t[0][0], &a.t[1][0]
	zero := uint64(0)
	for from := 0; from < len(ops); from += subOps {
		if next := from + subOps; next < len(ops) {
			ahead := ops[next:min(next+subOps, len(ops))]
			a.f.prefetch(xOf(p), ahead, 0)
			a.f.prefetch(xOf(q), ahead, 32)
		}
		part, n := a.part(ops, from)
		g := from / lanes
		zero |= a.f.gather(x, xOf(p), part, 0, n)
		zero |= a.f.gather(y, xOf(q), part, 32, n)
		a.f.sub(&a.den[g], y, x, n)
		a.f.mul(&a.pre[g+2], &a.pre[g], &a.den[g], n)
	}
	return zero == 0
}

// invert puts the inverses of the two chains behind the denominators.
func (a *adder[P, C, F]) invert(groups int) bool {
	var t C
	u, v := &a.pre[groups], &a.pre[groups+1]
	a.f.mul(&t, u, v, 1)
	if !a.f.invert(&t) {
		return false
	}
	a.f.mul(&a.den[groups], &t, v, 1)
	a.f.mul(&a.den[groups+1], &t, u, 1)
	return true
}

// back finishes the additions, last ones first. den[g+2] becomes the inverse of
// pre[g+2] before it is used.
func (a *adder[P, C, F]) back(dst, p, q []P, ops []Op) {
	for from := (len(ops) - 1) / subOps * subOps; from >= 0 && len(ops) > 0; from -= subOps {
		part, n := a.part(ops, from)
		g := from / lanes
		last := g + n - 1
		a.f.mulDown(&a.den[last], &a.den[last+2], &a.den[last], n)
		a.f.mul(&a.t[0][0], &a.pre[g], &a.den[g+2], n)
		x, y := a.chord(p, q, part, n)
		if dst == nil {
			a.f.scatterTo(xOf(p), part, x, n)
			a.f.scatterTo(yOf(p), part, y, n)
			continue
		}
		to := dst[from:min(from+subOps, len(dst))]
		if len(to)%lanes == 0 {
			a.f.scatter(xOf(to), x, n)
			a.f.scatter(yOf(to), y, n)
			continue
		}
		a.f.scatter(xOf(a.out), x, n)
		a.f.scatter(yOf(a.out), y, n)
		copy(to, a.out)
	}
}

// chord adds n groups, given the inverses of the denominators in t[0].
func (a *adder[P, C, F]) chord(p, q []P, ops *Op, n int) (sumX, sumY *C) {
	slope, x, y, u, v := &a.t[0][0], &a.t[1][0], &a.t[2][0], &a.t[3][0], &a.t[4][0]
	a.f.gatherSigned(y, yOf(p), ops, 0, n)
	a.f.gatherSigned(v, yOf(q), ops, 32, n)
	a.f.sub(v, v, y, n)
	a.f.mul(slope, slope, v, n)
	a.f.square(u, slope, v, n)
	a.f.gather(x, xOf(p), ops, 0, n)
	a.f.gather(v, xOf(q), ops, 32, n)
	a.f.foldSub2(u, u, x, v, n)
	a.f.sub(x, x, u, n)
	a.f.mul(x, x, slope, n)
	a.f.foldSub(y, x, y, n)
	return u, y
}

// fieldG1 is the prime field.
type fieldG1 struct{}

const logG1, logG2 = 7, 8 // sizes of points

func (fieldG1) one() block                    { return one }
func (fieldG1) mul(z, x, y *block, n int)     { mulBlocks(z, x, y, n, blockBytes, blockBytes) }
func (fieldG1) mulDown(z, x, y *block, n int) { mulBlocks(z, x, y, n, -blockBytes, -blockBytes) }
func (fieldG1) square(z, x, _ *block, n int)  { mulBlocks(z, x, x, n, blockBytes, blockBytes) }
func (fieldG1) sub(z, x, y *block, n int)     { subBlocks(z, x, y, n, blockBytes, blockBytes) }
func (fieldG1) foldSub(z, x, y *block, n int) { foldSub(z, x, y, n) }

func (fieldG1) foldSub2(z, x, y, w *block, n int) { foldSub2(z, x, y, w, n) }

func (fieldG1) prefetch(c coordinate, ops []Op, shift uint64) {
	prefetch(c.at, logG1, &ops[0], shift, len(ops))
}

func (fieldG1) gather(z *block, c coordinate, ops *Op, shift uint64, n int) uint64 {
	return gather(z, blockBytes, c.at, logG1, ops, shift, n)
}

func (fieldG1) gatherSigned(z *block, c coordinate, ops *Op, shift uint64, n int) {
	gatherSigned(z, blockBytes, c.at, logG1, ops, shift, n)
}

func (fieldG1) scatter(c coordinate, z *block, n int) {
	scatter(c.at, 1<<logG1, z, blockBytes, n)
}

func (fieldG1) scatterTo(c coordinate, ops *Op, z *block, n int) {
	scatterTo(c.at, logG1, ops, z, blockBytes, n)
}

// invert inverts eight numbers, or tells that one is zero.
func (fieldG1) invert(z *block) bool {
	var v [lanes]fp.Element
	mulBlocks(z, z, &toWords, 1, blockBytes, 0)
	packWords(unsafe.Pointer(&v), fp.Bytes, z, blockBytes, 1)
	if !invertAll(&v) {
		return false
	}
	unpackWords(z, blockBytes, unsafe.Pointer(&v), fp.Bytes, 1)
	mulBlocks(z, z, &fromWords, 1, blockBytes, 0)
	return true
}

// element is what invertAll needs of a field of gnark-crypto.
type element[E any] interface {
	*E
	Mul(x, y *E) *E
	Inverse(x *E) *E
	IsZero() bool
}

// invertAll inverts with one inversion, unless an element is zero.
func invertAll[E any, PE element[E]](v *[lanes]E) bool {
	pre := *v
	for i := 1; i < lanes; i++ {
		PE(&pre[i]).Mul(&pre[i-1], &v[i])
	}
	run := pre[lanes-1]
	if PE(&run).IsZero() {
		return false
	}
	PE(&run).Inverse(&run)
	for i := lanes - 1; i > 0; i-- {
		own := v[i]
		PE(&v[i]).Mul(&run, &pre[i-1])
		PE(&run).Mul(&run, &own)
	}
	v[0] = run
	return true
}

// fieldG2 is the quadratic extension.
type fieldG2 struct{}

func (fieldG2) one() pair { return pair{one} }

func (fieldG2) mul(z, x, y *pair, n int) {
	var s pair
	mulPairs(z, x, y, &s, n, pairBytes, pairBytes)
}

func (fieldG2) mulDown(z, x, y *pair, n int) {
	var s pair
	mulPairs(z, x, y, &s, n, -pairBytes, -pairBytes)
}

// square multiplies A0 + A1 with A0 - A1, and 2·A0 with A1.
func (fieldG2) square(z, x, t *pair, n int) { squarePairs(z, x, t, n) }

func (fieldG2) sub(z, x, y *pair, n int)         { subBlocks(&z[0], &x[0], &y[0], 2*n, blockBytes, blockBytes) }
func (fieldG2) foldSub(z, x, y *pair, n int)     { foldSub(&z[0], &x[0], &y[0], 2*n) }
func (fieldG2) foldSub2(z, x, y, w *pair, n int) { foldSub2(&z[0], &x[0], &y[0], &w[0], 2*n) }

// second is where A1 lies behind A0.
func (c coordinate) second() unsafe.Pointer { return unsafe.Add(c.at, 8*limbs) }

func (fieldG2) prefetch(c coordinate, ops []Op, shift uint64) {
	prefetch(c.at, logG2, &ops[0], shift, len(ops))
	prefetch(unsafe.Add(c.at, 1<<logG1), logG2, &ops[0], shift, len(ops))
}

// gather looks for zeros in A0 alone: a point that is not infinity and has one
// there is as rare as it is harmless.
func (fieldG2) gather(z *pair, c coordinate, ops *Op, shift uint64, n int) uint64 {
	gather(&z[1], pairBytes, c.second(), logG2, ops, shift, n)
	return gather(&z[0], pairBytes, c.at, logG2, ops, shift, n)
}

func (fieldG2) gatherSigned(z *pair, c coordinate, ops *Op, shift uint64, n int) {
	gatherSigned(&z[0], pairBytes, c.at, logG2, ops, shift, n)
	gatherSigned(&z[1], pairBytes, c.second(), logG2, ops, shift, n)
}

func (fieldG2) scatter(c coordinate, z *pair, n int) {
	scatter(c.at, 1<<logG2, &z[0], pairBytes, n)
	scatter(c.second(), 1<<logG2, &z[1], pairBytes, n)
}

func (fieldG2) scatterTo(c coordinate, ops *Op, z *pair, n int) {
	scatterTo(c.at, logG2, ops, &z[0], pairBytes, n)
	scatterTo(c.second(), logG2, ops, &z[1], pairBytes, n)
}

func (fieldG2) invert(z *pair) bool {
	var v [lanes]bls12381.E2
	const size = 2 * fp.Bytes
	second := unsafe.Pointer(&v[0].A1)
	mulBlocks(&z[0], &z[0], &toWords, 2, blockBytes, 0)
	packWords(unsafe.Pointer(&v), size, &z[0], pairBytes, 1)
	packWords(second, size, &z[1], pairBytes, 1)
	if !invertAll(&v) {
		return false
	}
	unpackWords(&z[0], pairBytes, unsafe.Pointer(&v), size, 1)
	unpackWords(&z[1], pairBytes, second, size, 1)
	mulBlocks(&z[0], &z[0], &fromWords, 2, blockBytes, 0)
	return true
}
