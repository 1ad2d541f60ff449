package cuda

import (
	gpu "cuzk/cuda"
)

// group is windows that are sorted and summed together. The arrays of its buckets
// are laid out for the widest of them.
type group struct {
	*msmRun
	from, rows, set int // first window, number of windows, set of memory
	log, buckets    int // bits and number of the buckets of a window
	high, low       int // bits of the two steps of the sort
	halvings, split int // of the reduction, as in the plan but for this log
	digits          gpu.Memory
}

// grouped describes group i.
func (r *msmRun) grouped(i int) *group {
	from := i * r.group
	to := min(from+r.group, r.windows.count)
	log := r.windows.bucketBits(to - 1)
	return &group{
		msmRun: r, from: from, rows: to - from, set: i % 2, log: log, buckets: 1 << log,
		high: log / 2, low: log - log/2, halvings: max(log-r.tailBits(), 0), split: log / 2,
	}
}

// enqueueSort makes the digits of the group and sorts them by bucket: values,
// begins and sizes of its set, and the totals of the trees. A mark numbered as
// the set follows.
func (g *group) enqueueSort(s *steps) {
	s.stage("digits")
	if g.from+g.rows > g.recoded[1] {
		g.recode(s, g.from)
	}
	row := int64(g.n) * 4
	g.digits = g.mem.digits.Slice(int64(g.from-g.recoded[0])*row, int64(g.rows)*row)
	s.fill(g.mem.flags, 0)
	s.fill(g.mem.totals[g.set], 0)
	g.partition(s)
	g.sortBins(s)
	g.sortSlowly(s)
	s.stage("sizes")
	sh := perThread(int64(g.rows) * int64(g.buckets))
	sh.grid = min(sh.grid, 8*g.facts.sms)
	s.launch("msm_sizes", sh, uint32(g.rows*g.buckets), g.mem.sizes[g.set], g.mem.totals[g.set])
	s.launch("msm_tree_bases", shape{grid: 1, rows: 1, block: 32}, g.mem.totals[g.set])
	s.mark(g.set)
}

// recode makes the digits of as many windows as are kept, from window first on.
func (r *msmRun) recode(s *steps, first int) {
	last := min(first+r.plan.recoded, r.windows.count)
	b := r.windows.bias()
	s.launch("msm_recode", perThread(int64(r.n)), r.scalars, uint32(r.n), uint32(r.form), uint32(r.windows.width),
		uint32(r.windows.narrow), uint32(first), uint32(last), b[0], b[1], b[2], b[3], r.mem.digits)
	r.recoded = [2]int{first, last}
}

// counting and moving are the shapes of the kernels of the sort.
func (g *group) counting() shape {
	return shape{grid: g.blocks, rows: g.rows, block: min(1024, 2*g.threads)}
}

func (g *group) moving(bits int) shape {
	return shape{grid: g.blocks, rows: g.rows, block: g.threads, shared: g.sortShared(bits)}
}

// scanTable turns counts into offsets; totals may be empty.
func (g *group) scanTable(s *steps, table gpu.Memory, bits int, totals gpu.Memory) {
	s.scan(scan{in: table, out: table, sums: g.mem.sums, totals: totals, length: g.blocks << bits, rows: g.rows})
}

// partition moves the digits into bins by their high bits and flags the rows with
// a bin that is too large for one block.
func (g *group) partition(s *steps) {
	s.stage("count")
	m, n, low, high := &g.mem, uint32(g.n), uint32(g.low), uint32(g.high)
	s.launch("msm_count_digits", g.counting(), g.digits, n, uint32(g.tile()), low, high, gpu.Memory{}, m.table[0])
	g.scanTable(s, m.table[0], g.high, m.counts)
	s.launch("msm_sort_flags", shape{grid: 1, rows: g.rows, block: 1024}, m.table[0], uint32(g.blocks), high, uint32(g.binLimit), m.flags)
	s.stage("move")
	s.launch("msm_move_digits", g.moving(g.high), g.digits, n, low, high, m.flags, uint32(0), m.table[0], m.pairs)
}

// sortBins sorts every bin by the low bits.
func (g *group) sortBins(s *steps) {
	s.stage("sort")
	m := &g.mem
	sh := shape{grid: min(2*g.facts.sms, 1<<g.high), rows: g.rows, block: g.binBlock, shared: sortShared(g.binBlock, g.low)}
	s.launch("msm_sort_bins", sh, m.pairs, uint32(g.n), uint32(g.blocks), uint32(g.high), uint32(g.low), m.flags, m.table[0],
		uint32(g.buckets), m.values[g.set], m.begins[g.set], m.sizes[g.set])
}

// sortSlowly sorts the flagged rows: by the low bits of the digits, then by the
// high bits of the pairs. For other rows the launches end at once.
func (g *group) sortSlowly(s *steps) {
	s.stage("slow sort")
	m, n, tile, low, high := &g.mem, uint32(g.n), uint32(g.tile()), uint32(g.low), uint32(g.high)
	values, begins, sizes := m.values[g.set], m.begins[g.set], m.sizes[g.set]
	s.launch("msm_count_digits", g.counting(), g.digits, n, tile, uint32(0), low, m.flags, m.table[1])
	g.scanTable(s, m.table[1], g.low, gpu.Memory{})
	s.launch("msm_move_digits", g.moving(g.low), g.digits, n, uint32(0), low, m.flags, uint32(1), m.table[1], m.pairs)
	s.launch("msm_count_pairs", g.counting(), m.pairs, n, m.counts, tile, low, high, m.flags, m.table[0])
	g.scanTable(s, m.table[0], g.high, gpu.Memory{})
	s.launch("msm_move_pairs", g.moving(g.high), m.pairs, n, m.counts, low, high, m.flags, m.table[0], values, m.keys)
	all := shape{grid: 4 * g.facts.sms, rows: g.rows, block: 256}
	s.launch("msm_clear_ranges", all, m.flags, uint32(g.buckets), begins, sizes)
	s.launch("msm_bounds", all, m.keys, n, m.counts, m.flags, uint32(g.buckets), begins, sizes)
	s.launch("msm_ends_to_sizes", all, m.flags, uint32(g.buckets), begins, sizes)
}
