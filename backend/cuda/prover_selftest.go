package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/r1cs"
)

// SelfTest proves a small circuit with everything in it on the device, with a key
// made there, and compares the five elements with their values computed from the
// secrets; and it converts points of a key file. Together with [Device.SelfTest] it
// runs every kernel that a proof is made by.
func (b *Backend) SelfTest(ctx context.Context) ([]Check, error) {
	var out []Check
	var errs []error
	for _, c := range []struct {
		name string
		run  func(context.Context, *Backend) error
	}{{"points of a key", testPoints}, {"a key file", testFile}, {"proof of a small circuit", testProof}, {"proof in values", testInValues}} {
		start := time.Now()
		err := c.run(ctx, b)
		out = append(out, Check{Name: c.name, Took: time.Since(start), Err: err})
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	if len(errs) > 0 {
		return out, fmt.Errorf("%w on %s (%s): %w", ErrSelfTest, b.dev.info.Name, b.dev.info.UUID, errors.Join(errs...))
	}
	return out, nil
}

// probe is the circuit of the self-test: bits and elements in turn, combinations
// longer than a slice takes, a gadget in several instances, a bit of B alone. With
// more instances there is a form of its quotient in values.
type probe struct{ more int }

// Name implements [r1cs.Circuit].
func (probe) Name() string { return "probe" }

// Synthesize implements [r1cs.Circuit].
func (p probe) Synthesize(s r1cs.System) {
	var none func() fr.Element
	in := s.AllocInput(none)
	x := s.Alloc(none)
	for k := range 5 + p.more {
		x = s.Call(probeGroup(40*k+3), []r1cs.Var{x, in})[0]
	}
	s.Enforce(r1cs.V(x), r1cs.V(in), r1cs.Const(fr.NewElement(9)))
}

// probeGroup is a gadget of so many bits.
type probeGroup int

// Shape implements [r1cs.Gadget].
func (g probeGroup) Shape() string { return fmt.Sprintf("probe-%d", int(g)) }

// Synthesize implements [r1cs.Gadget].
func (g probeGroup) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	number, weight := r1cs.Const(fr.NewElement(3)), fr.One()
	for i := range int(g) {
		b := s.AllocBit(nil)
		s.Enforce(r1cs.Const(fr.One()).Minus(b), r1cs.V(b), nil)
		number = number.Add(weight, b)
		weight.Double(&weight)
		if i%7 == 3 {
			s.Enforce(r1cs.V(ports[0]).Minus(b), r1cs.V(b).Plus(ports[1]), number.Clone())
		}
	}
	y := s.Alloc(nil)
	s.Enforce(number.Clone(), r1cs.V(ports[0]), r1cs.V(y))
	s.Enforce(r1cs.V(y).Minus(ports[1]), number.Clone(), r1cs.V(y))
	return []r1cs.Var{y}
}

// testProof compares a proof's sums with exponents.
func testProof(ctx context.Context, b *Backend) error {
	return b.testProof(ctx, probe{}, b.opt)
}

// testInValues does it in values, with all rows listed and with fewer.
func testInValues(ctx context.Context, b *Backend) error {
	o := b.opt
	o.Values = ValuesAlways
	few := o
	few.room = 1
	return errors.Join(b.testProof(ctx, probe{more: 1}, o), b.testProof(ctx, probe{more: 1}, few))
}

func (b *Backend) testProof(ctx context.Context, c probe, o Options) error {
	circuit, err := r1cs.Compile(c)
	if err != nil {
		return err
	}
	secrets := &Secrets{Alpha: fr.NewElement(11), Beta: fr.NewElement(13), Gamma: fr.NewElement(17), Delta: fr.NewElement(19), Tau: fr.NewElement(1 << 40)}
	p, _, err := b.setup(ctx, circuit, secrets, o, nil)
	if err != nil {
		return err
	}
	return errors.Join(checkProof(ctx, p, circuit, secrets), p.Close())
}

func checkProof(ctx context.Context, p backend.Prover, circuit *r1cs.Compiled, secrets *Secrets) error {
	w := probeAssignment(circuit.Counts())
	want, err := probeSums(circuit, secrets, w)
	if err != nil {
		return err
	}
	got, err := p.Sums(ctx, []*r1cs.Assignment{w}, nil)
	if err != nil {
		return err
	}
	g := got[0]
	for _, e := range []struct {
		name string
		got  bls12381.G1Affine
		want fr.Element
	}{{"H", g.H, want.h}, {"L", g.L, want.l}, {"A", g.A, want.a}, {"B in G1", g.B1, want.b}} {
		if e.got != *new(bls12381.G1Affine).ScalarMultiplicationBase(e.want.BigInt(new(big.Int))) {
			return fmt.Errorf("sum %s is wrong", e.name)
		}
	}
	if g.B2 != *new(bls12381.G2Affine).ScalarMultiplicationBase(want.b.BigInt(new(big.Int))) {
		return errors.New("sum B in G2 is wrong")
	}
	return nil
}

// probeAssignment has values of many kinds; it satisfies nothing.
func probeAssignment(n r1cs.Counts) *r1cs.Assignment {
	w := r1cs.NewAssignment(n)
	x := fr.NewElement(0x123456789abcdef)
	next := func() fr.Element { return *x.Square(&x) }
	for i := 1; i < n.Inputs; i++ {
		w.Inputs[i] = next()
	}
	for i := range w.Elements {
		w.Elements[i] = next()
	}
	for i := range n.Bits {
		if y := next(); y[0]&1 == 1 {
			w.Bits[i/64] |= 1 << (i % 64)
		}
	}
	return w
}

// exponents are the sums of a proof as multiples of the generators.
type exponents struct{ h, l, a, b fr.Element }

