package affine

import (
	"unsafe"

	"cuzk/internal/lanes"
	"cuzk/internal/offheap"
)

// Op is one addition: which two points, each perhaps negated.
type Op = lanes.Op

const minus = lanes.Minus

// adder adds points of the form P. It holds scratch; one goroutine may use it
// at a time.
type adder[P any] interface {
	// Add sets dst[i] to ±p[ops[i].A] ± q[ops[i].B]. dst shares no storage with
	// p and q.
	Add(dst, p, q []P, ops []Op)
	// Accumulate sets p[ops[i].A] to ±p[ops[i].A] ± q[ops[i].B]. No place occurs
	// twice, and q shares no storage with p.
	Accumulate(p, q []P, ops []Op)
}

// engine is what the package needs to know of the form P.
type engine[P comparable, A any] struct {
	adder  func() adder[P]
	load   func(dst []P, src []A)
	store  func(dst []A, src []P)
	decode func(dst []P, raw []byte) bool // nil where there is none
	negate func(p *P)
	horner func(bits []A) A // the sum of bits[k] times 2^k
}

// list implements [List].
type list[P comparable, A any] struct {
	e *engine[P, A]
	p []P
}

func (e *engine[P, A]) NewList(n int) List[A] { return &list[P, A]{e, offheap.Make[P](n)} }

func (l *list[P, A]) Len() int { return len(l.p) }

func (l *list[P, A]) Part(from, to int) List[A] { return &list[P, A]{l.e, l.p[from:to]} }

func (l *list[P, A]) Load(points []A) { l.e.load(l.p[:len(points)], points) }

func (l *list[P, A]) Decode(raw []byte) bool { return l.e.decode != nil && l.e.decode(l.p, raw) }

func (l *list[P, A]) Free() { offheap.Free(l.p) }

// pointBytes is the size of a point.
func (e *engine[P, A]) pointBytes() int64 {
	var p P
	return int64(unsafe.Sizeof(p))
}

// one converts a point.
func (e *engine[P, A]) one(p P) A {
	var a [1]A
	e.store(a[:], []P{p})
	return a[0]
}

// points is the storage of one of the engine's lists.
func (e *engine[P, A]) points(l List[A]) []P { return l.(*list[P, A]).p }

// inOrder names points one after another.
var inOrder = func() (ops [lanes.Batch]Op) {
	for i := range ops {
		ops[i] = Op{A: uint32(i), B: uint32(i)}
	}
	return ops
}()
