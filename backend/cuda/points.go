package cuda

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	gpu "cuzk/cuda"
)

// pointsModule has the kernels of this file. It is compiled when a key is converted,
// not with the modules of proofs: that takes seconds.
const pointsModule = "points"

const (
	jacobianBytes = 144     // g1_jac of kernels/points/jacobian.cuh
	stepsBytes    = 2 * 72  // of one scalar's program, PROGRAM_STEPS
	pointsPiece   = 1 << 22 // multiplications of a launch on a card: a quarter of a second
	tailLog       = 5       // blocks of 2^tailLog points are transformed a lane each
	affineShare   = 16      // points of a thread of points_affine
)

// What operations cost, in multiplications by scalars that all lanes share.
const (
	costShared  = 1.0
	costOwn     = 1.27
	costQuarter = 0.37 // by a square root of -1
	costPair    = 0.016
)

// pointVectors transforms vectors of n points of G1 in device memory. The kernels and
// the order of the factors are explained in kernels/points/points.cu.
//
// A forward transform takes coefficients in natural order to values in bit-reversed
// order; a backward one takes them back, times n.
type pointVectors struct {
	m     machine
	hold  holding
	logN  int
	piece int64 // items of a launch

	low, high gpu.Memory // powers of a root of order 2n
	lgLow     int

	points  gpu.Memory // a piece of Jacobian points
	affine  gpu.Memory // the same, affine
	raw     gpu.Memory // the same as a file has them
	scalars gpu.Memory // a piece
	steps   gpu.Memory // programs of a launch
	bad     gpu.Memory // count of points that are infinite or malformed

	turn      int // launches so far
	dry       bool
	work, all float64 // multiplications done and to do
	report    func(done float64)
}

// pointVectorsBytes is the device memory beside the vectors.
func pointVectorsBytes(logN int, piece int64) int64 {
	piece = min(piece, 1<<logN)
	lgLow := (logN + 2) / 2
	roots := int64(1)<<lgLow + int64(1)<<(logN+1-lgLow)
	return roots*fr.Bytes + piece*(jacobianBytes+2*curveG1.point+fr.Bytes) + programs(piece)*stepsBytes + 256
}

// programs is the most that a launch has.
func programs(piece int64) int64 { return piece>>tailLog + 64 }

func newPointVectors(m machine, logN int, piece int64) (*pointVectors, error) {
	v := &pointVectors{m: m, logN: logN, piece: min(piece, 1<<logN), hold: holding{m: m}, lgLow: (logN + 2) / 2}
	if logN <= tailLog || logN > 30 {
		return nil, fmt.Errorf("a transform of 2^%d points: 2^%d to 2^30 are served", logN, tailLog+1)
	}
	for _, a := range []struct {
		to    *gpu.Memory
		bytes int64
	}{
		{&v.points, v.piece * jacobianBytes}, {&v.affine, v.piece * curveG1.point}, {&v.raw, v.piece * curveG1.point},
		{&v.scalars, v.piece * fr.Bytes}, {&v.steps, programs(v.piece) * stepsBytes}, {&v.bad, 4},
	} {
		var err error
		if *a.to, err = v.hold.alloc(a.bytes); err != nil {
			return v, err
		}
	}
	if err := m.do(func(q queue) error { return q.fill(v.bad, 0) }); err != nil {
		return v, err
	}
	return v, v.putRoots()
}

func (v *pointVectors) putRoots() error {
	g, err := fft.Generator(2 << v.logN)
	if err != nil {
		return err
	}
	step := g
	for range v.lgLow {
		step.Square(&step)
	}
	ctx := context.Background()
	if v.low, err = v.hold.put(ctx, rawBytes(powersOf(g, 1<<v.lgLow))); err == nil {
		v.high, err = v.hold.put(ctx, rawBytes(powersOf(step, 1<<(v.logN+1-v.lgLow))))
	}
	return err
}

func (v *pointVectors) free() error { return v.hold.free() }

func (v *pointVectors) n() int64 { return 1 << v.logN }

// vector allocates one.
func (v *pointVectors) vector() (gpu.Memory, error) { return v.hold.alloc(v.n() * jacobianBytes) }

