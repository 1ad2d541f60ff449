package cuda

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	gpu "cuzk/cuda"
)

// A table of a fixed base B has the multiples m 2^(16 w - w') B, m = 1 ... 2^15,
// of sixteen windows (the first one bit narrower): a multiple of B is a sum of
// sixteen table points, by the same trees as everything else.
const (
	fixedWindows = 16
	fixedRows    = 1 << 15
)

// TableBytesG1 and TableBytesG2 are the device memory of a table.
const (
	TableBytesG1 = fixedWindows * fixedRows * bls12381.SizeOfG1AffineUncompressed
	TableBytesG2 = fixedWindows * fixedRows * bls12381.SizeOfG2AffineUncompressed
)

// TableG1 fills table, TableBytesG1 long, with multiples of base. The scratch is
// as for FixedG1.
func (s *Summer) TableG1(ctx context.Context, base bls12381.G1Affine, table, scratch gpu.Memory) error {
	row := make([]byte, 0, fixedWindows*curveG1.point)
	var p bls12381.G1Jac
	p.FromAffine(&base)
	v := newWindows(fixedWindows)
	for w := range fixedWindows {
		var a bls12381.G1Affine
		a.FromJacobian(&p)
		row = encode(row, a.X[:], a.Y[:])
		for range v.bits(w) {
			p.DoubleAssign()
		}
	}
	return s.table(ctx, curveG1, row, table, scratch)
}

// TableG2 is TableG1 in G2.
func (s *Summer) TableG2(ctx context.Context, base bls12381.G2Affine, table, scratch gpu.Memory) error {
	row := make([]byte, 0, fixedWindows*curveG2.point)
	var p bls12381.G2Jac
	p.FromAffine(&base)
	v := newWindows(fixedWindows)
	for w := range fixedWindows {
		var a bls12381.G2Affine
		a.FromJacobian(&p)
		row = encode(row, a.X.A0[:], a.X.A1[:], a.Y.A0[:], a.Y.A1[:])
		for range v.bits(w) {
			p.DoubleAssign()
		}
	}
	return s.table(ctx, curveG2, row, table, scratch)
}

// FixedG1 sets out[i] to scalars[i] times the table's base. More scratch means
// fewer passes.
func (s *Summer) FixedG1(ctx context.Context, table gpu.Memory, k Scalars, out, scratch gpu.Memory) error {
	return s.fixed(ctx, curveG1, table, k, out, scratch)
}

// FixedG2 is FixedG1 in G2.
func (s *Summer) FixedG2(ctx context.Context, table gpu.Memory, k Scalars, out, scratch gpu.Memory) error {
	return s.fixed(ctx, curveG2, table, k, out, scratch)
}

