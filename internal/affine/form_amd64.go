//go:build !purego

package affine

import (
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/internal/lanes"
)

func newEngineG1() Engine[bls12381.G1Affine] {
	if !lanes.Available {
		return plainEngineG1()
	}
	return &engine[lanes.G1, bls12381.G1Affine]{
		adder: func() adder[lanes.G1] {
			return &careful[lanes.G1, bls12381.G1Affine]{fast: lanes.NewAdderG1(), exact: new(plainG1), load: lanes.LoadG1, store: lanes.StoreG1}
		},
		load: lanes.LoadG1, store: lanes.StoreG1, decode: lanes.DecodeG1,
		negate: (*lanes.G1).Negate,
		horner: hornerG1,
	}
}

func newEngineG2() Engine[bls12381.G2Affine] {
	if !lanes.Available {
		return plainEngineG2()
	}
	return &engine[lanes.G2, bls12381.G2Affine]{
		adder: func() adder[lanes.G2] {
			return &careful[lanes.G2, bls12381.G2Affine]{fast: lanes.NewAdderG2(), exact: new(plainG2), load: lanes.LoadG2, store: lanes.StoreG2}
		},
		load: lanes.LoadG2, store: lanes.StoreG2, decode: lanes.DecodeG2,
		negate: (*lanes.G2).Negate,
		horner: hornerG2,
	}
}

// careful adds in lanes where that is possible, and batches that have a special
// case among their additions in gnark-crypto's form. Halving such a batch a few
// times keeps most of it in lanes.
type careful[P, A any] struct {
	fast interface {
		Add(dst, p, q []P, ops []Op) bool
		Accumulate(p, q []P, ops []Op) bool
	}
	exact adder[A]
	load  func(dst []P, src []A)
	store func(dst []A, src []P)

	batches  int // since the last breath
	operands []P // of a batch for exact: first ones, then second ones
	plain    []A
	signed   []Op
}

// splits is the number of halvings.
const splits = 3

// Add implements adder.
func (c *careful[P, A]) Add(dst, p, q []P, ops []Op) {
	for len(ops) > 0 {
		n := min(len(ops), lanes.Batch)
		c.batch(dst, p, q, ops[:n], splits)
		dst, ops = dst[n:], ops[n:]
		c.breathe()
	}
}

// Accumulate implements adder.
func (c *careful[P, A]) Accumulate(p, q []P, ops []Op) {
	for len(ops) > 0 {
		n := min(len(ops), lanes.Batch)
		c.batch(nil, p, q, ops[:n], splits)
		ops = ops[n:]
		c.breathe()
	}
}

// breathe lets others have the processor every few milliseconds.
func (c *careful[P, A]) breathe() {
	if c.batches++; c.batches%4 == 0 {
		runtime.Gosched()
	}
}

// batch adds to dst, or in place if that is nil.
func (c *careful[P, A]) batch(dst, p, q []P, ops []Op, left int) {
	if dst != nil && c.fast.Add(dst, p, q, ops) || dst == nil && c.fast.Accumulate(p, q, ops) {
		return
	}
	if n := len(ops) / 2; left > 0 && n > 0 {
		c.batch(dst, p, q, ops[:n], left-1)
		if dst != nil {
			dst = dst[n:]
		}
		c.batch(dst, p, q, ops[n:], left-1)
		return
	}
	c.one(dst, p, q, ops)
}

// one adds in gnark-crypto's form.
func (c *careful[P, A]) one(dst, p, q []P, ops []Op) {
	n := len(ops)
	if c.plain == nil {
		c.operands, c.plain, c.signed = make([]P, 2*lanes.Batch), make([]A, 3*lanes.Batch), make([]Op, lanes.Batch)
	}
	for i, o := range ops {
		c.operands[i], c.operands[n+i] = p[o.A&^minus], q[o.B&^minus]
		c.signed[i] = Op{A: uint32(i) | o.A&minus, B: uint32(n+i) | o.B&minus}
	}
	operands, sums := c.plain[:2*n], c.plain[2*n:3*n]
	c.store(operands, c.operands[:2*n])
	c.exact.Add(sums, operands, operands, c.signed[:n])
	if dst != nil {
		c.load(dst[:n], sums)
		return
	}
	c.load(c.operands[:n], sums)
	for i, o := range ops {
		p[o.A&^minus] = c.operands[i]
	}
}
