package cuda

import (
	"context"
	"encoding/binary"
	"fmt"

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
}

// add enqueues the list. The additions of a lane are shared out so that all
// chunks are equal and at most opsDepth deep.
func (s *steps) add(a additions) {
	if a.count == 0 {
		return
	}
	lanes := int64(s.facts.warps(a.curve)) * 32
	rounds := (a.count + lanes*opsDepth - 1) / (lanes * opsDepth)
	depth := (a.count + lanes*rounds - 1) / (lanes * rounds)
	chunks := (a.count + 32*depth - 1) / (32 * depth)
	blocks := min(int64(s.facts.sms*s.facts.opsBlocks[a.curve.ops]), (chunks+3)/4)
	s.launch(a.curve.ops, shape{grid: int(blocks), rows: 1, block: opsThreads},
		a.ops, uint32(a.count), uint32(depth), a.base, a.slots, a.out, a.prefix, a.exception)
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
	p, err := planMSM(f, cv, k.Count, scratch.Bytes)
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
		r.sort(s, 0)
	})
	for i := 0; i < groups && err == nil; i++ {
		if i+1 < groups {
			err = r.enqueue(func(s *steps) { r.sort(s, i+1) })
		}
		if err == nil {
			err = r.dev.wait(ctx, i%2)
		}
		if err == nil {
			err = r.sum(i)
		}
	}
	if err != nil {
		return terms{}, err
	}
	return r.finish(ctx)
}

// groupWindows is the range of windows of a group.
func (r *msmRun) groupWindows(i int) (from, to int) {
	return i * r.group, min((i+1)*r.group, r.windows.count)
}

// sort enqueues digits, sort and bounds of group i, and mark i%2 behind.
func (r *msmRun) sort(s *steps, i int) {
	from, to := r.groupWindows(i)
	set, rows, n := i%2, to-from, uint32(r.n)
	m := &r.mem
	s.stage("digits")
	if to > r.recoded[1] {
		r.recode(s, from)
	}
	digits := m.digits.Slice(int64(from-r.recoded[0])*int64(r.n)*4, int64(rows)*int64(r.n)*4)
	counts := m.counts.Slice(0, int64(rows)*4)
	s.stage("sort")
	cells := r.blocks << r.bits[1]
	hist := shape{grid: r.blocks, rows: rows, block: min(1024, 2*r.threads)}
	move := shape{grid: r.blocks, rows: rows, block: r.threads, shared: r.sortShared()}
	low, high, tile := uint32(r.bits[1]), uint32(r.bits[0]), uint32(r.tile())
	s.launch("msm_hist0", hist, digits, n, tile, uint32(0), low, m.table[0])
	s.scan(scan{in: m.table[0], out: m.table[0], sums: m.sums, totals: counts, length: cells, rows: rows})
	s.launch("msm_scatter0", move, digits, n, uint32(0), low, m.table[0], m.pairs)
	s.launch("msm_hist1", hist, m.pairs, n, counts, tile, low, high, m.table[1])
	s.scan(scan{in: m.table[1], out: m.table[1], sums: m.sums, length: r.blocks << r.bits[0], rows: rows})
	s.launch("msm_scatter1", move, m.pairs, n, counts, low, high, m.table[1], m.values[set], m.keys)
	r.bounds(s, set, rows, counts)
	s.mark(set)
}

// recode makes the digits of as many windows as are kept, from window first on.
func (r *msmRun) recode(s *steps, first int) {
	last := min(first+r.plan.recoded, r.windows.count)
	b := r.windows.bias()
	s.launch("msm_recode", perThread(int64(r.n)), r.scalars, uint32(r.n), uint32(r.form), uint32(r.windows.width),
		uint32(r.windows.narrow), uint32(first), uint32(last), b[0], b[1], b[2], b[3], r.mem.digits)
	r.recoded = [2]int{first, last}
}

// bounds finds each bucket's range and counts the additions of every level.
func (r *msmRun) bounds(s *steps, set, rows int, counts gpu.Memory) {
	m := &r.mem
	buckets := int64(rows) * int64(r.buckets)
	s.fill(m.begins[set].Slice(0, buckets*4), 0)
	s.fill(m.sizes[set].Slice(0, buckets*4), 0)
	s.fill(m.totals[set], 0)
	s.launch("msm_bounds", perThread(int64(r.n)).times(rows), m.keys, uint32(r.n), counts, uint32(r.buckets), m.begins[set], m.sizes[set])
	sh := perThread(buckets)
	sh.grid = min(sh.grid, 8*r.facts.sms)
	s.launch("msm_sizes", sh, uint32(buckets), m.begins[set], m.sizes[set], m.totals[set])
}