// each enqueues items from, from+1, ... to-1 in launches of a piece, no more than two
// ahead of the device, so that a context is heeded soon. cost is that of an item.
func (v *pointVectors) each(ctx context.Context, from, to int64, cost float64, fn func(s *steps, at, n int64)) error {
	if v.dry {
		v.all += float64(max(to-from, 0)) * cost
		return nil
	}
	for at := from; at < to; at += v.piece {
		n := min(v.piece, to-at)
		if err := enqueue(v.m, func(s *steps) { fn(s, at, n); s.mark(v.turn % 2) }); err != nil {
			return err
		}
		if err := v.pace(ctx); err != nil {
			return err
		}
		v.did(float64(n) * cost)
	}
	return nil
}

// pace waits for the launch before the last.
func (v *pointVectors) pace(ctx context.Context) error {
	if v.turn++; v.turn == 1 {
		return ctx.Err()
	}
	return v.m.wait(ctx, v.turn%2)
}

func (v *pointVectors) did(work float64) {
	if v.work += work; v.report != nil && v.all > 0 {
		v.report(min(v.work/v.all, 1))
	}
}

// placing is places_t of the kernels.
type placing struct{ base, lgLanes, lgStride, lgBlock, lgPart, parts, first uint32 }

// flat is item i at i.
var flat = placing{lgBlock: 31, lgPart: 31, parts: 1}

func (l placing) args(mem gpu.Memory, from, n int64, more ...any) []any {
	return append([]any{mem, uint64(from), uint32(n), l.base, l.lgLanes, l.lgStride, l.lgBlock, l.lgPart, l.parts, l.first}, more...)
}

// part is the part that item t belongs to.
func (l placing) part(t int64) int64 { return t >> (l.lgLanes + l.lgPart) }

// pointBlocks is a range of blocks.
type pointBlocks struct{ from, to int64 }

// pointStage is one step of a transform: a radix of 2 or 4 at a depth, on blocks of equal
// size, over lanes where the blocks of all lanes are the same.
type pointStage struct {
	depth, lgRadix  int
	coset, backward bool
	blocks          pointBlocks
	lgBlock         int
	base            int64 // of the first lane
	lgLanes         int
}

func (g pointStage) lgPart() int { return g.lgBlock - g.lgRadix }

func (g pointStage) layout(parts, first uint32) placing {
	l := placing{base: uint32(g.base), lgBlock: uint32(g.lgBlock), lgPart: uint32(g.lgPart()), parts: parts, first: first}
	if g.lgLanes >= 0 {
		l.lgLanes, l.lgStride = uint32(g.lgLanes), tailLog
	}
	return l
}

// lanes is the log of how many share an item's place.
func (g pointStage) lanes() int { return max(g.lgLanes, 0) }

// run is the stage on a vector.
func (v *pointVectors) run(ctx context.Context, mem gpu.Memory, g pointStage) error {
	order := []func() error{
		func() error { return v.factors(ctx, mem, g) },
		func() error { return v.pairs(ctx, mem, g, g.lgBlock-1) },
	}
	if g.lgRadix == 2 {
		order = append(order,
			func() error { return v.quarters(ctx, mem, g) },
			func() error { return v.pairs(ctx, mem, g, g.lgBlock-2) })
	}
	for i := range order {
		if g.backward {
			i = len(order) - 1 - i
		}
		if err := order[i](); err != nil {
			return err
		}
	}
	return nil
}

// factors multiplies by powers of c. That of block 0 is one where there is no coset.
func (v *pointVectors) factors(ctx context.Context, mem gpu.Memory, g pointStage) error {
	parts := int64(1)<<g.lgRadix - 1
	l := g.layout(uint32(parts), 1)
	size := parts << (l.lgPart + l.lgLanes)
	from := g.blocks.from
	if !g.coset {
		from = max(from, 1)
	}
	return v.each(ctx, from*size, g.blocks.to*size, costShared, func(s *steps, at, n int64) {
		p := l.part(at)
		count := l.part(at+n-1) - p + 1
		s.launch("points_factors", perPoint(int(count)), v.low, v.high, uint32(v.lgLow), uint32(v.logN+1), uint32(p), uint32(count),
			uint32(parts), uint32(g.depth), word(g.coset), word(g.backward), v.steps)
		s.launch("points_scale", perPoint(int(n)), l.args(mem, at, n, v.steps, uint32(0))...)
	})
}

