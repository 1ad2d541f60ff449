package cuda

import (
	"context"
	"encoding/binary"
	"fmt"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
	"cuzk/srs"
)

// A key on the device. The points of each query are kept in two lists: those of
// the variables that are bits, in the order of the assignment's bits, and those of
// inputs and elements, inputs first. So the bits and the elements of an assignment
// are, after leaving out who has no point, the scalars of the two lists.

// members says who has a point in a query.
type members struct {
	inputs, aux r1cs.Bitset // as in the density
	auxBits     r1cs.Bitset // those of aux that are bits
	bits        ranks       // by number of bit
	elements    ranks       // by number of element
	first       ranks       // by number of input
	all         bool        // every aux: nothing is left out
}

// newMembers sorts a density by kind. A nil aux stands for every aux variable.
func newMembers(d r1cs.Density, kinds r1cs.Bitset, n r1cs.Counts) members {
	m := members{inputs: d.Inputs, aux: d.Aux, all: d.Aux == nil}
	others := complement(kinds, n.Aux)
	if m.all {
		m.aux, m.auxBits = complement(r1cs.NewBitset(n.Aux), n.Aux), kinds
		m.bits.count, m.elements.count = n.Bits, n.Aux-n.Bits
		return m
	}
	m.auxBits = r1cs.NewBitset(n.Aux)
	for i := range m.auxBits {
		m.auxBits[i] = m.aux[i] & kinds[i]
	}
	m.bits, m.elements = newRanks(within(m.aux, kinds)), newRanks(within(m.aux, others))
	m.first = newRanks(m.inputs)
	return m
}

// selectors is the device memory of what selects values.
func (m *members) selectors() int64 {
	if m.all {
		return 0
	}
	return m.bits.bytes() + m.elements.bytes() + m.first.bytes()
}

// points of the query: in the list of bits and in the other.
func (m *members) points() (bits, others int) {
	return m.bits.count, m.first.count + m.elements.count
}

// drop forgets the sets and keeps their sizes.
func (m *members) drop() {
	m.inputs, m.aux, m.auxBits = nil, nil, nil
	for _, r := range []*ranks{&m.bits, &m.elements, &m.first} {
		r.masks, r.before = nil, nil
	}
}

// sel is what selects the values of a query: none when all is set.
type sel struct {
	all                   bool
	bits, elements, first deviceRanks
}

// deviceKey is all queries. b_g1 and b_g2 have the same members.
type deviceKey struct {
	h            list       // or, where H is computed in values,
	k, m         list       // the points of products, and of rows
	form         gpu.Memory // form_t
	l, a, b1, b2 query
	selA, selB   sel
}

func newSel(ctx context.Context, h *holding, m *members) (s sel, err error) {
	if s.bits, err = h.ranks(ctx, m.bits); err != nil {
		return s, err
	}
	if s.elements, err = h.ranks(ctx, m.elements); err != nil {
		return s, err
	}
	s.first, err = h.ranks(ctx, m.first)
	return s, err
}

// pointSource is a list of points as a key file has them; srs.Query is one.
type pointSource interface {
	CopyRaw(dst []byte, from int) error
}

// rawQuery is a list in memory.
type rawQuery struct {
	raw   []byte
	point int
}

// CopyRaw implements pointSource.
func (q rawQuery) CopyRaw(dst []byte, from int) error { copy(dst, q.raw[from*q.point:]); return nil }

// keyReader brings a key file's points to the device.
type keyReader struct {
	m   machine
	raw gpu.Memory // a piece of the file
	bad gpu.Memory // count of points that are not right
	mem gpu.Memory // for sets

	report      func(done float64) // may be nil
	done, total int64              // bytes of points
}

// keyPiece is the most points of a piece in G1; a multiple of 32.
const keyPiece = 1 << 19

// newKeyReader carves its memory from scratch.
func newKeyReader(m machine, scratch gpu.Memory, n r1cs.Counts) (*keyReader, error) {
	c := carver{mem: scratch}
	r := &keyReader{m: m}
	piece := int64(min(keyPiece, max(n.Aux, n.Rows+n.Inputs)*2+64))
	r.raw = c.take(piece * curveG1.point)
	r.bad = c.take(4)
	r.mem = c.take(readerSets(n))
	if c.used > scratch.Bytes {
		return nil, fmt.Errorf("read key: %d bytes of scratch memory, need %d", scratch.Bytes, c.used)
	}
	return r, m.do(func(q queue) error { return q.fill(r.bad, 0) })
}

// readerSets is the memory of two sets of aux.
func readerSets(n r1cs.Counts) int64 { return 4 * aligned(8*int64((n.Aux+63)/64)) }

// readerBytes is the scratch memory of a keyReader.
func readerBytes(n r1cs.Counts) int64 {
	piece := int64(min(keyPiece, max(n.Aux, n.Rows+n.Inputs)*2+64))
	return aligned(piece*curveG1.point) + aligned(4) + aligned(readerSets(n))
}

