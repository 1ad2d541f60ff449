package cuda

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	gpu "cuzk/cuda"
)

// Bits are scalars that are 0 or 1, in device memory.
type Bits struct {
	Words gpu.Memory // bit i is bit i%32 of word i/32
	Count int        // bits; those after the last are ignored
}

// bitsChunk is the bits that one block counts.
const bitsChunk = 256 * 32

// BitsG1 returns the sum of the points whose bit is set. scratch is memory for
// the time of the call; with less of it more passes are made.
func (s *Summer) BitsG1(ctx context.Context, points gpu.Memory, b Bits, scratch gpu.Memory) (bls12381.G1Affine, error) {
	var p bls12381.G1Affine
	t, err := s.sumBits(ctx, curveG1, points, b, scratch)
	if err != nil {
		return p, fmt.Errorf("sum over %d bits in G1: %w", b.Count, err)
	}
	sum := weightedSum(t, decodeG1, func(acc *bls12381.G1Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G1Jac, p *bls12381.G1Affine) { acc.AddMixed(p) })
	return *p.FromJacobian(&sum), nil
}

// BitsG2 is BitsG1 in G2.
func (s *Summer) BitsG2(ctx context.Context, points gpu.Memory, b Bits, scratch gpu.Memory) (bls12381.G2Affine, error) {
	var p bls12381.G2Affine
	t, err := s.sumBits(ctx, curveG2, points, b, scratch)
	if err != nil {
		return p, fmt.Errorf("sum over %d bits in G2: %w", b.Count, err)
	}
	sum := weightedSum(t, decodeG2, func(acc *bls12381.G2Jac) { acc.DoubleAssign() },
		func(acc *bls12381.G2Jac, p *bls12381.G2Affine) { acc.AddMixed(p) })
	return *p.FromJacobian(&sum), nil
}

// bitsPlan is the arrays of one pass over at most n bits. Levels of the tree take
// turns between the two halves of the slots.
type bitsPlan struct {
	curve                           curve
	n                               int
	counts, sums, refs, ops, prefix gpu.Memory
	slots                           [2]gpu.Memory
	exceptions                      gpu.Memory
}

func (p *bitsPlan) carve(f facts, c *carver) {
	n := int64(p.n)
	chunks := (n + bitsChunk - 1) / bitsChunk
	p.counts = c.take((chunks + 1) * 4)
	p.sums = c.take((chunks + scanItems) / scanItems * 4)
	p.refs = c.take((n + 2) * 4)
	p.ops = c.take((n/4 + 2) * 8)
	p.prefix = c.take(f.prefixBytes(p.curve))
	p.slots[0] = c.take((n/2 + 2) * p.curve.point)
	p.slots[1] = c.take((n/4 + 2) * p.curve.point)
	p.exceptions = c.take(exceptionBytes)
}

// planBits halves the pass, in whole chunks, until it fits the memory.
func planBits(f facts, cv curve, n int, budget int64) (bitsPlan, error) {
	p := bitsPlan{curve: cv, n: n}
	for {
		c := carver{dry: true}
		p.carve(f, &c)
		if c.used <= budget && p.n < refLimit {
			return p, nil
		}
		if p.n <= bitsChunk {
			return p, fmt.Errorf("%d bytes of scratch memory are too few, need %d", budget, c.used)
		}
		p.n = (p.n/2 + bitsChunk - 1) / bitsChunk * bitsChunk
	}
}

