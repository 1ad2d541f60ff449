package r1cs

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// unitRows is the most rows that one unit of parallel evaluation spans, unless
// a template's own rows are more.
const unitRows = 1 << 14

// unit is a piece of evaluation: an instance with everything below it, or only
// a stretch of an instance's own rows.
type unit struct {
	t     *Template
	b     base
	ports []ref
	rows  item // own rows if rows.rows > 0, else the whole instance
	row   int  // where those own rows begin
}

// Evaluate writes the row values <A_j,w>, <B_j,w> and, unless out is nil,
// <C_j,w> to a, b, out, in parallel. The slices hold at least Rows elements.
func (c *Compiled) Evaluate(ctx context.Context, w *Assignment, a, b, out []fr.Element) error {
	n := c.Counts().Rows
	if len(a) < n || len(b) < n || out != nil && len(out) < n {
		return fmt.Errorf("evaluate %s: room for %d and %d rows, circuit has %d", c.name, len(a), len(b), n)
	}
	visit := func(row int, v, _ *[3]fr.Element) bool {
		a[row], b[row] = v[0], v[1]
		if out != nil {
			out[row] = v[2]
		}
		return true
	}
	return c.each(ctx, &evaluator{c: c, w: w, third: out != nil}, func() rowVisit { return visit })
}

// EachRow evaluates all rows on all cores. worker is called once for each goroutine
// and gives what it calls for each of its rows, with the three values and the part
// of the public inputs in each; both arrays are valid during the call alone.
func (c *Compiled) EachRow(ctx context.Context, w *Assignment, worker func() (visit func(row int, v, inputs *[3]fr.Element))) error {
	return c.each(ctx, &evaluator{c: c, w: w, third: true, split: true}, func() rowVisit {
		visit := worker()
		return func(row int, v, inputs *[3]fr.Element) bool { visit(row, v, inputs); return true }
	})
}

// Unsatisfied is a row that an assignment does not satisfy.
type Unsatisfied struct {
	Row     int
	Path    string // gadgets from the circuit down to the row, with ordinals
	A, B, C fr.Element
}

func (u *Unsatisfied) Error() string {
	return fmt.Sprintf("constraint %d in %s is not satisfied: %s * %s != %s", u.Row, u.Path, u.A.String(), u.B.String(), u.C.String())
}

// Check evaluates all rows and returns the first that is not satisfied, or nil.
func (c *Compiled) Check(ctx context.Context, w *Assignment) (*Unsatisfied, error) {
	var mu sync.Mutex
	var first *Unsatisfied
	visit := func(row int, v, _ *[3]fr.Element) bool {
		var p fr.Element
		if p.Mul(&v[0], &v[1]); p == v[2] {
			return true
		}
		mu.Lock()
		defer mu.Unlock()
		if first == nil || row < first.Row {
			first = &Unsatisfied{Row: row, A: v[0], B: v[1], C: v[2]}
		}
		return true
	}
	err := c.each(ctx, &evaluator{c: c, w: w, third: true}, func() rowVisit { return visit })
	if first != nil {
		first.Path = c.Path(first.Row)
	}
	return first, err
}

// Fits tells whether an assignment has the sizes of the circuit.
func (c *Compiled) Fits(w *Assignment) error {
	n := c.Counts()
	if w == nil || len(w.Inputs) != n.Inputs || w.NumBits != n.Bits || len(w.Bits) != (n.Bits+63)/64 || len(w.Elements) != n.Aux-n.Bits {
		return fmt.Errorf("assignment does not fit circuit %s: it wants %d inputs, %d bits and %d elements", c.name, n.Inputs, n.Bits, n.Aux-n.Bits)
	}
	if !w.Inputs[0].IsOne() {
		return fmt.Errorf("assignment for circuit %s: input 0 is not one", c.name)
	}
	return nil
}

// rowVisit gets a row's values and ends its unit by returning false.
type rowVisit func(row int, v, inputs *[3]fr.Element) bool

