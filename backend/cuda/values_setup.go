package cuda

import (
	"context"
	"errors"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
)

// exponentsMaker makes the exponents of the lists K and M (forms.Form.Exponents) on the
// device.
type exponentsMaker struct {
	*generator
	form      *forms.Form
	omega, g  fr.Element
	temp      holding
	sequence  gpu.Memory // sequence_t
	products  gpu.Memory // of chunks
	constants gpu.Memory // exponents_t
	z2        gpu.Memory // 1/Z2 at the coset's points, then on the rows
}

// chunkOf is how many elements of a sequence a thread makes.
func chunkOf(n int) int { return max(16, min(n>>12, 1<<10)) }

// chunksOf is how many chunks a sequence of n elements has.
func chunksOf(n int) int { return (n + chunkOf(n) - 1) / chunkOf(n) }

// pointsValues makes the lists K and M.
func (g *generator) pointsValues(ctx context.Context) error {
	v := g.plan.values
	x := &exponentsMaker{generator: g, form: v.form, temp: holding{m: g.machine}}
	err := x.open(ctx)
	if err == nil {
		err = x.make(ctx)
	}
	return errors.Join(err, x.temp.free())
}

func (x *exponentsMaker) open(ctx context.Context) (err error) {
	if x.g, err = fft.Generator(2 * uint64(x.form.N())); err != nil {
		return err
	}
	x.omega.Square(&x.g)
	n := int64(x.form.N())
	for _, m := range []struct {
		to    *gpu.Memory
		bytes int64
	}{
		{&x.sequence, 5 * fr.Bytes}, {&x.products, 2 * fr.Bytes * int64(max(chunksOf(int(n)), chunksOf(x.form.Unused()+1), chunksOf(x.form.Rows())))},
		{&x.z2, n * fr.Bytes},
	} {
		if *m.to, err = x.temp.alloc(m.bytes); err != nil {
			return err
		}
	}
	c, err := x.numbers(ctx)
	if err == nil {
		x.constants, err = x.temp.put(ctx, rawBytes(c))
	}
	return err
}

// make fills both lists.
func (x *exponentsMaker) make(ctx context.Context) error {
	if err := x.unused(ctx, x.g, x.form.N()); err != nil {
		return err
	}
	err := enqueue(x.machine, func(s *steps) {
		for i, p := range x.form.Parts {
			s.launch("values_points", x.wide(1<<p.Log), x.constants, x.key.form, uint32(i), uint32(1)<<p.Log, x.z2, x.selected)
		}
	})
	if err == nil {
		err = x.makeList(ctx, &x.key.k, x.selected)
	}
	rows := x.plan.values.rows
	if err == nil {
		err = x.unused(ctx, fr.One(), rows)
	}
	if err == nil {
		err = enqueue(x.machine, func(s *steps) {
			s.launch("values_rows", x.wide(int64(rows)), x.constants, x.key.form, uint32(rows), x.z2, x.selected)
		})
	}
	if err == nil {
		err = x.makeList(ctx, &x.key.m, x.selected)
	}
	return err
}

// power of omega.
func (x *exponentsMaker) power(e int) (y fr.Element) {
	return *y.Exp(x.omega, big.NewInt(int64(e)))
}

// numbers is exponents_t.
func (x *exponentsMaker) numbers(ctx context.Context) ([]fr.Element, error) {
	s, f := x.secrets, x.form
	one := fr.One()
	var scale, rows fr.Element
	scale.Exp(s.Tau, big.NewInt(int64(f.N())))
	scale.Sub(&scale, &one).Div(&scale, &s.Delta)
	rows.Div(&scale, rows.SetUint64(uint64(f.N())))
	top, err := x.vanish(ctx, s.Tau)
	if err != nil {
		return nil, err
	}
	var parts, levels [maxParts]fr.Element
	for i, p := range f.Parts {
		levels[i] = x.level(p)
		var d fr.Element
		d.Exp(s.Tau, big.NewInt(1<<p.Log))
		top.Mul(&top, d.Sub(&d, &levels[i]))
	}
	if top.IsZero() {
		return nil, errors.New("tau lies on the domain's coset: choose other secrets")
	}
	for i, p := range f.Parts {
		d := levels[i]
		d.Mul(&d, parts[i].SetUint64(2<<p.Log)).Neg(&d)
		parts[i].Mul(&top, &scale).Div(&parts[i], &d)
	}
	return append(append([]fr.Element{s.Tau, x.omega, x.g, top, rows}, parts[:]...), levels[:]...), nil
}

// level is x^(2^Log) on a part.
func (x *exponentsMaker) level(p forms.Part) (y fr.Element) {
	y = x.power(p.From)
	y.Mul(&y, &x.g)
	for range p.Log {
		y.Square(&y)
	}
	return y
}

// vanish is Z2(at), by the products of ω^u - at over chunks.
func (x *exponentsMaker) vanish(ctx context.Context, at fr.Element) (y fr.Element, err error) {
	m := x.form.Unused()
	products, err := x.chunks(ctx, []fr.Element{x.power(x.form.Rows()), x.omega, at, {}, fr.One()}, m+1)
	y = fr.One()
	for i := 0; i < len(products); i += 2 {
		y.Mul(&y, &products[i])
	}
	if m%2 == 1 {
		y.Neg(&y)
	}
	return y, err
}

// chunks are the two products of each chunk of a sequence of n elements.
func (x *exponentsMaker) chunks(ctx context.Context, sequence []fr.Element, n int) ([]fr.Element, error) {
	out := make([]fr.Element, 2*chunksOf(n))
	mem := x.products.Slice(0, int64(len(out))*fr.Bytes)
	err := settle(ctx, x.machine)
	if err == nil {
		err = x.machine.do(func(q queue) error { return q.upload(x.sequence, rawBytes(sequence)) })
	}
	if err == nil {
		err = enqueue(x.machine, func(s *steps) {
			s.launch("values_chunks", perThread(int64(chunksOf(n))), x.sequence, uint64(n), uint32(chunkOf(n)), mem)
		})
	}
	if err == nil {
		err = settle(ctx, x.machine)
	}
	if err == nil {
		err = x.machine.do(func(q queue) error { return q.download(rawBytes(out), mem) })
	}
	return out, err
}

// unused fills z2 with the inverses of Z2 at start·ω^j for j < n:
// Z2(ω·x) = ω^|U|·Z2(x)·(x - ω^(-|U|-1))/(x - ω^-1), with ω^-|U| = ω^Rows.
func (x *exponentsMaker) unused(ctx context.Context, start fr.Element, n int) error {
	first, err := x.vanish(ctx, start)
	if err != nil {
		return err
	}
	rows := x.form.Rows()
	c, err := x.chunks(ctx, []fr.Element{start, x.omega, x.power(-1), x.power(rows - 1), x.power(rows)}, n)
	if err != nil {
		return err
	}
	under := make([]fr.Element, len(c)/2)
	for i := range under {
		under[i] = c[2*i+1]
	}
	under = fr.BatchInvert(under)
	first.Inverse(&first)
	for i := range under {
		over := c[2*i]
		c[2*i], c[2*i+1] = first, under[i]
		first.Mul(&first, over.Mul(&over, &under[i]))
	}
	mem := x.products.Slice(0, int64(len(c))*fr.Bytes)
	if err := x.machine.do(func(q queue) error { return q.upload(mem, rawBytes(c)) }); err != nil {
		return err
	}
	return enqueue(x.machine, func(s *steps) {
		s.launch("values_sequence", perThread(int64(len(under))), x.sequence, uint64(n), uint32(chunkOf(n)), mem, x.z2)
	})
}
