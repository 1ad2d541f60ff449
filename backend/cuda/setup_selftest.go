package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	"cuzk/r1cs"
	"cuzk/srs"
)

// probeSecrets are the secrets of the self-test's keys.
var probeSecrets = Secrets{Alpha: fr.NewElement(11), Beta: fr.NewElement(13), Gamma: fr.NewElement(17), Delta: fr.NewElement(19), Tau: fr.NewElement(1 << 40)}

// testFile makes a key in the form of a file and compares every point with the
// exponent that the definition gives.
func testFile(ctx context.Context, b *Backend) error {
	circuit, err := r1cs.Compile(probe{})
	if err != nil {
		return err
	}
	return checkFile(circuit, func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error)) error {
		return b.SetupFile(ctx, circuit, &probeSecrets, open, nil)
	})
}

// pointBytes is a sink that keeps everything.
type pointBytes struct{ bytes.Buffer }

// Raw implements RawSink.
func (p *pointBytes) Raw(points []byte) error { p.Write(points); return nil }

// checkFile runs a maker of the probe's key.
func checkFile(circuit *r1cs.Compiled, run func(open func(*srs.VerifyingKey, srs.Shape) (RawSink, error)) error) error {
	var got pointBytes
	if err := run(func(*srs.VerifyingKey, srs.Shape) (RawSink, error) { return &got, nil }); err != nil {
		return err
	}
	want, err := probeFile(circuit, &probeSecrets)
	if err != nil {
		return err
	}
	if !bytes.Equal(got.Bytes(), want) {
		return errors.New("points of a key file differ from their exponents")
	}
	return nil
}

// probeFile is the points of a key file by the definition.
func probeFile(circuit *r1cs.Compiled, s *Secrets) (out []byte, err error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	at, vanish, err := probePolynomials(circuit, layout, s)
	if err != nil {
		return nil, err
	}
	var lists [4][]fr.Element // h, l, a, b
	power := vanish
	for range layout.Shape.H {
		lists[0] = append(lists[0], power)
		power.Mul(&power, &s.Tau)
	}
	inputs := layout.Counts.Inputs
	for v := range at {
		a, b, c := at[v][0], at[v][1], at[v][2]
		var l, t fr.Element
		l.Add(&c, t.Mul(&s.Beta, &a))
		l.Add(&l, t.Mul(&s.Alpha, &b)).Div(&l, &s.Delta)
		if v >= inputs {
			lists[1] = append(lists[1], l)
		}
		if !a.IsZero() {
			lists[2] = append(lists[2], a)
		}
		if !b.IsZero() {
			lists[3] = append(lists[3], b)
		}
	}
	_, _, g1, g2 := bls12381.Generators()
	for _, l := range lists {
		for _, p := range bls12381.BatchScalarMultiplicationG1(&g1, l) {
			raw := p.RawBytes()
			out = append(out, raw[:]...)
		}
	}
	for _, p := range bls12381.BatchScalarMultiplicationG2(&g2, lists[3]) {
		raw := p.RawBytes()
		out = append(out, raw[:]...)
	}
	return out, nil
}

// probePolynomials are A_v, B_v, C_v at tau, inputs first, and the exponent of the
// first point of h. Each is a sum over the rows of an assignment in which v alone
// is one.
func probePolynomials(circuit *r1cs.Compiled, layout *backend.Layout, s *Secrets) (at [][3]fr.Element, first fr.Element, err error) {
	program, err := circuit.Program()
	if err != nil {
		return nil, first, err
	}
	n, m := layout.Counts, layout.M()
	basis, first, err := probeBasis(m, s)
	if err != nil {
		return nil, first, err
	}
	at = make([][3]fr.Element, n.Inputs+n.Aux)
	for v := range at {
		w := r1cs.NewAssignment(n)
		w.Inputs[0].SetZero()
		if err := setOne(circuit, w, v); err != nil {
			return nil, first, err
		}
		var rows [3][]fr.Element
		for k := range rows {
			rows[k] = make([]fr.Element, m)
		}
		program.Evaluate(w, &rows)
		copy(rows[0][n.Rows:], w.Inputs)
		for k := range rows {
			values := fr.Vector(rows[k])
			at[v][k] = values.InnerProduct(basis)
		}
	}
	return at, first, nil
}

// setOne sets variable v, inputs first, to one.
func setOne(circuit *r1cs.Compiled, w *r1cs.Assignment, v int) error {
	if v < len(w.Inputs) {
		w.Inputs[v].SetOne()
		return nil
	}
	i, bit, err := circuit.Locate(v - len(w.Inputs))
	switch {
	case err != nil:
		return fmt.Errorf("variable %d: %w", v, err)
	case bit:
		w.Bits[i/64] |= 1 << (i % 64)
	default:
		w.Elements[i].SetOne()
	}
	return nil
}

// probeBasis is the Lagrange basis of m points at tau, one division each, and
// (tau^m - 1)/delta.
func probeBasis(m int, s *Secrets) (basis fr.Vector, first fr.Element, err error) {
	omega, err := fr.Generator(uint64(m))
	if err != nil {
		return nil, first, err
	}
	var vanish, root, x, size fr.Element
	one := fr.One()
	vanish.Exp(s.Tau, big.NewInt(int64(m)))
	vanish.Sub(&vanish, &one)
	size.SetUint64(uint64(m))
	root.SetOne()
	basis = make(fr.Vector, m)
	for j := range basis {
		x.Sub(&s.Tau, &root)
		x.Mul(&x, &size)
		basis[j].Mul(&vanish, &root).Div(&basis[j], &x)
		root.Mul(&root, &omega)
	}
	return basis, *first.Div(&vanish, &s.Delta), nil
}
