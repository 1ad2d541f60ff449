//go:build !purego

package ntt

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/offheap"
)

// MinLog is log2 of the smallest domain that Quotient takes.
const MinLog = 6

// Quotient computes the coefficients of H, in natural order, from the values a
// and b on the domain, into c; a and b are spent. The three have the domain's
// length, a power of two from 2^MinLog to 2^31. Work is done by a number of
// goroutines, which look at the context about every millisecond.
func Quotient(ctx context.Context, a, b, c fr.Vector, workers int, report func(float64)) error {
	return inPasses(ctx, a, b, c, workers, maxLevels, report)
}

// inPasses is Quotient with passes of at most so many levels.
func inPasses(ctx context.Context, a, b, c fr.Vector, workers, levels int, report func(float64)) error {
	q, err := newQuotient(a, b, c, workers, levels)
	if err != nil {
		return err
	}
	defer q.free()
	steps := q.steps()
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		report(float64(i+1) / float64(len(steps)))
	}
	return q.bitReverse(ctx)
}

// quotient is the state of one computation.
type quotient struct {
	a, b, c fr.Vector
	*tables
	passes  []pass
	scratch [][3][]block // of each worker, for a piece of each vector
}

// pass is levels done at once: on entry a vector is cut into blocks of rows·columns
// elements.
type pass struct {
	tables  *tables
	first   int // levels before
	levels  int
	columns int
}

// maxLevels bounds a piece to 2^11 blocks of 320 bytes.
const maxLevels = 11

func newQuotient(a, b, c fr.Vector, workers, levels int) (*quotient, error) {
	n := bits.Len(uint(len(a))) - 1
	q := &quotient{a: a, b: b, c: c}
	count := max(2, (n+levels-1)/levels)
	first, most := 0, 0
	for i := range count {
		k := (n - first) / (count - i)
		q.passes = append(q.passes, pass{first: first, levels: k, columns: len(a) >> (first + k)})
		first, most = first+k, max(most, k)
	}
	var err error
	if q.tables, err = newTables(n, most, q.last().levels); err != nil {
		return nil, err
	}
	for i := range q.passes {
		q.passes[i].tables = q.tables
	}
	q.scratch = make([][3][]block, workers)
	for i := range q.scratch {
		for j := range q.scratch[i] {
			q.scratch[i][j] = offheap.Make[block](1 << most)
		}
	}
	return q, nil
}

func (q *quotient) free() {
	for _, s := range q.scratch {
		for _, z := range s {
			offheap.Free(z)
		}
	}
}

func (q *quotient) last() *pass { return &q.passes[len(q.passes)-1] }

// steps are the passes over memory in order.
func (q *quotient) steps() []func(context.Context) error {
	middle := q.passes[1 : len(q.passes)-1]
	out := []func(context.Context) error{q.one}
	for i := range middle {
		out = append(out, q.split(q.a, &middle[i]), q.split(q.b, &middle[i]), q.split(q.c, &middle[i]))
	}
	out = append(out, q.two)
	for i := len(middle) - 1; i >= 0; i-- {
		out = append(out, q.join(q.a, &middle[i]), q.join(q.b, &middle[i]))
	}
	out = append(out, q.three)
	for i := range middle {
		out = append(out, q.split(q.a, &middle[i]))
	}
	return append(out, q.four)
}

// one multiplies the values and splits all three.
func (q *quotient) one(ctx context.Context) error {
	p := &q.passes[0]
	return q.each(ctx, p.pieces(), func(worker, i int) {
		s := &q.scratch[worker]
		v := p.at(i)
		a, b, c := v.load(s[0], q.a), v.load(s[1], q.b), s[2]
		mul(&c[0], &a[0], &b[0], v.blocks(), blockBytes)
		v.split(c)
		v.store(q.c, c)
		v.split(a)
		v.store(q.a, a)
		v.split(b)
		v.store(q.b, b)
	})
}

// two brings a and b to coefficients and back.
func (q *quotient) two(ctx context.Context) error {
	p := q.last()
	return q.each(ctx, p.pieces(), func(worker, i int) {
		s := &q.scratch[worker]
		v := p.at(i)
		for _, x := range []fr.Vector{q.a, q.b} {
			z := v.load(s[0], x)
			v.split(z)
			settle(&z[0], v.blocks())
			v.joinRows(z)
			v.store(x, z)
		}
	})
}

// three brings a and b to values, and their product a step back.
func (q *quotient) three(ctx context.Context) error {
	p := &q.passes[0]
	return q.each(ctx, p.pieces(), func(worker, i int) {
		s := &q.scratch[worker]
		v := p.at(i)
		a, b := v.load(s[0], q.a), v.load(s[1], q.b)
		v.joinColumns(a)
		v.joinColumns(b)
		settle(&b[0], v.blocks())
		mul(&a[0], &a[0], &b[0], v.blocks(), blockBytes)
		v.split(a)
		v.store(q.a, a)
	})
}

// four brings a and c to coefficients and combines them.
func (q *quotient) four(ctx context.Context) error {
	p := q.last()
	return q.each(ctx, p.pieces(), func(worker, i int) {
		s := &q.scratch[worker]
		v := p.at(i)
		r, c, t := v.load(s[0], q.a), v.load(s[1], q.c), s[2]
		v.split(r)
		v.split(c)
		own := q.offCoset(v.from)
		q.fill(t, &own)
		mul(&r[0], &r[0], &t[0], v.blocks(), blockBytes)
		mul(&c[0], &c[0], &q.inverse, v.blocks(), 0)
		sub(&c[0], &c[0], &r[0], v.blocks())
		v.store(q.c, c)
	})
}

// fill sets t to the powers of 1/g in a piece of rows, times own.
func (q *quotient) fill(t []block, own *block) {
	n := 1 << q.last().levels
	for k := range n {
		t[k] = *own
	}
	mulSpread(&t[0], &t[0], &q.offRow[0], n)
}

// split is a pass in the middle towards coefficients.
func (q *quotient) split(x fr.Vector, p *pass) func(context.Context) error {
	return func(ctx context.Context) error {
		return q.each(ctx, p.pieces(), func(worker, i int) {
			s := &q.scratch[worker]
			v := p.at(i)
			z := v.load(s[0], x)
			v.split(z)
			v.store(x, z)
		})
	}
}

// join is a pass in the middle towards values.
func (q *quotient) join(x fr.Vector, p *pass) func(context.Context) error {
	return func(ctx context.Context) error {
		return q.each(ctx, p.pieces(), func(worker, i int) {
			s := &q.scratch[worker]
			v := p.at(i)
			z := v.load(s[0], x)
			v.joinColumns(z)
			v.store(x, z)
		})
	}
}

// each runs f for 0 to n-1 on all workers.
func (q *quotient) each(ctx context.Context, n int, f func(worker, i int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for k := range q.scratch {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				f(k, i)
				runtime.Gosched() // others want the processor too
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}
