package cuda

import (
	"context"
	"encoding/binary"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	gpu "cuzk/cuda"
)

// The vectors of a workspace in values: the first has the multipliers of the first
// sum, a and b are the second and third, memory for sums afterwards.

// inValues are the stages that compute H in values.
func (r *round) inValues(p *proof) []stage {
	return []stage{
		r.each(StageEvaluate, 0.02, p, r.splitRows), r.each(StageQuotient, 0.15, p, r.products), r.each(StageH, 0.55, p, r.sumValues),
	}
}

// splitRows sorts the rows by their product, before the transforms spend a and b.
func (r *round) splitRows(ctx context.Context, p *proof) error {
	v, s := r.plan.values, &r.split
	unused := int64(v.form.Points()) * fr.Bytes
	err := enqueue(r.m, func(q *steps) {
		q.evaluate(&r.rows, &p.witness, r.vector(1), r.vector(2), r.layout.M())
		q.fill(s.count, 0)
		q.fill(r.scalars(v).Slice(unused, int64(v.areas*v.room)*fr.Bytes), 0)
		q.launch("values_split", perThread(int64(v.rows)), r.vector(1), r.vector(2), uint32(v.rows), uint32(v.words()), s.masks,
			uint32(v.room), s.count, s.numbers, r.listed(v, fr.Bytes, r.scalars(v)))
	})
	if err == nil {
		err = settle(ctx, r.m)
	}
	var n [4]byte
	if err == nil {
		err = r.m.do(func(q queue) error { return q.download(n[:], s.count) })
	}
	p.others = int(binary.LittleEndian.Uint32(n[:]))
	return err
}

// products fills the first vector and gathers the points that go with the others.
func (r *round) products(ctx context.Context, p *proof) error {
	v := r.plan.values
	if err := r.workspace.tables.coset(r.vector(1), r.vector(2)); err != nil {
		return err
	}
	points := v.form.Points()
	scalars, to := r.listed(v, fr.Bytes, r.scalars(v)), r.listed(v, curveG1.point, r.key.k.mem)
	err := enqueue(r.m, func(q *steps) {
		q.launch("values_products", perThread(int64(points)), r.key.form, r.vector(1), r.vector(2), uint32(points), r.scalars(v))
		switch {
		case p.others > v.room:
			q.fill(scalars, 0) // they have a sum of their own
		case p.others > 0:
			q.launch("values_gather", perThread(int64(p.others)*curveG1.point/16), r.key.m.mem, r.split.numbers, uint32(p.others), to)
		}
	})
	if err != nil {
		return err
	}
	return settle(ctx, r.m)
}

// sumValues adds up H.
func (r *round) sumValues(ctx context.Context, p *proof) error {
	v, s := r.plan.values, r.m.summer()
	sum, err := s.MSMG1(ctx, r.key.k.mem, Scalars{r.scalars(v), v.multiples(), Canonical}, r.behind(1))
	if err != nil {
		return err
	}
	var small [smallProducts]bls12381.G1Affine
	for i := range small {
		if small[i], err = s.BitsG1(ctx, r.key.m.mem, r.split.mask(v, i), r.behind(1)); err != nil {
			return err
		}
	}
	// 1, -1 and 2.
	small[1].Neg(&small[1])
	small[2].ScalarMultiplication(&small[2], big.NewInt(2))
	for i := range small {
		sum.Add(&sum, &small[i])
	}
	if p.others > v.room {
		rest, err := r.sumRest(ctx, p)
		if err != nil {
			return err
		}
		sum.Add(&sum, &rest)
	}
	p.sums.H = sum
	return nil
}

// sumRest is the sum over the rows that are not small when there are more of them
// than are listed, which no honest assignment of a circuit in use has: the rows are
// evaluated again, and all points of M multiplied.
func (r *round) sumRest(ctx context.Context, p *proof) (sum bls12381.G1Affine, err error) {
	v := r.plan.values
	scalars := r.arena.Slice(0, int64(v.rows)*fr.Bytes)
	err = enqueue(r.m, func(q *steps) {
		q.evaluate(&r.rows, &p.witness, r.vector(1), r.vector(2), r.layout.M())
		q.launch("values_rest", perThread(int64(v.rows)), r.vector(1), r.vector(2), uint32(v.rows), scalars)
	})
	if err == nil {
		err = settle(ctx, r.m)
	}
	if err != nil {
		return sum, err
	}
	return r.m.summer().MSMG1(ctx, r.key.m.mem, Scalars{scalars, v.rows, Canonical}, r.behind(1))
}

// coset implements quotienter.
func (s *standQuotient) coset(a, b gpu.Memory) error {
	return s.dev.owner.Do(func(c *gpu.Context) error { return s.q.Coset(c, a, b, s.stream) })
}
