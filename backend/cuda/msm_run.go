package cuda

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"

	gpu "cuzk/cuda"
)

// steps enqueues work and remembers the first error, so that a sequence of
// launches reads as a list.
type steps struct {
	q     queue
	facts facts
	err   error
}

func (s *steps) launch(kernel string, sh shape, args ...any) {
	if s.err == nil {
		s.err = s.q.launch(kernel, sh, args...)
	}
}

func (s *steps) fill(m gpu.Memory, v byte) {
	if s.err == nil {
		s.err = s.q.fill(m, v)
	}
}

func (s *steps) stage(name string) {
	if s.err == nil {
		s.err = s.q.stage(name)
	}
}

func (s *steps) mark(i int) {
	if s.err == nil {
		s.err = s.q.mark(i)
	}
}

// perThread is a launch of one thread an item.
func perThread(items int64) shape { return shape{grid: int((items + 255) / 256), rows: 1, block: 256} }

// rows is perThread for each of several rows.
func (s shape) times(rows int) shape {
	s.rows = rows
	return s
}

// words reads little-endian words.
func words(dst []uint64, b []byte) {
	for i := range dst {
		dst[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
}

// additions is one launch of a list of additions: out[i] = a + b, references
// into base and slots.
type additions struct {
	curve             curve
	ops               gpu.Memory
	count             int64
	base, slots, out  gpu.Memory
	prefix, exception gpu.Memory
	exact             bool // coordinates below p, for readers outside; else below 2p
}

// add enqueues the list, cut into chunks so that all warps get about the same
// number of them, at most opsDepth additions a lane deep.
func (s *steps) add(a additions) {
	if a.count == 0 {
		return
	}
	lanes := int64(s.facts.warps(a.curve)) * 32
	each, most := (a.count+lanes-1)/lanes, int64(s.facts.opsDepth())
	// Several rounds even out the warps as long as they are not too shallow.
	rounds := max((each+most-1)/most, min(4, each/32))
	depth := (each + rounds - 1) / rounds
	chunks := (a.count + 32*depth - 1) / (32 * depth)
	blocks := min(int64(s.facts.sms*s.facts.opsBlocks[a.curve.ops]), (chunks+3)/4)
	exact := uint32(0)
	if a.exact {
		exact = 1
	}
	kernel, shared := s.facts.additions(a.curve)
	s.launch(kernel, shape{grid: int(blocks), rows: 1, block: opsThreads, shared: shared},
		a.ops, uint32(a.count), uint32(depth), a.base, a.slots, a.out, a.prefix, a.exception, exact)
}

// scan is an exclusive scan of rows of length words: out has rows one longer,
// with the total last; sizes is 1 to scan tree levels from bucket sizes.
type scan struct {
	in, out, sums, totals gpu.Memory
	length, sizes         int
	rows                  int
}

func (s *steps) scan(c scan) {
	chunks := (c.length + scanItems - 1) / scanItems
	sh := shape{grid: chunks, rows: c.rows, block: 256}
	s.launch("msm_scan_sums", sh, c.in, uint32(c.length), uint32(c.sizes), c.sums)
	s.launch("msm_scan_top", shape{grid: 1, rows: c.rows, block: min(1024, (chunks+31)/32*32)}, c.sums, uint32(chunks))
	s.launch("msm_scan_apply", sh, c.in, uint32(c.length), uint32(c.sizes), c.sums, c.out, c.totals)
}

// msmRun is one part of an MSM under way.
type msmRun struct {
	*plan
	dev     device
	facts   facts
	points  gpu.Memory
	scalars gpu.Memory
	form    ScalarForm
	recoded [2]int // windows whose digits are in memory: from, to
}

// msm returns the terms whose sum is the MSM.
func (s *Summer) msm(ctx context.Context, cv curve, points gpu.Memory, k Scalars, scratch gpu.Memory) (terms, error) {
	var all terms
	if k.Count == 0 {
		return all, nil
	}
	if points.Bytes < int64(k.Count)*cv.point || k.Memory.Bytes < int64(k.Count)*32 || k.Count < 0 {
		return all, fmt.Errorf("%d bytes of points and %d of scalars are too few", points.Bytes, k.Memory.Bytes)
	}
	f := s.dev.facts()
	p, err := planMSM(f, cv, k.Count, scratch.Bytes, s.windows)
	if err != nil {
		return all, err
	}
	return s.runParts(ctx, &p, points, k, scratch)
}

// runParts runs the plan on slices of p.n points.
func (s *Summer) runParts(ctx context.Context, p *plan, points gpu.Memory, k Scalars, scratch gpu.Memory) (terms, error) {
	var all terms
	size := p.n
	for from := 0; from < k.Count; from += size {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		part := *p
		part.n = min(size, k.Count-from)
		part.carve(s.dev.facts(), &carver{mem: scratch})
		at, n := int64(from), int64(part.n)
		r := &msmRun{
			plan: &part, dev: s.dev, facts: s.dev.facts(), form: k.Form,
			points: points.Slice(at*p.curve.point, n*p.curve.point), scalars: k.Memory.Slice(at*32, n*32),
		}
		t, err := r.run(ctx)
		if err != nil {
			return all, err
		}
		s.exceptions.Add(uint64(binary.LittleEndian.Uint32(t.points[len(t.points)-4:])))
		all.points = append(all.points, t.points[:len(t.points)-4]...)
		all.exponents = append(all.exponents, t.exponents...)
	}
	return all, nil
}

// enqueue runs fn with steps on the device.
func (r *msmRun) enqueue(fn func(*steps)) error {
	return r.dev.do(func(q queue) error {
		s := &steps{q: q, facts: r.facts}
		fn(s)
		return s.err
	})
}

// run computes one part. Group i+1 is sorted before group i is summed: the host
// must see how deep a group's trees are, and meanwhile the device has work. The
// points of the result are followed by the count of exceptions.
func (r *msmRun) run(ctx context.Context) (terms, error) {
	groups := (r.windows.count + r.group - 1) / r.group
	err := r.enqueue(func(s *steps) {
		s.fill(r.mem.exceptions, 0)
		r.grouped(0).enqueueSort(s)
	})
	for i := 0; i < groups && err == nil; i++ {
		if i+1 < groups {
			err = r.enqueue(r.grouped(i + 1).enqueueSort)
		}
		if err == nil {
			err = r.dev.wait(ctx, i%2)
		}
		if err == nil {
			err = r.grouped(i).sum()
		}
	}
	if err != nil {
		return terms{}, err
	}
	return r.finish(ctx)
}

// list is a launch of additions with this run's memory; its results go to point
// number at of into.
func (r *msmRun) list(count int64, slots, into gpu.Memory, at int64) additions {
	return additions{
		curve: r.curve, ops: r.mem.ops, count: count, base: r.points, slots: slots,
		out: into.Slice(at*r.curve.point, count*r.curve.point), prefix: r.mem.prefix, exception: r.mem.exceptions,
	}
}

// treeTotals are the additions of each level of a group's trees, and the size of
// the largest bucket.
type treeTotals struct {
	levels  []uint32
	largest uint32
}

// sum enqueues the trees and the reduction of a group that has been sorted.
func (g *group) sum() error {
	buf := make([]byte, 4*treeLevel)
	return g.dev.do(func(q queue) error {
		if err := q.download(buf, g.mem.totals[g.set]); err != nil {
			return err
		}
		t := treeTotals{largest: binary.LittleEndian.Uint32(buf[4*(treeLevel-1):])}
		for l := range treeLevel - 1 {
			n := binary.LittleEndian.Uint32(buf[4*l:])
			if n == 0 {
				break
			}
			t.levels = append(t.levels, n)
		}
		s := &steps{q: q, facts: g.facts}
		g.reduce(s, g.trees(s, t))
		return s.err
	})
}

// trees sums each bucket of the group to one point and returns how many slots are
// taken.
func (g *group) trees(s *steps, t treeTotals) (used int64) {
	m, buckets := &g.mem, g.rows*g.buckets
	s.stage("offsets")
	if len(t.levels) > 0 {
		s.scan(scan{in: m.sizes[g.set], out: m.offsets, sums: m.sums, length: buckets, sizes: 1, rows: len(t.levels)})
	}
	for l, n := range t.levels {
		s.stage("lists")
		g.lists(s, t, l)
		s.stage("buckets")
		s.add(g.list(int64(n), m.slots, m.slots, used))
		used += int64(n)
	}
	s.stage("refs")
	s.launch("msm_tree_refs", perThread(int64(buckets)), m.values[g.set], m.begins[g.set], m.sizes[g.set], m.offsets,
		m.totals[g.set], uint32(buckets), uint32(len(t.levels)), m.refs)
	return used
}

// lists makes the additions of a level: with some lanes for each bucket where the
// largest is not far above the mean, otherwise by search.
func (g *group) lists(s *steps, t treeTotals, level int) {
	m, buckets, n := &g.mem, g.rows*g.buckets, int(t.levels[level])
	lanes := min(bits.Len(uint((n-1)/buckets)), 5)
	args := []any{m.values[g.set], m.begins[g.set], m.sizes[g.set], m.offsets, m.totals[g.set], uint32(buckets), uint32(level)}
	if int(t.largest)>>(level+1) > 64<<lanes {
		s.launch("msm_tree_ops", shape{grid: (n + 1023) / 1024, rows: 1, block: 256}, append(args, m.ops)...)
		return
	}
	s.launch("msm_tree_even", perThread(int64((buckets+3)/4)<<lanes), append(args, uint32(lanes), m.ops)...)
}

// tailAt is where the tails of a group begin, in points.
func (r *msmRun) tailAt(window int) int64 { return int64(window*r.sides()) << r.tailBits() }

// reduce halves rows and columns of the group's buckets and leaves the rest, the
// tails, for the sums by bits. Slots from at on are free.
func (g *group) reduce(s *steps, at int64) {
	s.stage("reduce")
	m, tail := &g.mem, g.tailAt(g.from)
	if g.halvings == 0 {
		n := int64(g.rows) << g.log
		s.launch("msm_copy_ops", perThread(n), m.refs, uint32(n), m.ops)
		s.add(g.list(n, m.slots, m.tails, tail))
		return
	}
	refs, base := m.refs, int64(0)
	for t := range g.halvings {
		half := int64(g.rows) << (g.log - t - 1)
		s.launch("msm_reduce_ops", perThread(2*half), refs, uint32(base), uint32(half), uint32(g.log-t), m.ops)
		if t == g.halvings-1 {
			s.add(g.list(2*half, m.slots, m.tails, tail))
			return
		}
		s.add(g.list(2*half, m.slots, m.slots, at))
		refs, base = gpu.Memory{}, at
		at += 2 * half
	}
}

// bitSum is a sum over the points of one array whose index has a bit set (or
// clear), and the weight of the sum.
type bitSum struct {
	base     int64 // first tail of the array
	bit      int
	set      bool
	exponent int
}

// bitSums lists the sums that make up the windows, as derived in msm_tree.cu.
func (r *msmRun) bitSums() (out []bitSum) {
	for i := 0; i*r.group < r.windows.count; i++ {
		g := r.grouped(i)
		for k := range g.rows {
			out = append(out, g.windowSums(k)...)
		}
	}
	return out
}

// windowSums: bucket q weighs q+1, and q is the index itself or, after halvings,
// row and column of it. Without halvings the row array holds the buckets.
func (g *group) windowSums(k int) (out []bitSum) {
	side := int64(1) << g.tailBits()
	row := g.tailAt(g.from) + int64(k)*side
	column := row + int64(g.rows)*side
	at, log := g.windows.position(g.from+k), g.windows.bucketBits(g.from+k)
	low := log
	if g.halvings == 0 {
		column = row
	} else {
		low = g.split
		for k := range log - low {
			out = append(out, bitSum{row, g.split - g.halvings + k, true, at + low + k})
		}
	}
	// The 1 of q+1 is the sum over all: bit 0 set, once more, and bit 0 clear.
	out = append(out, bitSum{column, 0, true, at + 1}, bitSum{column, 0, false, at})
	for k := 1; k < low; k++ {
		out = append(out, bitSum{column, k, true, at + k})
	}
	return out
}

// finish sums the tails by bits and fetches the results.
func (r *msmRun) finish(ctx context.Context) (terms, error) {
	sums := r.bitSums()
	var t terms
	desc := make([]byte, 8*len(sums))
	for i, b := range sums {
		code := uint32(2 * b.bit)
		if b.set {
			code++
		}
		binary.LittleEndian.PutUint32(desc[8*i:], uint32(b.base))
		binary.LittleEndian.PutUint32(desc[8*i+4:], code)
		t.exponents = append(t.exponents, b.exponent)
	}
	var at int64
	err := r.dev.do(func(q queue) error {
		if err := q.upload(r.mem.descriptor, desc); err != nil {
			return err
		}
		s := &steps{q: q, facts: r.facts}
		at = r.sumBits(s, int64(len(sums)))
		s.stage("end")
		s.mark(2)
		return s.err
	})
	if err == nil {
		err = r.dev.wait(ctx, 2)
	}
	if err != nil {
		return t, err
	}
	n := int64(len(sums)) * r.curve.point
	t.points = make([]byte, n+4)
	return t, r.dev.do(func(q queue) error {
		if err := q.download(t.points[:n], r.mem.slots.Slice(at*r.curve.point, n)); err != nil {
			return err
		}
		return q.download(t.points[n:], r.mem.exceptions)
	})
}

// sumBits returns the slot of the first result.
func (r *msmRun) sumBits(s *steps, count int64) int64 {
	s.stage("bits")
	m := &r.mem
	log := r.tailBits()
	n := count << (log - 2)
	s.launch("msm_bit_ops", perThread(n), m.descriptor, uint32(count), uint32(log), m.ops)
	a := r.list(n, m.tails, m.slots, 0)
	a.exact = n == count
	s.add(a)
	at := int64(0)
	for ; n > count; n /= 2 {
		s.launch("msm_pair_ops", perThread(n/2), gpu.Memory{}, uint32(at), uint32(n), m.ops)
		a = r.list(n/2, m.slots, m.slots, at+n)
		a.exact = n/2 == count
		s.add(a)
		at += n
	}
	return at
}