// sum enqueues the trees and the reduction of group i, which has been sorted.
func (r *msmRun) sum(i int) error {
	var totals [treeLevel]uint32
	buf := make([]byte, 4*treeLevel)
	return r.dev.do(func(q queue) error {
		if err := q.download(buf, r.mem.totals[i%2]); err != nil {
			return err
		}
		levels := 0
		for l := range totals {
			if totals[l] = binary.LittleEndian.Uint32(buf[4*l:]); totals[l] > 0 {
				levels = l + 1
			}
		}
		s := &steps{q: q, facts: r.facts}
		r.trees(s, i, totals[:levels])
		r.reduce(s, i, totals[:levels])
		return s.err
	})
}

// list is a launch of additions with this run's memory; out is a number of points
// into memory.
func (r *msmRun) list(count int64, slots, into gpu.Memory, at int64) additions {
	return additions{
		curve: r.curve, ops: r.mem.ops, count: count, base: r.points, slots: slots,
		out: into.Slice(at*r.curve.point, count*r.curve.point), prefix: r.mem.prefix, exception: r.mem.exceptions,
	}
}

// trees sums the buckets of group i to one point each.
func (r *msmRun) trees(s *steps, i int, totals []uint32) {
	from, to := r.groupWindows(i)
	set, m := i%2, &r.mem
	buckets := (to - from) * r.buckets
	s.stage("lists")
	if len(totals) > 0 {
		s.scan(scan{in: m.sizes[set], out: m.offsets, sums: m.sums, length: buckets, sizes: 1, rows: len(totals)})
	}
	at := int64(0)
	for l, n := range totals {
		s.stage("lists")
		sh := shape{grid: (int(n) + 1023) / 1024, rows: 1, block: 256}
		s.launch("msm_tree_ops", sh, m.values[set], m.begins[set], m.sizes[set], m.offsets, m.totals[set], uint32(buckets), uint32(l), m.ops)
		s.stage("buckets")
		s.add(r.list(int64(n), m.slots, m.slots, at))
		at += int64(n)
	}
	s.stage("lists")
	s.launch("msm_tree_refs", perThread(int64(buckets)), m.values[set], m.begins[set], m.sizes[set], m.offsets, m.totals[set],
		uint32(buckets), uint32(len(totals)), m.refs)
}

// tailAt is where the tails of a group begin, in points.
func (r *msmRun) tailAt(window int) int64 { return int64(window*r.sides()) << r.tailBits() }

// reduce halves rows and columns of the group's buckets and leaves the rest, the
// tails, for the sums by bits.
func (r *msmRun) reduce(s *steps, i int, totals []uint32) {
	from, to := r.groupWindows(i)
	g, at := int64(to-from), int64(0)
	for _, n := range totals {
		at += int64(n)
	}
	s.stage("reduce")
	if r.halvings == 0 {
		n := g << r.log
		s.launch("msm_copy_ops", perThread(n), r.mem.refs, uint32(n), r.mem.ops)
		s.add(r.list(n, r.mem.slots, r.mem.tails, r.tailAt(from)))
		return
	}
	refs, base := r.mem.refs, int64(0)
	for t := range r.halvings {
		log := r.log - t
		m := g << (log - 1)
		s.launch("msm_reduce_ops", perThread(2*m), refs, uint32(base), uint32(m), uint32(log), r.mem.ops)
		if t == r.halvings-1 {
			s.add(r.list(2*m, r.mem.slots, r.mem.tails, r.tailAt(from)))
			return
		}
		s.add(r.list(2*m, r.mem.slots, r.mem.slots, at))
		refs, base = gpu.Memory{}, at
		at += 2 * m
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
func (r *msmRun) bitSums() []bitSum {
	var out []bitSum
	for i := 0; i*r.group < r.windows.count; i++ {
		from, to := r.groupWindows(i)
		for w := from; w < to; w++ {
			side := int64(to-from) << r.tailBits()
			row := r.tailAt(from) + int64(w-from)<<r.tailBits()
			out = append(out, r.windowSums(w, row, row+side)...)
		}
	}
	return out
}

// windowSums: bucket q weighs q+1, and q is the index itself or, after halvings,
// row and column of it. Without halvings the row array holds the buckets.
func (r *msmRun) windowSums(w int, row, column int64) (out []bitSum) {
	at, log := r.windows.position(w), r.windows.bucketBits(w)
	low := log
	if r.halvings == 0 {
		column = row
	} else {
		low = r.split
		for k := range log - low {
			out = append(out, bitSum{row, r.split - r.halvings + k, true, at + low + k})
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
	s.add(r.list(n, m.tails, m.slots, 0))
	at := int64(0)
	for ; n > count; n /= 2 {
		s.launch("msm_pair_ops", perThread(n/2), gpu.Memory{}, uint32(at), uint32(n), m.ops)
		s.add(r.list(n/2, m.slots, m.slots, at+n))
		at += n
	}
	return at
}
