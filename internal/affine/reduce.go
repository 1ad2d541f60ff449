package affine

import "cuzk/internal/offheap"

// reducer sums runs of points. It holds scratch; one goroutine may use it at a
// time.
type reducer[P comparable] struct {
	adder  adder[P]
	negate func(*P)

	refs []uint32 // points, run by run; in a round their sums take their place
	ends []uint32 // where in refs each run ends
	runs []uint32 // which run each is

	pool    []P      // sums in the order they were made
	alone   []uint32 // where in refs a point was left over
	ops     []Op
	singles []Op // runs of one point
}

// newReducer makes a reducer for up to n points at a time.
func newReducer[P comparable, A any](e *engine[P, A], n int) *reducer[P] {
	return &reducer[P]{adder: e.adder(), negate: e.negate,
		refs: make([]uint32, n), pool: offheap.Make[P](n)[:0], ops: make([]Op, 0, n), singles: make([]Op, 0, n)}
}

// free gives the pool back.
func (r *reducer[P]) free() { offheap.Free(r.pool) }

// begin forgets the runs before.
func (r *reducer[P]) begin() {
	r.refs, r.ends, r.runs, r.singles = r.refs[:0], r.ends[:0], r.runs[:0], r.singles[:0]
}

// run says that the refs up to end, from the end of the run before on, belong to
// dst[k]. Runs are not empty and come in ascending order of k.
func (r *reducer[P]) run(k, end uint32) {
	r.ends, r.runs = append(r.ends, end), append(r.runs, k)
}

// end is where the last run ends.
func (r *reducer[P]) end() uint32 {
	if len(r.ends) == 0 {
		return 0
	}
	return r.ends[len(r.ends)-1]
}

// sum adds the sum of each run to its place in dst: the points that r.refs
// names, perhaps negated. Each round adds the points of a run in pairs. The
// first takes them from points and moves what is left over into the pool; the
// others stay within the pool.
func (r *reducer[P]) sum(dst, points []P) {
	r.pool = r.pool[:0]
	r.setSinglesAside()
	r.round(points)
	r.moveIn(points)
	for len(r.refs) > len(r.ends) {
		r.round(r.pool)
	}
	r.ops = r.ops[:0]
	for i, k := range r.runs {
		r.ops = append(r.ops, Op{A: k, B: r.refs[i]})
	}
	r.deliver(dst, r.pool, r.ops)
	r.deliver(dst, points, r.singles)
}

// setSinglesAside takes the runs of one point out: nothing is to be added up
// there.
func (r *reducer[P]) setSinglesAside() {
	r.singles = r.singles[:0]
	begin, to, kept := uint32(0), 0, 0
	for i, end := range r.ends {
		if end-begin == 1 {
			r.singles = append(r.singles, Op{A: r.runs[i], B: r.refs[begin]})
		} else {
			to += copy(r.refs[to:], r.refs[begin:end])
			r.runs[kept], r.ends[kept] = r.runs[i], uint32(to)
			kept++
		}
		begin = end
	}
	r.refs, r.runs, r.ends = r.refs[:to], r.runs[:kept], r.ends[:kept]
}

// round halves every run by adding its points in pairs.
func (r *reducer[P]) round(from []P) {
	r.ops, r.alone = r.ops[:0], r.alone[:0]
	sum := uint32(len(r.pool))
	to, at := 0, 0
	for k, e := range r.ends {
		end := int(e)
		for ; at+1 < end; at += 2 {
			r.ops = append(r.ops, Op{A: r.refs[at], B: r.refs[at+1]})
			r.refs[to] = sum
			to, sum = to+1, sum+1
		}
		if at < end {
			r.alone = append(r.alone, uint32(to))
			r.refs[to] = r.refs[at]
			to, at = to+1, end
		}
		r.ends[k] = uint32(to)
	}
	r.refs = r.refs[:to]
	n := len(r.pool)
	r.pool = r.pool[:n+len(r.ops)]
	r.adder.Add(r.pool[n:], from, from, r.ops)
}

// moveIn brings the points that a round left over into the pool, where the sums
// are.
func (r *reducer[P]) moveIn(points []P) {
	for _, at := range r.alone {
		ref := r.refs[at]
		r.refs[at] = uint32(len(r.pool))
		r.pool = append(r.pool, r.signed(points, ref))
	}
}

func (r *reducer[P]) signed(points []P, ref uint32) P {
	p := points[ref&^minus]
	if ref&minus != 0 {
		r.negate(&p)
	}
	return p
}

// deliver adds points[op.B] to dst[op.A] for all ops, which are spent.
func (r *reducer[P]) deliver(dst, points []P, ops []Op) {
	var infinity P
	n := 0
	for _, o := range ops {
		if dst[o.A] == infinity {
			dst[o.A] = r.signed(points, o.B)
			continue
		}
		ops[n] = o
		n++
	}
	r.adder.Accumulate(dst, points, ops[:n])
}