// quarters multiplies the last quarter of each block by a square root of -1.
func (v *pointVectors) quarters(ctx context.Context, mem gpu.Memory, g pointStage) error {
	l := g.layout(1, 3)
	lg := l.lgPart + l.lgLanes
	first := true
	return v.each(ctx, g.blocks.from<<lg, g.blocks.to<<lg, costQuarter, func(s *steps, at, n int64) {
		if first { // block 1 at depth 1 has the factor g^(n/2)
			s.launch("points_factors", perPoint(1), v.low, v.high, uint32(v.lgLow), uint32(v.logN+1), uint32(1), uint32(1),
				uint32(1), uint32(1), uint32(0), word(g.backward), v.steps)
			first = false
		}
		s.launch("points_scale", perPoint(int(n)), l.args(mem, at, n, v.steps, uint32(1))...)
	})
}

// pairs adds and subtracts. Blocks of lanes lie one behind the other.
func (v *pointVectors) pairs(ctx context.Context, mem gpu.Memory, g pointStage, lgHalf int) error {
	from, to := g.blocks.from<<(g.lgBlock-1), g.blocks.to<<(g.lgBlock-1)
	if g.lgLanes >= 0 {
		from, to = g.base/2, g.base/2+1<<(g.lgLanes+tailLog-1)
	}
	return v.each(ctx, from, to, costPair, func(s *steps, at, n int64) {
		s.launch("points_pairs", perPoint(int(n)), mem, uint64(at), uint32(n), uint32(lgHalf))
	})
}

// pointSpan is 2^lg places of values from one that is a multiple of it.
type pointSpan struct {
	from int64
	lg   int
}

// blocksAt is the blocks of 2^lgBlock that hold the spans, each once.
func blocksAt(spans []pointSpan, lgBlock int) (out []pointBlocks) {
	for _, s := range spans {
		b := pointBlocks{s.from >> lgBlock, s.from>>lgBlock + max(int64(1)<<s.lg>>lgBlock, 1)}
		seen := false
		for _, o := range out {
			seen = seen || o == b
		}
		if !seen {
			out = append(out, b)
		}
	}
	return out
}

// residue is a vector modulo x^(n/2^depth) - C, that of block 0 at a depth of the
// transform with or without coset. spans is where its values are wanted.
type residue struct {
	coset bool
	depth int
	spans []pointSpan
}

// cyclic is all values on the domain.
func (v *pointVectors) cyclic() residue { return residue{spans: []pointSpan{{0, v.logN}}} }

// half is modulo x^(n/2) - i, with a square root i of -1.
func (v *pointVectors) half() residue {
	return residue{coset: true, depth: 1, spans: []pointSpan{{0, v.logN - 1}}}
}

// transform runs all stages; backward, with the values at all spans, it leaves the
// points times their number.
func (v *pointVectors) transform(ctx context.Context, mem gpu.Memory, r residue, backward bool) error {
	list := v.stages(r, backward)
	for i := range list {
		if backward {
			i = len(list) - 1 - i
		}
		if err := list[i](ctx, mem); err != nil {
			return fmt.Errorf("transform of 2^%d points: %w", v.logN, err)
		}
	}
	return nil
}

// stages lists the steps of a forward transform in order.
func (v *pointVectors) stages(r residue, backward bool) (out []func(context.Context, gpu.Memory) error) {
	add := func(g pointStage) {
		out = append(out, func(ctx context.Context, mem gpu.Memory) error { return v.run(ctx, mem, g) })
	}
	body := v.logN - tailLog
	for depth := r.depth; depth < body; {
		g := pointStage{depth: depth, lgRadix: 2 - (body-depth)%2, coset: r.coset, backward: backward, lgBlock: v.logN - depth, lgLanes: -1}
		for _, g.blocks = range blocksAt(r.spans, g.lgBlock) {
			add(g)
		}
		depth += g.lgRadix
	}
	small := blocksAt(r.spans, tailLog)
	for _, b := range small {
		out = append(out, func(ctx context.Context, mem gpu.Memory) error { return v.twist(ctx, mem, r.coset, backward, b) })
	}
	for depth := 0; depth < tailLog; {
		g := pointStage{depth: depth, lgRadix: 2 - (tailLog-depth)%2, backward: backward, lgBlock: tailLog - depth, blocks: pointBlocks{0, 1 << depth}}
		for _, b := range small {
			g.base, g.lgLanes = b.from<<tailLog, log2(b.to-b.from)
			add(g)
		}
		depth += g.lgRadix
	}
	return out
}

