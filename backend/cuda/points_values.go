package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"golang.org/x/sync/errgroup"

	"cuzk/backend"
	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
)

// Stages of [Backend.Values] as progress names them.
const (
	StageConvert = "convert"
	StageCheck   = "check"
)

// ValuesBytes is the device memory that [Backend.Values] takes for a form: two vectors
// of Jacobian points and a launch's work.
func ValuesBytes(f *forms.Form) int64 {
	return 2*int64(f.N())*jacobianBytes + pointVectorsBytes(f.LogN, pointsPiece)
}

// GainsInValues tells whether provers use lists K and M of a circuit's key, on a card
// that has the memory.
func GainsInValues(l *backend.Layout) bool {
	return need{layout: l, Options: Options{}.withLists(true)}.inValues() != nil
}

// Values makes the lists K and M of a form from the list h of a key, f.N() - 1 points,
// and hands them to the sink as a file has them, first those of K, then the first rows
// points of M: package [cuzk/backend/values] says what they are. progress, which may
// be nil, gets a part of the work.
//
// The device must have ValuesBytes free, the host two vectors of f.N() elements.
// Nobody has looked at the result: see CheckValues.
func (b *Backend) Values(ctx context.Context, h PointSource, f *forms.Form, rows int, sink RawSink, progress func(done float64)) error {
	m, err := b.valuesStand(f)
	if err != nil {
		return err
	}
	return errors.Join(valuesOn(ctx, m, pointsPiece, h, f, rows, sink, progress), m.close())
}

// PointSource is a list of points of G1 as a key file has them, 96 bytes each.
type PointSource = pointSource

func (b *Backend) valuesStand(f *forms.Form) (*stand, error) {
	free, err := b.limit()
	if err != nil {
		return nil, err
	}
	if need := ValuesBytes(f); free < need {
		return nil, fmt.Errorf("%w: points of 2^%d places take %d MiB of device %s, %d are free", gpu.ErrOutOfMemory, f.LogN, need>>20, b.dev.info.UUID, free>>20)
	}
	return b.stand()
}

// valuesOn is Values on a machine with so many multiplications a launch.
func valuesOn(ctx context.Context, m machine, piece int64, h pointSource, f *forms.Form, rows int, sink RawSink, progress func(float64)) error {
	if rows < 1 || rows > f.Rows() {
		return fmt.Errorf("%d rows for a form of %d", rows, f.Rows())
	}
	v, err := newPointVectors(m, f.LogN, piece)
	if v == nil {
		return err
	}
	c := &converter{pointVectors: v, form: f, h: h, rows: rows}
	if err == nil {
		err = c.run(ctx, sink, progress)
	}
	if err = errors.Join(err, v.free()); err != nil {
		return fmt.Errorf("quotient in values: %w", err)
	}
	return nil
}

// converter does with points what forms.Form.FromPowers does with their exponents.
type converter struct {
	*pointVectors
	form *forms.Form
	h    pointSource
	rows int

	x, y gpu.Memory // vectors
	out  *outbox
	host *numbers
}

// numbers are vectors of scalars that the host makes one after the other, each while
// the device works with the one before.
type numbers struct {
	left []func() ([]fr.Element, error)
	next chan madeNumbers
}

type madeNumbers struct {
	v   []fr.Element
	err error
}

// begin starts the next vector.
func (h *numbers) begin() {
	if len(h.left) == 0 {
		return
	}
	run, to := h.left[0], make(chan madeNumbers, 1)
	h.left, h.next = h.left[1:], to
	go func() { v, err := run(); to <- madeNumbers{v, err} }()
}

