package affine

import "cuzk/internal/offheap"

// places are sums that grow: points with the mark whether there is one yet. A
// place that is set may hold infinity; the others hold nothing.
type places[P any] struct {
	p   []P
	set []bool
}

func newPlaces[P any](n int) places[P] { return places[P]{offheap.Make[P](n), make([]bool, n)} }

func (s *places[P]) free() {
	offheap.Free(s.p)
	*s = places[P]{}
}

// reducer sums runs of points. It holds scratch; one goroutine may use it at a
// time.
type reducer[P any] struct {
	adder  adder[P]
	negate func(*P)

	refs []uint32 // points, run by run; in a round their sums take their place
	ends []uint32 // where in refs each run ends
	runs []uint32 // which run each is
	pool []P      // sums in the order they were made
	ops  []Op
}

// newReducer makes a reducer for up to n points at a time.
func newReducer[P comparable, A any](e *engine[P, A], n int) *reducer[P] {
	return &reducer[P]{adder: e.adder(), negate: e.negate, refs: make([]uint32, n), pool: offheap.Make[P](n)[:0], ops: make([]Op, n)}
}

// free gives the pool back.
func (r *reducer[P]) free() { offheap.Free(r.pool) }

// begin forgets the runs before.
func (r *reducer[P]) begin() { r.refs, r.ends, r.runs = r.refs[:0], r.ends[:0], r.runs[:0] }

// run says that the refs up to end, from the end of the run before on, belong to
// place k. Runs are not empty and come in ascending order of k.
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

// sum adds the sum of each run to its place: the points that r.refs names,
// perhaps negated. One point of an odd run is added to the place right away. The
// others are added in pairs, their sums in pairs, and so on; the last sum is
// added to the place.
func (r *reducer[P]) sum(to *places[P], points []P) {
	r.deliver(to, points, r.odd())
	r.pool = r.pool[:0]
	r.round(points)
	for len(r.refs) > len(r.ends) {
		r.round(r.pool)
	}
	ops := r.ops[:len(r.runs)]
	for i, k := range r.runs {
		ops[i] = Op{A: k, B: r.refs[i]}
	}
	r.deliver(to, r.pool, ops)
}

// odd takes a point from every odd run, and drops the runs that were just that.
func (r *reducer[P]) odd() []Op {
	n, to, kept := 0, 0, 0
	begin := 0
	for i, e := range r.ends {
		end := int(e)
		if (end-begin)&1 == 1 {
			r.ops[n] = Op{A: r.runs[i], B: r.refs[begin]}
			n, begin = n+1, begin+1
		}
		if begin < end {
			to += copy(r.refs[to:], r.refs[begin:end])
			r.runs[kept], r.ends[kept] = r.runs[i], uint32(to)
			kept++
		}
		begin = end
	}
	r.refs, r.runs, r.ends = r.refs[:to], r.runs[:kept], r.ends[:kept]
	return r.ops[:n]
}

// round halves every run by adding its points in pairs. Where one is left over it
// stays what it is, so from must be the pool unless all runs are even.
func (r *reducer[P]) round(from []P) {
	made := uint32(len(r.pool))
	n, to, at := 0, 0, 0
	refs, ops := r.refs, r.ops
	for k, e := range r.ends {
		end := int(e)
		for ; at+1 < end; at += 2 {
			ops[n] = Op{A: refs[at], B: refs[at+1]}
			refs[to] = made + uint32(n)
			n, to = n+1, to+1
		}
		if at < end {
			refs[to] = refs[at]
			to, at = to+1, end
		}
		r.ends[k] = uint32(to)
	}
	r.refs = refs[:to]
	r.pool = r.pool[:int(made)+n]
	r.adder.Add(r.pool[made:], from, from, ops[:n])
}

// deliver adds points[op.B] to place op.A for all ops, which are spent.
func (r *reducer[P]) deliver(to *places[P], points []P, ops []Op) {
	n := 0
	for _, o := range ops {
		if to.set[o.A] {
			ops[n] = o
			n++
			continue
		}
		p := &to.p[o.A]
		*p, to.set[o.A] = points[o.B&^minus], true
		if o.B&minus != 0 {
			r.negate(p)
		}
	}
	r.adder.Accumulate(to.p, points, ops[:n])
}
