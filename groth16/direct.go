package groth16

import (
	"context"
	"fmt"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
)

// Exponents are a proof as multiples of the generators.
type Exponents struct{ A, B, C fr.Element }

// Direct computes, with the secrets of a key, what proof the assignment has to
// give with blinding b: no key, no sums over points, no transforms. It is the
// other way to the same proof that provers are checked against, at any size:
// rows are walked once and nothing but the assignment is held.
//
// With a = Σ_v A_v·w_v and so on, all at tau:
//
//	A = alpha + r·delta + a
//	B = beta + s·delta + b
//	C = (a·b - c)/delta + (beta·a + alpha·b + c - Σ over inputs)/delta + s·A + r·B - r·s·delta
//
// An error is returned for a row that is not satisfied.
func Direct(ctx context.Context, circuit *r1cs.Compiled, secrets *Secrets, w *r1cs.Assignment, b *Blinding) (*Exponents, error) {
	if err := circuit.Fits(w); err != nil {
		return nil, err
	}
	d, err := newDirect(circuit, secrets, w)
	if err != nil {
		return nil, fmt.Errorf("direct evaluation of %s: %w", circuit.Name(), err)
	}
	if err := circuit.Walk(func(r *r1cs.Row, coefs []fr.Element) error { return d.row(ctx, r, coefs) }); err != nil {
		return nil, fmt.Errorf("direct evaluation of %s: %w", circuit.Name(), err)
	}
	d.inputRows()
	return d.exponents(b), nil
}

// Proof multiplies the generators.
func (e *Exponents) Proof() *Proof {
	_, _, p, q := bls12381.Generators()
	return &Proof{A: mulG1(p, e.A), B: mulG2(q, e.B), C: mulG1(p, e.C)}
}

// basisBlock is how many values of the Lagrange basis are made at a time.
const basisBlock = 1 << 12

// direct is the state of one evaluation.
type direct struct {
	secrets  *Secrets
	w        *r1cs.Assignment
	counts   r1cs.Counts
	values   *auxReader
	lagrange *lagrange
	basis    []fr.Element // values from row first on
	first    int

	sum    [3]fr.Element   // a, b, c
	inputs [3][]fr.Element // A_v, B_v, C_v of the inputs
}

func newDirect(circuit *r1cs.Compiled, secrets *Secrets, w *r1cs.Assignment) (*direct, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	d := &direct{secrets: secrets, w: w, counts: layout.Counts, values: newAuxReader(w, circuit.BitKinds()),
		basis: make([]fr.Element, basisBlock), first: -basisBlock}
	for m := range d.inputs {
		d.inputs[m] = make([]fr.Element, d.counts.Inputs)
	}
	d.lagrange, err = newLagrange(secrets.Tau, layout.M())
	return d, err
}

// at is L_j(tau).
func (d *direct) at(j int) *fr.Element {
	if j-d.first >= basisBlock {
		d.first = j
		d.lagrange.fill(d.basis, j)
	}
	return &d.basis[j-d.first]
}

// row adds what row r gives to the sums.
func (d *direct) row(ctx context.Context, r *r1cs.Row, coefs []fr.Element) error {
	if r.Index%checkRows == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	basis := d.at(r.Index)
	var v [3]fr.Element
	var p fr.Element
	for m, lc := range [3][]r1cs.CTerm{r.A, r.B, r.C} {
		v[m] = d.value(lc, coefs)
		d.sum[m].Add(&d.sum[m], p.Mul(&v[m], basis))
		for _, t := range lc {
			if t.Var.Class() == r1cs.ClassAux {
				break // inputs come first
			}
			x := &d.inputs[m][t.Var.Index()]
			x.Add(x, p.Mul(&coefs[t.Coef], basis))
		}
	}
	if p.Mul(&v[0], &v[1]); p != v[2] {
		return fmt.Errorf("row %d is not satisfied: %s * %s != %s", r.Index, v[0].String(), v[1].String(), v[2].String())
	}
	return nil
}

// inputRows adds the rows that Groth16 appends: input i in A.
func (d *direct) inputRows() {
	var p fr.Element
	for i := range d.w.Inputs {
		basis := d.at(d.counts.Rows + i)
		d.sum[0].Add(&d.sum[0], p.Mul(&d.w.Inputs[i], basis))
		d.inputs[0][i].Add(&d.inputs[0][i], basis)
	}
}

// value is the value of a combination.
func (d *direct) value(lc []r1cs.CTerm, coefs []fr.Element) (s fr.Element) {
	var x fr.Element
	for _, t := range lc {
		if t.Var.Class() == r1cs.ClassAux {
			x = d.values.read(t.Var.Index())
		} else {
			x = d.w.Inputs[t.Var.Index()]
		}
		s.Add(&s, x.Mul(&x, &coefs[t.Coef]))
	}
	return s
}

// exponents is the formula of Direct.
func (d *direct) exponents(b *Blinding) *Exponents {
	s := d.secrets
	e := &Exponents{}
	var p, inputs fr.Element
	for i := range d.w.Inputs { // what the verifier adds is not in C
		k := d.key(&d.inputs[0][i], &d.inputs[1][i], &d.inputs[2][i])
		inputs.Add(&inputs, p.Mul(&k, &d.w.Inputs[i]))
	}
	e.A.Add(e.A.Add(&s.Alpha, &d.sum[0]), p.Mul(&b.R, &s.Delta))
	e.B.Add(e.B.Add(&s.Beta, &d.sum[1]), p.Mul(&b.S, &s.Delta))

	e.C.Sub(e.C.Mul(&d.sum[0], &d.sum[1]), &d.sum[2]) // H
	l := d.key(&d.sum[0], &d.sum[1], &d.sum[2])
	e.C.Add(&e.C, l.Sub(&l, &inputs))
	e.C.Div(&e.C, &s.Delta)
	e.C.Add(&e.C, p.Mul(&b.S, &e.A))
	e.C.Add(&e.C, p.Mul(&b.R, &e.B))
	e.C.Sub(&e.C, p.Mul(p.Mul(&b.R, &b.S), &s.Delta))
	return e
}

// key is beta·a + alpha·b + c.
func (d *direct) key(a, b, c *fr.Element) (k fr.Element) {
	var p fr.Element
	k.Add(c, p.Mul(&d.secrets.Beta, a))
	k.Add(&k, p.Mul(&d.secrets.Alpha, b))
	return k
}

// auxReader reads aux variables of a compact assignment by number.
type auxReader struct {
	w      *r1cs.Assignment
	kinds  r1cs.Bitset
	before []uint32 // bits in the words of kinds before
}

func newAuxReader(w *r1cs.Assignment, kinds r1cs.Bitset) *auxReader {
	r := &auxReader{w: w, kinds: kinds, before: make([]uint32, len(kinds))}
	n := 0
	for i, word := range kinds {
		r.before[i] = uint32(n)
		n += bits.OnesCount64(word)
	}
	return r
}

func (r *auxReader) read(i int) (x fr.Element) {
	below := r.kinds[i>>6] & (1<<(i&63) - 1)
	bit := int(r.before[i>>6]) + bits.OnesCount64(below)
	switch {
	case !r.kinds.Has(i):
		return r.w.Elements[i-bit]
	case r.w.Bit(bit):
		x.SetOne()
	}
	return x
}