// take waits for it, and starts the one after it.
func (h *numbers) take(ctx context.Context) ([]fr.Element, error) {
	select {
	case m := <-h.next:
		h.begin()
		return m.v, m.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *converter) run(ctx context.Context, sink RawSink, progress func(float64)) (err error) {
	for _, to := range []*gpu.Memory{&c.x, &c.y} {
		if *to, err = c.vector(); err != nil {
			return err
		}
	}
	c.dry = true // counts what there is to do
	if err := c.lists(ctx); err != nil {
		return err
	}
	c.dry, c.report = false, progress
	c.host = &numbers{left: []func() ([]fr.Element, error){ // in the order of their use
		func() ([]fr.Element, error) { return c.valuesOfZ2(c.cyclic(), c.n()) },
		func() ([]fr.Element, error) { return c.valuesOfZ2(c.half(), c.n()/2) },
		func() ([]fr.Element, error) { return c.form.WeightsK(), nil },
		func() ([]fr.Element, error) { return c.form.WeightsM()[:c.rows], nil },
	}}
	c.host.begin()
	if c.out, err = newOutbox(c.m, c.raw.Bytes); err != nil {
		return err
	}
	return errors.Join(c.stream(ctx, sink), c.out.close())
}

// stream makes points while the sink takes those before.
func (c *converter) stream(parent context.Context, sink RawSink) error {
	g, ctx := errgroup.WithContext(parent)
	g.Go(func() error {
		defer close(c.out.full)
		return c.lists(ctx)
	})
	g.Go(func() error {
		for s := range c.out.full {
			if err := sink.Raw(s.data); err != nil {
				return err
			}
			c.out.empty <- s.slot
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return parent.Err()
}

// lists is the whole way. The names are those of package values.
func (c *converter) lists(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		c.load, c.correlate, c.polynomial, c.emitK, c.emitM,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if c.dry {
		return nil
	}
	return c.finite()
}

// load puts h into x.
func (c *converter) load(ctx context.Context) error {
	if c.dry {
		return nil
	}
	if err := c.clear(c.x, 0, c.n()); err != nil {
		return err
	}
	for from := int64(0); from < c.n()-1; from += c.piece {
		n := min(c.piece, c.n()-1-from)
		if err := c.read(ctx, c.h, from, n); err != nil {
			return err
		}
		err := c.each(ctx, 0, n, 0, func(s *steps, at, n int64) {
			s.launch("points_load", perPoint(int(n)), c.affine, uint32(n), uint32(from), c.x)
		})
		if err != nil {
			return err
		}
	}
	return c.finite()
}

// correlate sets number |U| - 1 - e of x to Σ_i (Z2)_i·h_(i-e-1). It is the product
// of h and of Z2 turned round, T, of fewer than 3n/2 terms, of which the first n are
// wanted. With m = n/2 and i² = -1, T modulo x^n - 1 and modulo x^m - i, T' and T",
// determines it:
//
//	2·T_j = T'_j + T"_j - i·T'_(j+m)   and   T_(j+m) = T'_(j+m)   for j < m
func (c *converter) correlate(ctx context.Context) error {
	m := c.n() / 2
	one := fr.One()
	i, err := fr.Generator(4)
	if err != nil {
		return err
	}
	var minus fr.Element
	minus.Neg(&i)
	low, high, other := pointRun{mem: c.x}, pointRun{mem: c.x, at: m}, pointRun{mem: c.y}
	for _, step := range []func() error{
		func() error { return c.addMultiples(ctx, other, low, m, &one, true) },
		func() error { return c.addMultiples(ctx, other, high, m, &i, false) },
		func() error { return c.product(ctx, c.x, c.cyclic(), c.n()) },
		func() error { return c.product(ctx, c.y, c.half(), m) },
		func() error { return c.addMultiples(ctx, low, other, m, &one, false) },
		func() error { return c.addMultiples(ctx, low, high, m, &minus, false) },
		func() error { return c.addMultiples(ctx, high, high, m, &one, false) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// product multiplies a residue of n points by Z2 turned round, halved.
func (c *converter) product(ctx context.Context, mem gpu.Memory, r residue, n int64) error {
	if err := c.transform(ctx, mem, r, false); err != nil {
		return err
	}
	if err := c.multiplyAll(ctx, mem, n, func() ([]fr.Element, error) { return c.host.take(ctx) }); err != nil {
		return err
	}
	return c.transform(ctx, mem, r, true)
}

// valuesOfZ2 are those of Z2 turned round, over 2n.
func (c *converter) valuesOfZ2(r residue, n int64) ([]fr.Element, error) {
	g, err := fr.Generator(2 * uint64(c.n()))
	if err != nil {
		return nil, err
	}
	var scale fr.Element
	scale.SetUint64(2 * uint64(n)).Inverse(&scale)
	out, z2 := make([]fr.Element, c.n()), c.form.Z2()
	for i := range z2 {
		out[len(z2)-1-i].Mul(&z2[i], &scale)
	}
	domain := fft.NewDomain(uint64(c.n()), fft.WithShift(g), fft.WithoutPrecompute())
	if r.coset {
		domain.FFT(out, fft.DIF, fft.OnCoset())
	} else {
		domain.FFT(out, fft.DIF)
	}
	return out[:n], nil
}

// read brings points of a list to the device, affine, and counts the bad ones.
func (v *pointVectors) read(ctx context.Context, h pointSource, from, n int64) error {
	size := curveG1.point
	raw := v.raw.Slice(0, n*size)
	if err := v.m.send(ctx, raw, func(dst []byte, off int64) error { return h.CopyRaw(dst, int(from+off/size)) }); err != nil {
		return err
	}
	return enqueue(v.m, func(s *steps) { s.launch("key_g1", perPoint(int(n)), raw, uint32(n), v.affine, v.bad) })
}

// finite reads the count of bad points.
func (v *pointVectors) finite() error {
	var n [4]byte
	err := v.m.do(func(q queue) error { return q.download(n[:], v.bad) })
	if bad := binary.LittleEndian.Uint32(n[:]); err == nil && bad > 0 {
		err = fmt.Errorf("%d points are infinite or have no form of points", bad)
	}
	return err
}

// polynomial sets x and y to P, whose values K and M have: the correlation, from the
// lowest power that matters on, times the factors of Z_S.
func (c *converter) polynomial(ctx context.Context) error {
	one, terms := fr.One(), c.n()-1
	all := pointRun{mem: c.y}
	if err := c.addMultiples(ctx, all, pointRun{mem: c.x, at: terms - 1, backward: true}, terms, &one, true); err != nil {
		return err
	}
	if err := c.clear(c.y, terms, c.n()); err != nil {
		return err
	}
	for _, z := range c.form.Factors() {
		d := int64(z.Degree)
		z.Level.Neg(&z.Level)
		// A launch reads places before it or a later one writes them.
		if err := c.addMultiples(ctx, all, pointRun{mem: c.y, at: d}, terms-d, &z.Level, false); err != nil {
			return err
		}
	}
	return c.addMultiples(ctx, pointRun{mem: c.x}, all, c.n(), &one, true)
}

// spans is where a transform has the values on S.
func (c *converter) spans() (out []pointSpan) {
	for _, p := range c.form.Parts {
		depth := c.logN - p.Log
		from := bits.Reverse32(uint32(p.From)) >> (32 - depth) // no part is everything
		out = append(out, pointSpan{int64(from) << p.Log, p.Log})
	}
	return out
}

// emitK evaluates P on S, and hands the values out with their weights.
func (c *converter) emitK(ctx context.Context) error {
	if err := c.transform(ctx, c.y, residue{coset: true, spans: c.spans()}, false); err != nil {
		return err
	}
	if c.dry {
		return c.each(ctx, 0, int64(c.form.Points()), costOwn, nil)
	}
	w, err := c.host.take(ctx)
	if err != nil {
		return err
	}
	for _, p := range c.form.Parts {
		if err := c.emit(ctx, c.y, p.From, c.logN-p.Log, w[:1<<p.Log]); err != nil {
			return fmt.Errorf("list K: %w", err)
		}
		w = w[1<<p.Log:]
	}
	return nil
}

// emitM is emitK for the rows.
func (c *converter) emitM(ctx context.Context) error {
	if err := c.transform(ctx, c.x, c.cyclic(), false); err != nil {
		return err
	}
	if c.dry {
		return c.each(ctx, 0, int64(c.rows), costOwn, nil)
	}
	w, err := c.host.take(ctx)
	if err != nil {
		return err
	}
	if err := c.emit(ctx, c.x, 0, 0, w); err != nil {
		return fmt.Errorf("list M: %w", err)
	}
	return nil
}

// emit hands out the values from, from + 2^shift, ..., each times a weight.
func (c *converter) emit(ctx context.Context, mem gpu.Memory, from, shift int, w []fr.Element) error {
	for done := int64(0); done < int64(len(w)); done += c.piece {
		n := min(c.piece, int64(len(w))-done)
		if err := c.m.send(ctx, c.scalars.Slice(0, n*fr.Bytes), bytesOf(rawBytes(w[done:done+n]))); err != nil {
			return err
		}
		err := c.each(ctx, 0, n, costOwn, func(s *steps, _, n int64) {
			s.launch("points_gather", perPoint(int(n)), mem, uint32(c.logN), uint32(from)+uint32(done)<<shift, uint32(shift), uint32(n), c.points)
			s.launch("points_scale_each", perPoint(int(n)), flat.args(c.points, 0, n, c.scalars)...)
			s.launch("points_affine", perPoint(int((n+affineShare-1)/affineShare)), c.points, uint32(n), c.affine)
			s.launch("file_g1", perPoint(int(n)), c.affine, uint32(n), c.raw, c.bad)
		})
		if err == nil {
			err = c.out.put(ctx, c.raw.Slice(0, n*curveG1.point))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