// probeSums computes them by the definition, with the Lagrange basis at tau row by
// row.
func probeSums(circuit *r1cs.Compiled, s *Secrets, w *r1cs.Assignment) (*exponents, error) {
	layout, err := backend.LayoutOf(circuit)
	if err != nil {
		return nil, err
	}
	program, err := circuit.Program()
	if err != nil {
		return nil, err
	}
	n := layout.Counts
	var rows, inputs [3][]fr.Element
	onlyInputs := r1cs.NewAssignment(n)
	copy(onlyInputs.Inputs, w.Inputs)
	for m := range rows {
		rows[m], inputs[m] = make([]fr.Element, layout.M()), make([]fr.Element, layout.M())
	}
	program.Evaluate(w, &rows)
	program.Evaluate(onlyInputs, &inputs)
	copy(rows[0][n.Rows:], w.Inputs)
	copy(inputs[0][n.Rows:], w.Inputs)
	return combineRows(s, &rows, &inputs)
}

// combineRows takes the row values, and those with every aux variable zero.
func combineRows(s *Secrets, rows, inputs *[3][]fr.Element) (*exponents, error) {
	m := uint64(len(rows[0]))
	omega, err := fr.Generator(m)
	if err != nil {
		return nil, err
	}
	var at [3]fr.Element  // a, b, c of the matrices
	var aux [3]fr.Element // the part of the aux variables
	var product, scale, root, t, one fr.Element
	one.SetOne()
	root.SetOne()
	scale.Exp(s.Tau, new(big.Int).SetUint64(m))
	scale.Sub(&scale, &one)
	scale.Div(&scale, t.SetUint64(m))
	for j := range rows[0] {
		var basis fr.Element
		basis.Div(&root, t.Sub(&s.Tau, &root))
		basis.Mul(&basis, &scale)
		for k := range at {
			at[k].Add(&at[k], t.Mul(&rows[k][j], &basis))
			t.Sub(&rows[k][j], &inputs[k][j])
			aux[k].Add(&aux[k], t.Mul(&t, &basis))
		}
		t.Mul(&rows[0][j], &rows[1][j])
		product.Add(&product, t.Mul(&t, &basis))
		root.Mul(&root, &omega)
	}
	e := &exponents{a: at[0], b: at[1]}
	e.h.Sub(e.h.Mul(&at[0], &at[1]), &product).Div(&e.h, &s.Delta)
	e.l.Add(&aux[2], t.Mul(&s.Beta, &aux[0]))
	e.l.Add(&e.l, t.Mul(&s.Alpha, &aux[1])).Div(&e.l, &s.Delta)
	return e, nil
}

// testPoints converts points of both groups as a key file has them.
func testPoints(ctx context.Context, b *Backend) (err error) {
	m, err := b.stand()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	return pointsOn(ctx, m)
}

// pointsOn checks order and form: 70 aux variables of which every third has no
// point and every fifth is a bit.
func pointsOn(ctx context.Context, m machine) (err error) {
	const n = 70
	member, kinds := r1cs.NewBitset(n), r1cs.NewBitset(n)
	scalars := make([]fr.Element, 0, n)
	for i := range n {
		if i%5 == 0 {
			kinds.Set(i)
		}
		if i%3 != 0 {
			member.Set(i)
			scalars = append(scalars, fr.NewElement(uint64(i+1)))
		}
	}
	_, _, g1, g2 := bls12381.Generators()
	p, q := bls12381.BatchScalarMultiplicationG1(&g1, scalars), bls12381.BatchScalarMultiplicationG2(&g2, scalars)
	c := r1cs.Counts{Inputs: 1, Aux: n, Bits: kinds.Count()}
	var raw [2][]byte
	var want [2][2][]byte // by curve: bits, others
	k := 0
	for i := range n {
		if !member.Has(i) {
			continue
		}
		a, b := p[k].RawBytes(), q[k].RawBytes()
		raw[0], raw[1] = append(raw[0], a[:]...), append(raw[1], b[:]...)
		list := 1
		if kinds.Has(i) {
			list = 0
		}
		want[0][list] = encode(want[0][list], p[k].X[:], p[k].Y[:])
		want[1][list] = encode(want[1][list], q[k].X.A0[:], q[k].X.A1[:], q[k].Y.A0[:], q[k].Y.A1[:])
		k++
	}
	who := newMembers(r1cs.Density{Inputs: r1cs.NewBitset(1), Aux: member}, kinds, c)
	for i, cv := range []curve{curveG1, curveG2} {
		if err := placed(ctx, m, cv, raw[i], &who, c, want[i]); err != nil {
			return fmt.Errorf("group %d: %w", i+1, err)
		}
	}
	return nil
}

// placed reads a query and compares both lists.
func placed(ctx context.Context, m machine, cv curve, raw []byte, who *members, n r1cs.Counts, want [2][]byte) (err error) {
	h := &holding{m: m}
	defer func() { err = errors.Join(err, h.free()) }()
	scratch, err := h.alloc(readerBytes(n))
	if err != nil {
		return err
	}
	r, err := newKeyReader(m, scratch, n)
	if err != nil {
		return err
	}
	to := newQuery("self-test", cv, who)
	if err := to.alloc(h); err != nil {
		return err
	}
	source := rawQuery{raw, int(cv.point)}
	if err := r.query(ctx, source, &to, who); err != nil {
		return err
	}
	if err := settle(ctx, m); err != nil {
		return err
	}
	for i, mem := range []gpu.Memory{to.bits.mem, to.others.mem} {
		got := make([]byte, len(want[i]))
		if err := m.do(func(q queue) error { return q.download(got, mem) }); err != nil {
			return err
		}
		if !bytes.Equal(got, want[i]) {
			return fmt.Errorf("list %d differs", i)
		}
	}
	return nil
}
