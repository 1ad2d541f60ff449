package groth16

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
)

// Exponents are a proof as multiples of the generators.
type Exponents struct{ A, B, C fr.Element }

// Direct computes, with the secrets of a key, what proof the assignment has to
// give with blinding b; see [Evaluator].
func Direct(ctx context.Context, circuit *r1cs.Compiled, secrets *Secrets, w *r1cs.Assignment, b *Blinding) (*Exponents, error) {
	e, err := NewEvaluator(circuit, secrets)
	if err != nil {
		return nil, err
	}
	return e.Exponents(ctx, w, b)
}

// Evaluator computes proofs of a circuit from the secrets of its key: no key, no
// sums over points, no transforms. It is the other way to the same proof that
// provers are checked against, at any size. Memory: the Lagrange basis at tau, 32
// bytes a row.
type Evaluator struct {
	circuit *r1cs.Compiled
	secrets *Secrets
	counts  r1cs.Counts
	basis   []fr.Element // L_j(tau) of all rows, those of the inputs last
}

// NewEvaluator computes the basis, on all cores.
func NewEvaluator(circuit *r1cs.Compiled, secrets *Secrets) (*Evaluator, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, fmt.Errorf("direct evaluation of %s: %w", circuit.Name(), err)
	}
	l, err := newLagrange(secrets.Tau, layout.M())
	if err != nil {
		return nil, fmt.Errorf("direct evaluation of %s: %w", circuit.Name(), err)
	}
	n := layout.Counts
	return &Evaluator{circuit, secrets, n, l.all(n.Rows + n.Inputs)}, nil
}

// Exponents are those of the proof that an assignment has to give with blinding b,
// on all cores. With a = Σ_v A_v·w_v and so on, all at tau:
//
//	A = alpha + r·delta + a
//	B = beta + s·delta + b
//	C = (a·b - c)/delta + (beta·a + alpha·b + c - Σ over inputs)/delta + s·A + r·B - r·s·delta
//
// An error is returned for a row that is not satisfied.
func (e *Evaluator) Exponents(ctx context.Context, w *r1cs.Assignment, b *Blinding) (*Exponents, error) {
	d := &direct{Evaluator: e}
	if err := e.circuit.EachRow(ctx, w, d.worker); err != nil {
		return nil, fmt.Errorf("direct evaluation of %s: %w", e.circuit.Name(), err)
	}
	for _, p := range d.parts {
		if err := d.add(p); err != nil {
			return nil, fmt.Errorf("direct evaluation of %s: %w", e.circuit.Name(), err)
		}
	}
	d.inputRows(w)
	return d.exponents(b), nil
}

// Proof multiplies the generators.
func (e *Exponents) Proof() *Proof {
	_, _, p, q := bls12381.Generators()
	return &Proof{A: mulG1(p, e.A), B: mulG2(q, e.B), C: mulG1(p, e.C)}
}

// direct is the state of one evaluation.
type direct struct {
	*Evaluator
	parts []*directPart
	directPart
}

// directPart is what one goroutine adds up.
type directPart struct {
	sum    [3]fr.Element // a, b, c
	inputs [3]fr.Element // the same of the public inputs alone
	bad    *r1cs.Unsatisfied
}

// worker makes the part of a goroutine; it is called before any runs.
func (d *direct) worker() func(row int, v, inputs *[3]fr.Element) {
	p := &directPart{}
	d.parts = append(d.parts, p)
	return func(row int, v, inputs *[3]fr.Element) {
		var x fr.Element
		if x.Mul(&v[0], &v[1]); x != v[2] && (p.bad == nil || row < p.bad.Row) {
			p.bad = &r1cs.Unsatisfied{Row: row, A: v[0], B: v[1], C: v[2]}
		}
		for m := range v {
			addMultiple(&p.sum[m], &v[m], &d.basis[row])
			addMultiple(&p.inputs[m], &inputs[m], &d.basis[row])
		}
	}
}

// addMultiple adds k times x to s; k is mostly zero or one.
func addMultiple(s, k, x *fr.Element) {
	switch {
	case k.IsZero():
	case k.IsOne():
		s.Add(s, x)
	default:
		var p fr.Element
		s.Add(s, p.Mul(k, x))
	}
}

// add takes a goroutine's part over.
func (d *direct) add(p *directPart) error {
	if p.bad != nil {
		return fmt.Errorf("row %d is not satisfied: %s * %s != %s", p.bad.Row, p.bad.A.String(), p.bad.B.String(), p.bad.C.String())
	}
	for m := range d.sum {
		d.sum[m].Add(&d.sum[m], &p.sum[m])
		d.inputs[m].Add(&d.inputs[m], &p.inputs[m])
	}
	return nil
}

// inputRows adds the rows that Groth16 appends: input i in A.
func (d *direct) inputRows(w *r1cs.Assignment) {
	for i := range w.Inputs {
		basis := &d.basis[d.counts.Rows+i]
		addMultiple(&d.sum[0], &w.Inputs[i], basis)
		addMultiple(&d.inputs[0], &w.Inputs[i], basis)
	}
}

// exponents is the formula of Exponents.
func (d *direct) exponents(b *Blinding) *Exponents {
	s := d.secrets
	e := &Exponents{}
	var p fr.Element
	e.A.Add(e.A.Add(&s.Alpha, &d.sum[0]), p.Mul(&b.R, &s.Delta))
	e.B.Add(e.B.Add(&s.Beta, &d.sum[1]), p.Mul(&b.S, &s.Delta))

	e.C.Sub(e.C.Mul(&d.sum[0], &d.sum[1]), &d.sum[2]) // H
	l := d.key(&d.sum)
	inputs := d.key(&d.inputs) // what the verifier adds is not in C
	e.C.Add(&e.C, l.Sub(&l, &inputs))
	e.C.Div(&e.C, &s.Delta)
	e.C.Add(&e.C, p.Mul(&b.S, &e.A))
	e.C.Add(&e.C, p.Mul(&b.R, &e.B))
	e.C.Sub(&e.C, p.Mul(p.Mul(&b.R, &b.S), &s.Delta))
	return e
}

// key is beta·a + alpha·b + c.
func (d *direct) key(x *[3]fr.Element) (k fr.Element) {
	var p fr.Element
	k.Add(&x[2], p.Mul(&d.secrets.Beta, &x[0]))
	k.Add(&k, p.Mul(&d.secrets.Alpha, &x[1]))
	return k
}
