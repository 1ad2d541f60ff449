package cuda

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"cuzk/cuda"
)

// fusedLog is the size that the fused kernels serve: three digits of nine bits.
const (
	fusedLog   = 27
	fusedDigit = 9
	fusedHalf  = 2 * fusedDigit
)

// Quotient computes h = (A B - C)/(x^n - 1) on one device, n = 2^logN, where A and
// B take the values a and b on the domain and C those of their product: a
// satisfied system's third matrix gives the same.
//
// With R = A B mod (x^n + 1), h = (C - R)/2 (backend/cpu/quotient.go derives it).
// R is interpolated on the coset g w^j with g of order 2n, so that g^n = -1 and
// the coset's powers are twiddles of half a step. Only the root w is used, so one
// set of tables serves all six transforms: a transform of a transform is the
// vector at negated places, three of them are an inverse (kernels/ntt/quotient.cu).
type Quotient struct {
	*Transform
	ginv  powers      // 1/g
	scale cuda.Memory // -1/n, then 1/(2n) plain
	fused *fusedTables
	own   memories
}

// fusedTables are 2^18 elements each.
type fusedTables struct {
	mid     cuda.Memory // [f1][i0] w^(..)
	coset   cuda.Memory // the same times g^(-512 f1)
	plainC  cuda.Memory // the same as mid times 1/(2n), plain
	toCoset cuda.Memory // [top][row] -g^-(f0 + 2^18 f2)/n
	last    cuda.Memory // [top][row] g^-(f0 + 2^18 f2)/(2n), plain
}

// fusedArgs is fused_t.
type fusedArgs struct {
	a, b, x, roots, near, scale uint64
	tw                          twiddle
}

// NewQuotient makes the tables. full as in NewTransform.
func NewQuotient(c *cuda.Context, dev *Device, logN int, full bool) (*Quotient, error) {
	t, err := NewTransform(c, dev, logN, full)
	if err != nil {
		return nil, err
	}
	q := &Quotient{Transform: t}
	if err := q.build(c); err != nil {
		return nil, fmt.Errorf("tables of the quotient of 2^%d points: %w", logN, errors.Join(err, q.Close(c)))
	}
	return q, nil
}

func (q *Quotient) build(c *cuda.Context) error {
	g, err := fft.Generator(2 * uint64(q.n))
	if err != nil {
		return err
	}
	g.Inverse(&g)
	if q.ginv, err = powerTables(c, &q.own, g, q.logN); err != nil {
		return err
	}
	if q.scale, err = q.own.keep(upload(c, quotientScales(uint64(q.n)))); err != nil {
		return err
	}
	if q.logN == fusedLog {
		if q.fused, err = q.buildFused(c, g); err != nil {
			return err
		}
	}
	return c.Synchronize()
}

// quotientScales is -1/n in Montgomery form and 1/(2n) as an integer.
func quotientScales(n uint64) []fr.Element {
	out := make([]fr.Element, 2)
	out[0].SetUint64(n).Inverse(&out[0]).Neg(&out[0])
	out[1].SetUint64(2 * n).Inverse(&out[1])
	out[1] = fr.Element(out[1].Bits())
	return out
}

// cosetRows lists, by position p of a digit at shift, g^(-rev(p) 2^shift).
func cosetRows(ginv fr.Element, shift, bits int) []fr.Element {
	for range shift {
		ginv.Square(&ginv)
	}
	byFrequency := powersOf(ginv, 1<<bits)
	out := make([]fr.Element, 1<<bits)
	for p := range out {
		out[p] = byFrequency[reverse(uint32(p), bits)]
	}
	return out
}

// scaled multiplies each element by s; plain leaves integers, not Montgomery.
func scaled(v []fr.Element, s fr.Element, plain bool) []fr.Element {
	out := make([]fr.Element, len(v))
	for i := range v {
		out[i].Mul(&v[i], &s)
		if plain {
			out[i] = fr.Element(out[i].Bits())
		}
	}
	return out
}