// twist makes small blocks the same.
func (v *pointVectors) twist(ctx context.Context, mem gpu.Memory, coset, backward bool, b pointBlocks) error {
	lanes := log2(b.to - b.from)
	l := placing{base: uint32(b.from << tailLog), lgLanes: uint32(lanes), lgStride: tailLog, lgBlock: tailLog, lgPart: tailLog, parts: 1}
	return v.each(ctx, 1<<lanes, 1<<(lanes+tailLog), costOwn, func(s *steps, at, n int64) {
		s.launch("points_twists", perPoint(int(n)), v.low, v.high, uint32(v.lgLow), uint32(v.logN+1), uint64(at), uint32(n), l.lgLanes,
			uint32(b.from), uint32(v.logN-tailLog), word(coset), word(backward), v.scalars)
		s.launch("points_scale_each", perPoint(int(n)), l.args(mem, at, n, v.scalars)...)
	})
}

// multiplyAll multiplies point i by scalar i of the host, n of them.
func (v *pointVectors) multiplyAll(ctx context.Context, mem gpu.Memory, n int64, scalars func() ([]fr.Element, error)) error {
	if v.dry {
		return v.each(ctx, 0, n, costOwn, nil)
	}
	k, err := scalars()
	if err != nil {
		return err
	}
	for from := int64(0); from < n; from += v.piece {
		to := min(from+v.piece, n)
		if err := v.m.send(ctx, v.scalars.Slice(0, (to-from)*fr.Bytes), bytesOf(rawBytes(k[from:to]))); err != nil {
			return err
		}
		err := v.each(ctx, from, to, costOwn, func(s *steps, at, n int64) {
			s.launch("points_scale_each", perPoint(int(n)), flat.args(mem, at, n, v.scalars)...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// pointRun is points of a vector from a place on, or back from it. Places are taken
// modulo the vector's length.
type pointRun struct {
	mem      gpu.Memory
	at       int64
	backward bool
}

// addMultiples adds k times n points to others; or it puts them there, where set.
func (v *pointVectors) addMultiples(ctx context.Context, dst, src pointRun, n int64, k *fr.Element, set bool) error {
	mask, one := uint32(v.n()-1), k.IsOne()
	cost := costShared
	if one {
		cost = costPair
	} else if !v.dry {
		if err := v.encode(ctx, k); err != nil {
			return err
		}
	}
	return v.each(ctx, 0, n, cost, func(s *steps, at, n int64) {
		from := src.at + at
		if src.backward {
			from = src.at - at
		}
		s.launch("points_move", perPoint(int(n)), v.points, uint32(0), mask, src.mem, uint32(from)&mask, mask, word(src.backward), uint32(0), uint32(n))
		if !one {
			s.launch("points_scale", perPoint(int(n)), flat.args(v.points, 0, n, v.steps, uint32(1))...)
		}
		s.launch("points_move", perPoint(int(n)), dst.mem, uint32(dst.at+at)&mask, mask, v.points, uint32(0), mask, uint32(0), word(!set), uint32(n))
	})
}

// encode makes the program of a scalar, when the launches before are done with theirs.
func (v *pointVectors) encode(ctx context.Context, k *fr.Element) error {
	if err := v.m.send(ctx, v.scalars.Slice(0, fr.Bytes), bytesOf(rawBytes([]fr.Element{*k}))); err != nil {
		return err
	}
	return enqueue(v.m, func(s *steps) { s.launch("points_encode", perPoint(1), v.scalars, uint32(1), v.steps) })
}

// clear makes points infinite.
func (v *pointVectors) clear(mem gpu.Memory, from, to int64) error {
	if v.dry {
		return nil
	}
	part := mem.Slice(from*jacobianBytes, (to-from)*jacobianBytes)
	return v.m.do(func(q queue) error { return q.fill(part, 0) })
}

// log2 is that of a power of two.
func log2(n int64) (lg int) {
	for ; n > 1; n /= 2 {
		lg++
	}
	return lg
}