// each evaluates all rows on all cores and hands the values to what worker gives
// each goroutine.
func (c *Compiled) each(ctx context.Context, plan *evaluator, worker func() rowVisit) error {
	if err := c.Fits(plan.w); err != nil {
		return err
	}
	var stopped atomic.Bool
	var wg sync.WaitGroup
	units := make(chan []unit, 64)
	for range runtime.GOMAXPROCS(0) {
		ev := *plan
		ev.visit = worker()
		wg.Go(func() {
			for us := range units {
				for i := range us {
					if stopped.Load() {
						break
					}
					ev.unit(&us[i])
				}
				runtime.Gosched() // others want the processor too
			}
		})
	}
	err := c.units(ctx, units)
	if err != nil {
		stopped.Store(true)
	}
	close(units)
	wg.Wait()
	return err
}

// units cuts the circuit into units, in batches to keep channel traffic low.
func (c *Compiled) units(ctx context.Context, to chan<- []unit) error {
	var batch []unit
	rows := 0
	send := func(u unit, n int) error {
		batch, rows = append(batch, u), rows+n
		if rows < unitRows {
			return nil
		}
		select {
		case to <- batch:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		batch, rows = nil, 0
		return nil
	}
	if err := c.cut(c.root(), rootBase, nil, send); err != nil {
		return err
	}
	to <- batch
	return nil
}

func (c *Compiled) cut(t *Template, b base, ports []ref, send func(unit, int) error) error {
	if t.counts.Rows <= unitRows {
		return send(unit{t: t, b: b, ports: ports}, t.counts.Rows)
	}
	row := b.row
	for _, it := range t.items {
		if it.call < 0 {
			if err := send(unit{t: t, b: b, ports: ports, rows: it, row: row}, int(it.rows)); err != nil {
				return err
			}
			row += int(it.rows)
			continue
		}
		k := &t.calls[it.call]
		child := c.tmpls[k.tmpl]
		in := make([]ref, len(k.ports))
		for i, v := range k.ports {
			in[i] = c.toRef(t, v).global(&b, ports)
		}
		if err := c.cut(child, b.plus(k.base), in, send); err != nil {
			return err
		}
		row += child.counts.Rows
	}
	return nil
}

// evaluator is one goroutine's view of an evaluation.
type evaluator struct {
	c     *Compiled
	w     *Assignment
	third bool // the values in C too
	split bool // the parts of the inputs too
	visit rowVisit
}

func (ev *evaluator) unit(u *unit) {
	if u.rows.rows > 0 {
		ev.rows(u.t, &u.b, u.ports, u.rows, u.row)
		return
	}
	ev.instance(u.t, u.b, u.ports)
}

func (ev *evaluator) instance(t *Template, b base, ports []ref) {
	row := b.row
	for _, it := range t.items {
		if it.call < 0 {
			ev.rows(t, &b, ports, it, row)
			row += int(it.rows)
			continue
		}
		k := &t.calls[it.call]
		child := ev.c.tmpls[k.tmpl]
		in := make([]ref, len(k.ports))
		for i, v := range k.ports {
			in[i] = ev.c.toRef(t, v).global(&b, ports)
		}
		ev.instance(child, b.plus(k.base), in)
		row += child.counts.Rows
	}
}

func (ev *evaluator) rows(t *Template, b *base, ports []ref, it item, row int) {
	var v, inputs [3]fr.Element
	from := uint32(0)
	e := 3 * int(it.first)
	if e > 0 {
		from = t.ends[e-1]
	}
	for range it.rows {
		for m := range 3 {
			to := t.ends[e+m]
			if m < 2 || ev.third {
				v[m] = ev.sum(t, from, to, b, ports)
			}
			if ev.split {
				inputs[m] = ev.inputs(t, from, to, b, ports)
			}
			from = to
		}
		e += 3
		if !ev.visit(row, &v, &inputs) {
			return
		}
		row++
	}
}

// sum is the value of the terms [from, to) of t in the instance at b.
func (ev *evaluator) sum(t *Template, from, to uint32, b *base, ports []ref) (s fr.Element) {
	var p fr.Element
	for i := from; i < to; i++ {
		r := t.refs[i].global(b, ports)
		coef := t.terms[i].Coef
		switch r.class() {
		case refBit:
			if ev.w.Bit(r.index()) {
				s.Add(&s, &ev.c.coefs[coef])
			}
			continue
		case refElement:
			p = ev.w.Elements[r.index()]
		default:
			if r == 0 {
				s.Add(&s, &ev.c.coefs[coef])
				continue
			}
			p = ev.w.Inputs[r.index()]
		}
		switch coef {
		case CoefOne:
			s.Add(&s, &p)
		case CoefMinusOne:
			s.Sub(&s, &p)
		default:
			p.Mul(&p, &ev.c.coefs[coef])
			s.Add(&s, &p)
		}
	}
	return s
}

// inputs is the part of public inputs in a sum.
func (ev *evaluator) inputs(t *Template, from, to uint32, b *base, ports []ref) (s fr.Element) {
	for i := from; i < to; i++ {
		r := t.refs[i]
		if k := r.class(); k == refBit || k == refElement {
			continue
		}
		if r = r.global(b, ports); r.class() != refInput {
			continue
		}
		p := ev.c.coefs[t.terms[i].Coef]
		if r != 0 {
			p.Mul(&p, &ev.w.Inputs[r.index()])
		}
		s.Add(&s, &p)
	}
	return s
}

// Path names the gadgets around a row from the circuit down, each with its
// ordinal among the calls of its caller that have the same shape.
func (c *Compiled) Path(row int) string {
	t := c.root()
	parts := []string{t.shape}
descend:
	for row >= 0 && row < t.counts.Rows {
		nth := map[int32]int{}
		for _, it := range t.items {
			if it.call < 0 {
				if row < int(it.rows) {
					break descend
				}
				row -= int(it.rows)
				continue
			}
			m := t.calls[it.call].tmpl
			child := c.tmpls[m]
			if row < child.counts.Rows {
				parts = append(parts, fmt.Sprintf("%s[%d]", child.shape, nth[m]))
				t = child
				continue descend
			}
			nth[m]++
			row -= child.counts.Rows
		}
		break
	}
	return strings.Join(parts, "/")
}

// AuxValues writes the values of aux variables from, from+1, ... in order of
// allocation to dst.
func (c *Compiled) AuxValues(w *Assignment, from int, dst []fr.Element) error {
	if err := c.Fits(w); err != nil {
		return err
	}
	if from < 0 || from+len(dst) > w.Aux() {
		return fmt.Errorf("aux %d to %d are not all in circuit %s", from, from+len(dst), c.name)
	}
	return c.EachRun(from, len(dst), func(at, n, index int, bit bool) error {
		d := dst[at-from : at-from+n]
		if !bit {
			copy(d, w.Elements[index:])
			return nil
		}
		for i := range d {
			d[i].SetZero()
			if w.Bit(index + i) {
				d[i].SetOne()
			}
		}
		return nil
	})
}

// EachRun visits the stretches of one kind among aux variables from to
// from+n-1 in order: aux at, at+1, ... at+n-1 are the bits, or the elements,
// beginning at index.
func (c *Compiled) EachRun(from, n int, visit func(at, n, index int, bit bool) error) error {
	return c.eachRun(c.root(), base{}, from, from+n, visit)
}

func (c *Compiled) eachRun(t *Template, b base, from, to int, visit func(at, n, index int, bit bool) error) error {
	for k := range t.runs {
		r := &t.runs[k]
		lo, hi := b.aux+r.base.aux, b.aux+r.base.aux+r.n
		if hi <= from {
			continue
		}
		if lo >= to {
			return nil
		}
		in := b.plus(r.base)
		var err error
		skip := max(from-lo, 0)
		n := min(hi, to) - lo - skip
		switch r.kind {
		case runCall:
			err = c.eachRun(c.tmpls[t.calls[r.call].tmpl], in, from, to, visit)
		case runBits:
			err = visit(lo+skip, n, in.bit+skip, true)
		default:
			err = visit(lo+skip, n, in.element+skip, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