// sumBits returns one term a pass, all of weight one.
func (s *Summer) sumBits(ctx context.Context, cv curve, points gpu.Memory, b Bits, scratch gpu.Memory) (terms, error) {
	var t terms
	if b.Count == 0 {
		return t, nil
	}
	if b.Count < 0 || points.Bytes < int64(b.Count)*cv.point || b.Words.Bytes < int64(b.Count+31)/32*4 {
		return t, fmt.Errorf("%d bytes of points and %d of bits are too few", points.Bytes, b.Words.Bytes)
	}
	p, err := planBits(s.dev.facts(), cv, b.Count, scratch.Bytes)
	if err != nil {
		return t, err
	}
	p.carve(s.dev.facts(), &carver{mem: scratch})
	for from := 0; from < b.Count; from += p.n {
		if err := ctx.Err(); err != nil {
			return t, err
		}
		n, at := min(p.n, b.Count-from), int64(from)
		words := b.Words.Slice(at/8, int64(n+31)/32*4)
		sum, err := s.bitsPass(ctx, &p, points.Slice(at*cv.point, int64(n)*cv.point), words, n)
		if err != nil {
			return t, err
		}
		if sum != nil {
			t.points, t.exponents = append(t.points, sum...), append(t.exponents, 0)
		}
	}
	return t, nil
}

// bitsPass sums over n bits; nil when none is set.
func (s *Summer) bitsPass(ctx context.Context, p *bitsPlan, points, words gpu.Memory, n int) ([]byte, error) {
	chunks := (n + bitsChunk - 1) / bitsChunk
	err := s.enqueue(func(q *steps) {
		q.stage("bits list")
		q.fill(p.exceptions, 0)
		q.launch("msm_bits_count", perThread(int64(chunks)*256), words, uint32(n), p.counts)
		q.scan(scan{in: p.counts, out: p.counts, sums: p.sums, length: chunks, rows: 1})
		q.launch("msm_bits_list", perThread(int64(chunks)*256), words, uint32(n), p.counts, p.refs)
		q.mark(0)
	})
	if err != nil {
		return nil, err
	}
	set, err := s.readWord(ctx, 0, p.counts.Slice(int64(chunks)*4, 4))
	if err != nil || set == 0 {
		return nil, err
	}
	var last int
	err = s.enqueue(func(q *steps) {
		last = bitsTree(q, p, points, int64(set))
		q.stage("end")
		q.mark(0)
	})
	if err != nil {
		return nil, err
	}
	exceptions, err := s.readWord(ctx, 0, p.exceptions.Slice(0, 4))
	if err != nil {
		return nil, err
	}
	s.exceptions.Add(uint64(exceptions))
	sum := make([]byte, p.curve.point)
	return sum, s.dev.do(func(q queue) error { return q.download(sum, p.slots[last]) })
}

// bitsTree adds the listed points by pairs until one is left, and tells in which
// half of the slots it is. The list of references is itself a list of additions,
// filled up to pairs with infinity.
func bitsTree(q *steps, p *bitsPlan, points gpu.Memory, set int64) int {
	q.stage("bits sum")
	q.fill(p.refs.Slice(set*4, 4), 0xff)
	a := additions{
		curve: p.curve, ops: p.refs, count: (set + 1) / 2, base: points, slots: p.slots[1], out: p.slots[0],
		prefix: p.prefix, exception: p.exceptions, exact: set <= 2,
	}
	q.add(a)
	half := 0
	for n := a.count; n > 1; n = (n + 1) / 2 {
		q.launch("msm_pair_ops", perThread((n+1)/2), gpu.Memory{}, uint32(0), uint32(n), p.ops)
		a.ops, a.count, a.slots, a.out = p.ops, (n+1)/2, p.slots[half], p.slots[1-half]
		a.exact = a.count == 1
		q.add(a)
		half = 1 - half
	}
	return half
}

// enqueue runs fn with steps on the device.
func (s *Summer) enqueue(fn func(*steps)) error {
	return s.dev.do(func(q queue) error {
		st := &steps{q: q, facts: s.dev.facts()}
		fn(st)
		return st.err
	})
}

// readWord waits for a mark and reads a word.
func (s *Summer) readWord(ctx context.Context, mark int, m gpu.Memory) (uint32, error) {
	if err := s.dev.wait(ctx, mark); err != nil {
		return 0, err
	}
	var b [4]byte
	err := s.dev.do(func(q queue) error { return q.download(b[:], m) })
	return binary.LittleEndian.Uint32(b[:]), err
}
