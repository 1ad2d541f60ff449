package cuda

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	gpu "cuzk/cuda"
	"cuzk/srs"
)

// list is points that are summed alike: all of h, or those of a query that belong
// to bits or to elements. They are on the device for good, or have a home on the
// host from which slices of them are brought.
type list struct {
	query string
	curve curve
	bits  bool // scalars are bits
	n     int
	mem   gpu.Memory // the points, if they stay on the device
	home  home       // otherwise
	step  int        // points of a slice
}

// home is where the points of a list are that do not stay on the device.
type home interface {
	// bring enqueues on m that the points from, from+1, ... come to all of dst.
	bring(ctx context.Context, m machine, dst gpu.Memory, l *list, from int) error
}

func (l *list) bytes() int64 { return int64(l.n) * l.curve.point }

// slices calls fn for each slice in order; a list on the device is one.
func (l *list) slices(fn func(from, n int)) {
	step := l.step
	if step == 0 {
		step = max(l.n, 1)
	}
	for from := 0; from < l.n; from += step {
		fn(from, min(step, l.n-from))
	}
}

// sliceGrain: slices begin at whole words of bits, on sectors of memory.
const sliceGrain = 256

// stepOf cuts n points into equal slices of at most so many bytes.
func stepOf(n int, point, slice int64) int {
	most := max(int(slice/point)&^(sliceGrain-1), sliceGrain)
	parts := (n + most - 1) / most
	if parts <= 1 {
		return max(n, 1)
	}
	return min(most, roundUp((n+parts-1)/parts, sliceGrain))
}

func roundUp(n, grain int) int { return (n + grain - 1) / grain * grain }

// query is the points of one query: of variables that are bits, and of the others.
type query struct {
	name         string
	curve        curve
	bits, others list
}

// newQuery describes the lists of a query.
func newQuery(name string, cv curve, m *members) query {
	bits, others := m.points()
	return query{name, cv, list{query: name, curve: cv, bits: true, n: bits}, list{query: name, curve: cv, n: others}}
}

// alloc takes device memory for the points of both lists.
func (q *query) alloc(h *holding) (err error) {
	if q.bits.mem, err = h.alloc(aligned(q.bits.bytes())); err == nil {
		q.others.mem, err = h.alloc(aligned(q.others.bytes()))
	}
	return err
}

// names of the queries, as key files and plans have them.
var queryNames = []string{"h", "l", "a", "b_g1", "b_g2"}

// lists of a query by its name.
func (k *deviceKey) lists(name string) []*list {
	switch name {
	case "h":
		return []*list{&k.h}
	case "k":
		return []*list{&k.k}
	case "m":
		return []*list{&k.m}
	case "l":
		return []*list{&k.l.bits, &k.l.others}
	case "a":
		return []*list{&k.a.bits, &k.a.others}
	case "b_g1":
		return []*list{&k.b1.bits, &k.b1.others}
	default:
		return []*list{&k.b2.bits, &k.b2.others}
	}
}

// fileList is the home of a list whose points are read from the key file each time.
// The file's mapping is cache that the system takes back when it needs memory. What
// they are checked for was found when the key was loaded.
type fileList struct {
	from      srs.Query
	lead      int        // the list begins with so many points of the query, inputs
	skip      int        // the query begins with so many points that are not of aux variables
	all, mine *ranks     // aux variables with a point, and those of the list; none for h
	bad       gpu.Memory // count of wrong points
}

// fileRanks are the aux variables with a point, and those of them that are bits and
// that are not: in memory as often as they are in different queries.
type fileRanks struct{ all, bits, others ranks }

func newFileRanks(m *members) *fileRanks {
	others := slices.Clone(m.aux)
	for i := range others {
		others[i] &^= m.auxBits[i]
	}
	return &fileRanks{newRanks(m.aux), newRanks(m.auxBits), newRanks(others)}
}

// newFileList finds the list's points in the query, behind the points of inputs.
func newFileList(from srs.Query, l *list, inputs int, r *fileRanks, bad gpu.Memory) *fileList {
	switch {
	case r == nil:
		return &fileList{from: from, lead: l.n, bad: bad}
	case l.bits:
		return &fileList{from: from, skip: inputs, all: &r.all, mine: &r.bits, bad: bad}
	default:
		return &fileList{from: from, lead: inputs, skip: inputs, all: &r.all, mine: &r.others, bad: bad}
	}
}

// positions sets out to where points at, at+1, ... of the list are in the query.
func (f *fileList) positions(out []uint32, at int) {
	k := 0
	for ; k < len(out) && at+k < f.lead; k++ {
		out[k] = uint32(at + k)
	}
	if k == len(out) {
		return
	}
	rank := uint32(at + k - f.lead)
	w := sort.Search(len(f.mine.before), func(i int) bool { return f.mine.before[i] > rank }) - 1
	for skip := rank - f.mine.before[w]; k < len(out); w++ {
		m := f.mine.masks[w]
		for ; skip > 0; skip-- {
			m &= m - 1
		}
		for ; m != 0 && k < len(out); m &= m - 1 {
			below := m&-m - 1
			out[k] = uint32(f.skip) + f.all.before[w] + uint32(bits.OnesCount32(f.all.masks[w]&below))
			k++
		}
	}
}

// bring implements home: the file's bytes, put into the device's form in place.
func (f *fileList) bring(ctx context.Context, m machine, dst gpu.Memory, l *list, from int) error {
	size := l.curve.point
	err := m.send(ctx, dst, func(out []byte, off int64) error {
		places := make([]uint32, int64(len(out))/size)
		f.positions(places, from+int(off/size))
		return f.from.Gather(out, places)
	})
	if err != nil {
		return fmt.Errorf("query %s: %w", l.query, err)
	}
	n := int(dst.Bytes / size)
	return enqueue(m, func(s *steps) { s.launch(l.curve.keyKernel("key"), perPoint(n), dst, uint32(n), dst, f.bad) })
}

// values are an assignment's, as a list takes them.
type values struct {
	bits   Bits
	others Scalars
}

// slice of bits from, from+1, ...; from is a multiple of 32.
func (b Bits) slice(from, n int) Bits {
	return Bits{b.Words.Slice(int64(from)/8, int64(n+31)/32*4), n}
}

func (k Scalars) slice(from, n int) Scalars {
	return Scalars{k.Memory.Slice(int64(from)*fr.Bytes, int64(n)*fr.Bytes), n, k.Form}
}