// load reads the queries that stay on the device.
func (r *keyReader) load(ctx context.Context, k *deviceKey, key *srs.Key, sets *querySets, plan *Plan) error {
	if plan.values != nil {
		for _, q := range []struct {
			from srs.Query
			to   *list
		}{{key.Values.K, &k.k}, {key.Values.M, &k.m}} {
			if err := r.copyAll(ctx, q.from, curveG1, q.to.mem, 0, q.to.n); err != nil {
				return err
			}
		}
	} else if !plan.away["h"] {
		if err := r.copyAll(ctx, key.H, curveG1, k.h.mem, 0, key.H.N); err != nil {
			return err
		}
	}
	for _, q := range []struct {
		from srs.Query
		to   *query
		m    *members
	}{{key.L, &k.l, &sets.l}, {key.A, &k.a, &sets.a}, {key.B1, &k.b1, &sets.b}, {key.B2, &k.b2, &sets.b}} {
		if plan.away[q.to.name] {
			continue
		}
		if err := r.query(ctx, q.from, q.to, q.m); err != nil {
			return err
		}
	}
	return nil
}

// check waits for the points and reads the count of bad ones.
func (r *keyReader) check(ctx context.Context, key *srs.Key) error {
	var n [4]byte
	err := settle(ctx, r.m)
	if err == nil {
		err = r.m.do(func(q queue) error { return q.download(n[:], r.bad) })
	}
	if bad := binary.LittleEndian.Uint32(n[:]); err == nil && bad > 0 {
		err = fmt.Errorf("%w: %d points of key %s have a coordinate out of range, a flag, or are infinity; cuzk params check says which", srs.ErrCorrupt, bad, key.Path)
	}
	return err
}

// copyAll brings points from to from+n-1 in order.
func (r *keyReader) copyAll(ctx context.Context, q pointSource, cv curve, to gpu.Memory, from, n int) error {
	step := int(r.raw.Bytes / cv.point)
	for at := 0; at < n; at += step {
		part := min(step, n-at)
		raw, err := r.send(ctx, q, cv, from+at, part)
		if err != nil {
			return err
		}
		out := to.Slice(int64(at)*cv.point, int64(part)*cv.point)
		if err := enqueue(r.m, func(s *steps) {
			s.launch(cv.keyKernel("key"), perPoint(part), raw, uint32(part), out, r.bad)
		}); err != nil {
			return err
		}
	}
	return nil
}

// keyKernel is the kernel of a name for the curve.
func (c curve) keyKernel(name string) string {
	if c == curveG2 {
		return name + "_g2"
	}
	return name + "_g1"
}

// perPoint is a launch in blocks of 128.
func perPoint(n int) shape { return shape{grid: (n + 127) / 128, rows: 1, block: 128} }

// read counts bytes of points for the report.
func (r *keyReader) read(bytes int64) {
	if r.done += bytes; r.report != nil && r.total > 0 {
		r.report(min(float64(r.done)/float64(r.total), 1))
	}
}

// send enqueues the copy of n raw points.
func (r *keyReader) send(ctx context.Context, q pointSource, cv curve, from, n int) (gpu.Memory, error) {
	raw := r.raw.Slice(0, int64(n)*cv.point)
	err := r.m.send(ctx, raw, func(dst []byte, off int64) error { return q.CopyRaw(dst, from+int(off/cv.point)) })
	if err == nil {
		r.read(raw.Bytes)
	}
	return raw, err
}

// query brings one query into its two lists: the inputs' points in order, then
// the aux variables' by kind.
func (r *keyReader) query(ctx context.Context, q pointSource, to *query, m *members) error {
	inputs := m.first.count
	if err := r.copyAll(ctx, q, to.curve, to.others.mem, 0, inputs); err != nil {
		return err
	}
	all, bits := newRanks(m.aux), newRanks(m.auxBits)
	sets, err := r.sets(ctx, all, bits)
	if err != nil {
		return err
	}
	step := int(r.raw.Bytes/to.curve.point) / 32
	for w := 0; w < len(all.masks); w += step {
		words := min(step, len(all.masks)-w)
		from, end := int(all.before[w]), all.count
		if w+words < len(all.masks) {
			end = int(all.before[w+words])
		}
		if from == end {
			continue
		}
		raw, err := r.send(ctx, q, to.curve, inputs+from, end-from)
		if err != nil {
			return err
		}
		elements := to.others.mem.Slice(int64(inputs)*to.curve.point, to.others.mem.Bytes-int64(inputs)*to.curve.point)
		if err := enqueue(r.m, func(s *steps) {
			s.launch(to.curve.keyKernel("key_place"), perPoint(32*words), raw, uint32(from), uint32(w), uint32(words),
				sets[0], sets[1], sets[2], sets[3], to.bits.mem, elements, r.bad)
		}); err != nil {
			return err
		}
	}
	return nil
}

// sets puts two sets into the reader's memory: masks and counts of each.
func (r *keyReader) sets(ctx context.Context, all, bits ranks) (out [4]gpu.Memory, err error) {
	c := carver{mem: r.mem}
	for i, words := range [][]uint32{all.masks, all.before, bits.masks, bits.before} {
		data := rawBytes(words)
		out[i] = c.take(int64(len(data)))
		if len(data) == 0 {
			continue
		}
		if err = r.m.send(ctx, out[i].Slice(0, int64(len(data))), bytesOf(data)); err != nil {
			return out, err
		}
	}
	return out, nil
}

// querySets is who has a point in l, a and b.
type querySets struct{ l, a, b members }

func newQuerySets(c *r1cs.Compiled, layout *backend.Layout) *querySets {
	kinds, n := c.BitKinds(), layout.Counts
	return &querySets{
		l: newMembers(r1cs.Density{}, kinds, n),
		a: newMembers(layout.A, kinds, n),
		b: newMembers(layout.B, kinds, n),
	}
}