func (q *Quotient) buildFused(c *cuda.Context, ginv fr.Element) (*fusedTables, error) {
	var minusInv, halfInv, one fr.Element
	minusInv.SetUint64(uint64(q.n)).Inverse(&minusInv).Neg(&minusInv)
	halfInv.SetUint64(2 * uint64(q.n)).Inverse(&halfInv)
	one.SetOne()
	ones := make([]fr.Element, 1<<fusedDigit)
	for i := range ones {
		ones[i] = one
	}
	top := cosetRows(ginv, 0, fusedDigit)
	low := cosetRows(ginv, fusedHalf, fusedDigit)
	f := &fusedTables{}
	f.mid = q.tables[chunk{fusedDigit, fusedDigit}]
	var errs [4]error
	f.coset, errs[0] = q.midTable(c, cosetRows(ginv, fusedDigit, fusedDigit))
	f.plainC, errs[1] = q.midTable(c, scaled(ones, halfInv, true))
	f.toCoset, errs[2] = q.outer(c, scaled(top, minusInv, false), low)
	f.last, errs[3] = q.outer(c, scaled(top, halfInv, true), low)
	return f, errors.Join(errs[:]...)
}

// midTable is the table of the middle digit times a factor by digit.
func (q *Quotient) midTable(c *cuda.Context, row []fr.Element) (cuda.Memory, error) {
	mem, err := q.own.keep(upload(c, row))
	if err != nil {
		return mem, err
	}
	return q.crossTable(c, chunk{fusedDigit, fusedDigit}, mem)
}

// outer is the table [i][j] of high[i] low[j].
func (q *Quotient) outer(c *cuda.Context, high, low []fr.Element) (cuda.Memory, error) {
	h, err := q.own.keep(upload(c, high))
	if err != nil {
		return h, err
	}
	l, err := q.own.keep(upload(c, low))
	if err != nil {
		return l, err
	}
	n := uint32(len(high) * len(low))
	table, err := q.own.alloc(c, int64(n)*fr.Bytes)
	if err != nil {
		return table, err
	}
	return table, q.dev.launch(c, "ntt_outer", over(int(n), tileThreads, cuda.Stream{}), table, n, uint32(fusedDigit), h, l)
}

// Bytes is the device memory of the tables.
func (q *Quotient) Bytes() int64 { return q.Transform.Bytes() + q.own.bytes() }

// Close releases the tables.
func (q *Quotient) Close(c *cuda.Context) error {
	return errors.Join(q.Transform.Close(c), q.own.free(c))
}

// Run enqueues the computation. a and b hold n values in [0, r) and are spent;
// spare is a third vector. The result is where the returned range says (the
// vector a or spare): n coefficients in natural order as integers (not
// Montgomery), the last one zero.
func (q *Quotient) Run(c *cuda.Context, a, b, spare cuda.Memory, s cuda.Stream) (cuda.Memory, error) {
	need := int64(q.n) * fr.Bytes
	if a.Bytes < need || b.Bytes < need || spare.Bytes < need {
		return cuda.Memory{}, fmt.Errorf("quotient of 2^%d points: vectors of %d, %d and %d bytes, need %d", q.logN, a.Bytes, b.Bytes, spare.Bytes, need)
	}
	if q.fused != nil {
		return a, q.runFused(c, a, b, spare, s)
	}
	return a, q.runPlain(c, a, b, spare, s)
}

// runPlain is the sequence of whole transforms, for every size.
func (q *Quotient) runPlain(c *cuda.Context, a, b, spare cuda.Memory, s cuda.Stream) error {
	shape := over(int(q.n), tileThreads, s)
	logN := uint32(q.logN)
	steps := []func() error{
		func() error { return q.dev.launch(c, "h_product_negated", shape, spare, a, b, q.n) },
		func() error { return q.DIF(c, spare, spare, s) },
		func() error { return q.toCoset(c, a, s) },
		func() error { return q.toCoset(c, b, s) },
		func() error { return q.dev.launch(c, "h_product", shape, b, a, q.n) },
		func() error { return q.DIF(c, b, b, s) },
		func() error {
			return q.dev.launch(c, "h_combine", shape, a, spare, b, q.n, logN, unsafe.Pointer(&q.ginv), q.scale.Slice(fr.Bytes, fr.Bytes))
		},
	}
	return inOrder(steps)
}

