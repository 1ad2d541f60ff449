package conformance

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Reference computes the five elements from their definitions: points one by
// one with double-and-add, the quotient by schoolbook division. It takes time
// quadratic in the circuit.
func Reference(circuit *r1cs.Compiled, key *srs.Key, w *r1cs.Assignment) (*backend.Sums, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	aux := make([]fr.Element, layout.Counts.Aux)
	if err := circuit.AuxValues(w, 0, aux); err != nil {
		return nil, err
	}
	h, err := referenceH(circuit, layout, w)
	if err != nil {
		return nil, err
	}
	b := append(filter(w.Inputs, layout.B.Inputs), filter(aux, layout.B.Aux)...)
	out := &backend.Sums{}
	for _, q := range []struct {
		to      *bls12381.G1Affine
		query   srs.Query
		scalars []fr.Element
	}{
		{&out.H, key.H, h}, {&out.L, key.L, aux}, {&out.B1, key.B1, b},
		{&out.A, key.A, append(filter(w.Inputs, layout.A.Inputs), filter(aux, layout.A.Aux)...)},
	} {
		if *q.to, err = sumG1(q.query, q.scalars); err != nil {
			return nil, err
		}
	}
	out.B2, err = sumG2(key.B2, b)
	return out, err
}

func filter(x []fr.Element, set r1cs.Bitset) (out []fr.Element) {
	for i := range x {
		if set.Has(i) {
			out = append(out, x[i])
		}
	}
	return out
}

// sumG1 is Σ scalars[i]·point i: for each bit from the top, double what is
// there and add the points whose scalar has it.
func sumG1(q srs.Query, scalars []fr.Element) (bls12381.G1Affine, error) {
	points := make([]bls12381.G1Affine, len(scalars))
	if err := q.DecodeG1(points, 0); err != nil {
		return bls12381.G1Affine{}, err
	}
	var sum bls12381.G1Jac
	eachBit(scalars, func() { sum.DoubleAssign() }, func(i int) { sum.AddMixed(&points[i]) })
	return *new(bls12381.G1Affine).FromJacobian(&sum), nil
}

// sumG2 is sumG1 in the other group.
func sumG2(q srs.Query, scalars []fr.Element) (bls12381.G2Affine, error) {
	points := make([]bls12381.G2Affine, len(scalars))
	if err := q.DecodeG2(points, 0); err != nil {
		return bls12381.G2Affine{}, err
	}
	var sum bls12381.G2Jac
	eachBit(scalars, func() { sum.DoubleAssign() }, func(i int) { sum.AddMixed(&points[i]) })
	return *new(bls12381.G2Affine).FromJacobian(&sum), nil
}

func eachBit(scalars []fr.Element, double func(), add func(i int)) {
	xs := make([]*big.Int, len(scalars))
	for i := range scalars {
		xs[i] = scalars[i].BigInt(new(big.Int))
	}
	for bit := fr.Bits - 1; bit >= 0; bit-- {
		double()
		for i, x := range xs {
			if x.Bit(bit) == 1 {
				add(i)
			}
		}
	}
}

// referenceH is the quotient's coefficients.
func referenceH(circuit *r1cs.Compiled, layout *backend.Layout, w *r1cs.Assignment) ([]fr.Element, error) {
	m := layout.M()
	a, b := make([]fr.Element, m), make([]fr.Element, m)
	if err := evaluate(circuit, w, a, b); err != nil {
		return nil, err
	}
	copy(a[layout.Counts.Rows:], w.Inputs)
	c := make([]fr.Element, m)
	for i := range c {
		c[i].Mul(&a[i], &b[i])
	}
	return Quotient(a, b, c)
}

// evaluate computes the row values from the expanded rows.
func evaluate(circuit *r1cs.Compiled, w *r1cs.Assignment, a, b []fr.Element) error {
	aux := make([]fr.Element, w.Aux())
	if err := circuit.AuxValues(w, 0, aux); err != nil {
		return err
	}
	sum := func(lc []r1cs.CTerm, coefs []fr.Element) (s fr.Element) {
		for _, t := range lc {
			x := coefs[t.Coef]
			if t.Var.Class() == r1cs.ClassAux {
				x.Mul(&x, &aux[t.Var.Index()])
			} else {
				x.Mul(&x, &w.Inputs[t.Var.Index()])
			}
			s.Add(&s, &x)
		}
		return s
	}
	return circuit.Walk(func(r *r1cs.Row, coefs []fr.Element) error {
		a[r.Index], b[r.Index] = sum(r.A, coefs), sum(r.B, coefs)
		return nil
	})
}

// Quotient divides A·B - C, given by values on the domain of len(a) points, by
// xᵐ - 1, and returns the m-1 coefficients: schoolbook arithmetic throughout.
func Quotient(a, b, c []fr.Element) ([]fr.Element, error) {
	m := len(a)
	pa, err := interpolate(a)
	if err != nil {
		return nil, err
	}
	pb, err := interpolate(b)
	if err != nil {
		return nil, err
	}
	pc, err := interpolate(c)
	if err != nil {
		return nil, err
	}
	p := make([]fr.Element, 2*m)
	var t fr.Element
	for i := range pa {
		for j := range pb {
			p[i+j].Add(&p[i+j], t.Mul(&pa[i], &pb[j]))
		}
	}
	for i := range pc {
		p[i].Sub(&p[i], &pc[i])
	}
	// Dividing by xᵐ - 1: the upper half is the quotient, and adding it to the
	// lower half must leave no remainder.
	return p[m : 2*m-1], nil
}

// interpolate is the inverse Fourier transform by its definition.
func interpolate(v []fr.Element) ([]fr.Element, error) {
	m := len(v)
	omega, err := fr.Generator(uint64(m))
	if err != nil {
		return nil, err
	}
	omega.Inverse(&omega)
	var size, t fr.Element
	size.SetUint64(uint64(m))
	size.Inverse(&size)
	powers := make([]fr.Element, m)
	powers[0].SetOne()
	for i := 1; i < m; i++ {
		powers[i].Mul(&powers[i-1], &omega)
	}
	out := make([]fr.Element, m)
	for i := range out {
		for j := range v {
			out[i].Add(&out[i], t.Mul(&v[j], &powers[i*j%m]))
		}
		out[i].Mul(&out[i], &size)
	}
	return out, nil
}