// encode appends words as the device stores them.
func encode(b []byte, elements ...[]uint64) []byte {
	for _, e := range elements {
		for _, w := range e {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	return b
}

// table doubles the rows until all are there: rows m ... 2m-1 are the rows before
// plus row m-1.
func (s *Summer) table(ctx context.Context, cv curve, row []byte, table, scratch gpu.Memory) error {
	if table.Bytes < fixedWindows*fixedRows*cv.point {
		return fmt.Errorf("table of a fixed base: %d bytes, need %d", table.Bytes, fixedWindows*fixedRows*cv.point)
	}
	f := s.dev.facts()
	c := carver{mem: scratch}
	ops, prefix, exceptions := c.take(fixedWindows*fixedRows/2*8), c.take(f.prefixBytes(cv)), c.take(exceptionBytes)
	if c.used > scratch.Bytes {
		return fmt.Errorf("table of a fixed base: %d bytes of scratch memory, need %d", scratch.Bytes, c.used)
	}
	err := s.dev.do(func(q queue) error { return q.upload(table, row) })
	if err != nil {
		return err
	}
	err = s.enqueue(func(q *steps) {
		q.fill(exceptions, 0)
		for m := int64(1); m < fixedRows; m *= 2 {
			n := fixedWindows * m
			q.launch("msm_table_ops", perThread(n), uint32(m), ops)
			q.add(additions{
				curve: cv, ops: ops, count: n, base: table, slots: table,
				out: table.Slice(n*cv.point, n*cv.point), prefix: prefix, exception: exceptions, exact: true,
			})
		}
		q.mark(0)
	})
	if err != nil {
		return err
	}
	return s.dev.wait(ctx, 0)
}

// fixedPlan is the arrays of one pass over n scalars: their table references, and
// 8, 4 and 2 partial sums of each.
type fixedPlan struct {
	refs, ops, prefix, exceptions gpu.Memory
	slots                         [2]gpu.Memory
}

func (p *fixedPlan) carve(f facts, cv curve, n int64, c *carver) {
	p.refs = c.take(n * fixedWindows * 4)
	p.ops = c.take(n * 4 * 8)
	p.slots[0] = c.take(n * 8 * cv.point)
	p.slots[1] = c.take(n * 4 * cv.point)
	p.prefix = c.take(f.prefixBytes(cv))
	p.exceptions = c.take(exceptionBytes)
}

// fixedPass is the most scalars of one pass.
const fixedPass = 1 << 22

func (s *Summer) fixed(ctx context.Context, cv curve, table gpu.Memory, k Scalars, out, scratch gpu.Memory) error {
	if k.Count < 0 || k.Memory.Bytes < int64(k.Count)*32 || out.Bytes < int64(k.Count)*cv.point {
		return fmt.Errorf("%d multiples of a fixed base: %d bytes of scalars and %d of results are too few", k.Count, k.Memory.Bytes, out.Bytes)
	}
	f, n := s.dev.facts(), int64(min(max(k.Count, 1), fixedPass))
	var p fixedPlan
	for c := (carver{dry: true}); ; c.used = 0 {
		if p.carve(f, cv, n, &c); c.used <= scratch.Bytes {
			break
		}
		if n /= 2; n == 0 {
			return fmt.Errorf("multiples of a fixed base: %d bytes of scratch memory, need %d", scratch.Bytes, c.used)
		}
	}
	p.carve(f, cv, n, &carver{mem: scratch})
	for from := int64(0); from < int64(k.Count); from += n {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := min(n, int64(k.Count)-from)
		part := Scalars{k.Memory.Slice(from*32, m*32), int(m), k.Form}
		err := s.enqueue(func(q *steps) { p.pass(q, cv, table, part, out.Slice(from*cv.point, m*cv.point)) })
		if err == nil {
			err = s.dev.wait(ctx, 0)
		}
		if err != nil {
			return fmt.Errorf("multiples of a fixed base: %w", err)
		}
	}
	return nil
}

// pass sums the sixteen table points of each scalar by four levels of pairs.
func (p *fixedPlan) pass(q *steps, cv curve, table gpu.Memory, k Scalars, out gpu.Memory) {
	v, n := newWindows(fixedWindows), int64(k.Count)
	b := v.bias()
	q.fill(p.exceptions, 0)
	q.launch("msm_fixed_refs", perThread(n), k.Memory, uint32(k.Count), uint32(k.Form), uint32(v.width), uint32(v.narrow),
		b[0], b[1], b[2], b[3], p.refs)
	a := additions{curve: cv, ops: p.refs, count: 8 * n, base: table, slots: table, out: p.slots[0], prefix: p.prefix, exception: p.exceptions}
	q.add(a)
	for i, count := range []int64{4 * n, 2 * n, n} {
		q.launch("msm_pair_ops", perThread(count), gpu.Memory{}, uint32(0), uint32(2*count), p.ops)
		a.ops, a.count, a.slots, a.out = p.ops, count, p.slots[i%2], p.slots[1-i%2]
		if count == n {
			a.out, a.exact = out, true
		}
		q.add(a)
	}
	q.mark(0)
}