// Coset turns the values a and b of two polynomials on the domain into their values
// on the coset, in place: place j gets the value at g w^-j, in [0, 2r).
func (q *Quotient) Coset(c *cuda.Context, a, b cuda.Memory, s cuda.Stream) error {
	for _, x := range []cuda.Memory{a, b} {
		if need := int64(q.n) * fr.Bytes; x.Bytes < need {
			return fmt.Errorf("values on a coset of 2^%d points: a vector of %d bytes, need %d", q.logN, x.Bytes, need)
		}
		var err error
		if q.fused != nil {
			err = inOrder(append(q.fusedToCoset(c, x, s), q.dit27(c, x, chunk{fusedHalf, fusedDigit}, cuda.Memory{}, s)))
		} else {
			err = q.toCoset(c, x, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// toCoset turns values on the domain into values on the coset, at negated places.
func (q *Quotient) toCoset(c *cuda.Context, x cuda.Memory, s cuda.Stream) error {
	return inOrder([]func() error{
		func() error { return q.DIF(c, x, x, s) },
		func() error {
			return q.dev.launch(c, "h_to_coset", over(int(q.n), tileThreads, s), x, q.n, uint32(q.logN), unsafe.Pointer(&q.ginv), q.scale)
		},
		func() error { return q.DIT(c, x, x, s) },
	})
}

func inOrder(steps []func() error) error {
	for _, run := range steps {
		if err := run(); err != nil {
			return err
		}
	}
	return nil
}

// runFused is the sequence for 2^27 points: 18 passes become 15 launches, and
// products, coset factors and the subtraction ride on them.
func (q *Quotient) runFused(c *cuda.Context, a, b, spare cuda.Memory, s cuda.Stream) error {
	f := q.fused
	top, mid, low := chunk{fusedHalf, 9}, chunk{fusedDigit, 9}, chunk{0, 9}
	none := cuda.Memory{}
	return inOrder(slices.Concat([]func() error{
		func() error {
			return q.launchFused(c, "h27_first", fusedArgs{a: a.Ptr, b: b.Ptr, x: spare.Ptr}, s)
		},
		q.dif27(c, spare, mid, top, none, s), q.dif27(c, spare, low, mid, f.plainC, s),
	}, q.fusedToCoset(c, a, s), []func() error{q.dit27(c, a, top, none, s)}, q.fusedToCoset(c, b, s), []func() error{
		func() error { return q.middle(c, a, b, s) },
		q.dif27(c, b, mid, top, none, s),
		func() error {
			return q.launchFused(c, "h27_last", fusedArgs{a: b.Ptr, b: spare.Ptr, x: a.Ptr, near: f.coset.Ptr, scale: f.last.Ptr}, s)
		},
	}))
}

// fusedToCoset are the passes of toCoset but for the last, over the top digit.
func (q *Quotient) fusedToCoset(c *cuda.Context, x cuda.Memory, s cuda.Stream) []func() error {
	f := q.fused
	top, mid := chunk{fusedHalf, fusedDigit}, chunk{fusedDigit, fusedDigit}
	turn := fusedArgs{x: x.Ptr, near: f.mid.Ptr, scale: f.toCoset.Ptr}
	return []func() error{
		q.dif27(c, x, top, none0, cuda.Memory{}, s), q.dif27(c, x, mid, top, cuda.Memory{}, s),
		func() error { return q.launchFused(c, "h27_turn", turn, s) },
		q.dit27(c, x, mid, f.coset, s),
	}
}

// dif27 is a pass over ch that meets the twiddles of met.
func (q *Quotient) dif27(c *cuda.Context, x cuda.Memory, ch, met chunk, table cuda.Memory, s cuda.Stream) func() error {
	p := passCall{chunk: ch, met: met, meets: met != none0, dst: x, src: x, dif: true, table: table}
	return func() error { return q.pass(c, p, s) }
}

// dit27 is a pass over ch that meets its own twiddles.
func (q *Quotient) dit27(c *cuda.Context, x cuda.Memory, ch chunk, table cuda.Memory, s cuda.Stream) func() error {
	p := passCall{chunk: ch, met: ch, meets: true, dst: x, src: x, table: table}
	return func() error { return q.pass(c, p, s) }
}

// none0 stands for no digit met: the first pass of a transform.
var none0 chunk

// middle is the last pass of b's way to the coset, the product with a's values and
// the first pass back.
func (q *Quotient) middle(c *cuda.Context, a, b cuda.Memory, s cuda.Stream) error {
	args := fusedArgs{a: a.Ptr, x: b.Ptr, tw: q.twiddle(passCall{met: chunk{fusedHalf, fusedDigit}})}
	name := "h27_middle_table"
	if args.tw.table == 0 {
		name = "h27_middle_powers"
	}
	return q.launchFused(c, name, args, s)
}

func (q *Quotient) launchFused(c *cuda.Context, name string, args fusedArgs, s cuda.Stream) error {
	args.roots = q.roots.Ptr
	return q.dev.launch(c, name, q.tiles(chunk{0, fusedDigit}, s), unsafe.Pointer(&args))
}
