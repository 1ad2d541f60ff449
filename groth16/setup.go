package groth16

import (
	"context"
	"fmt"
	"math/big"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/backend"
	"cuzk/internal/affine"
	"cuzk/r1cs"
	"cuzk/srs"
)

// Sink takes the points of a key in file order: h, l, a and b of G1, then b of
// G2. [srs.Writer] is one.
type Sink interface {
	G1(points []bls12381.G1Affine) error
	G2(points []bls12381.G2Affine) error
}

// Sections of a setup as progress names them, in order. The first counts rows,
// the others points.
const (
	SectionRows = "rows"
	SectionH    = "h"
	SectionL    = "l"
	SectionA    = "a"
	SectionB1   = "b_g1"
	SectionB2   = "b_g2"
)

// Setup makes the key of a circuit from known secrets, byte for byte the one
// that bellperson makes from them (generator.rs). open is called once, when the
// verifying key is known, with the lengths of the lists that follow; Setup
// then feeds the sink. progress may be nil; it is called from one goroutine at
// a time with how many of a section's rows or points are done.
//
// With A_v, B_v, C_v the polynomials of variable v at tau and m the domain:
//
//	h_i = tau^i·(tau^m - 1)/delta            i = 0 .. m-2
//	l_v = (beta·A_v + alpha·B_v + C_v)/delta  every aux
//	ic_v = the same over gamma                every input
//	a_v = A_v, b_v = B_v                      where v occurs in the matrix
//
// all times the generators. Memory: four field elements a variable or row, and
// tables of multiples of the generators, at most 300 MiB.
func Setup(ctx context.Context, circuit *r1cs.Compiled, secrets *Secrets, open func(*srs.VerifyingKey, srs.Shape) (Sink, error), progress func(section string, done, total int)) error {
	if progress == nil {
		progress = func(string, int, int) {}
	}
	g := &generator{secrets: secrets, progress: progress}
	err := g.polynomials(ctx, circuit)
	if err == nil {
		err = g.write(ctx, open)
	}
	if err != nil {
		return fmt.Errorf("setup of %s: %w", circuit.Name(), err)
	}
	return nil
}

// generator is the state of one setup. Variables are numbered inputs first,
// then aux.
type generator struct {
	secrets  *Secrets
	progress func(string, int, int)
	layout   *backend.Layout
	lagrange *lagrange

	a, b []fr.Element // A_v and B_v of the variables with a point, in file order
	k    []fr.Element // ic_v of the inputs, then l_v of the aux, as exponents

	g1 affine.Table[bls12381.G1Affine]
	g2 affine.Table[bls12381.G2Affine]
}

// polynomials fills a, b and k.
func (g *generator) polynomials(ctx context.Context, circuit *r1cs.Compiled) (err error) {
	if g.layout, err = backend.LayoutOf(circuit); err != nil {
		return err
	}
	if g.lagrange, err = newLagrange(g.secrets.Tau, g.layout.M()); err != nil {
		return err
	}
	n := g.layout.Counts
	at := [3][]fr.Element{}
	for i := range at {
		at[i] = make([]fr.Element, n.Inputs+n.Aux)
	}
	if err := g.walk(ctx, circuit, &at); err != nil {
		return err
	}
	if err := g.combine(&at); err != nil {
		return err
	}
	g.k = at[2]
	if g.a, err = compact("A", at[0], n.Inputs, g.layout.A); err != nil {
		return err
	}
	g.b, err = compact("B", at[1], n.Inputs, g.layout.B)
	return err
}

// checkRows is how many rows pass between looks at the context.
const checkRows = 1 << 14

// walk adds up coefficient times L_j(tau) over all rows j, the per-input rows
// included, for each matrix and variable.
func (g *generator) walk(ctx context.Context, circuit *r1cs.Compiled, at *[3][]fr.Element) error {
	n := g.layout.Counts
	basis := g.lagrange.all(n.Rows + n.Inputs)
	err := circuit.Walk(func(r *r1cs.Row, coefs []fr.Element) error {
		for m, lc := range [3][]r1cs.CTerm{r.A, r.B, r.C} {
			scatter(at[m], lc, n.Inputs, coefs, &basis[r.Index])
		}
		if r.Index%checkRows == 0 {
			g.progress(SectionRows, r.Index, n.Rows)
			return ctx.Err()
		}
		return nil
	})
	for i := range n.Inputs {
		at[0][i].Add(&at[0][i], &basis[n.Rows+i])
	}
	g.progress(SectionRows, n.Rows, n.Rows)
	return err
}

// scatter adds coefficient times x to the place of each variable.
func scatter(at []fr.Element, lc []r1cs.CTerm, inputs int, coefs []fr.Element, x *fr.Element) {
	var p fr.Element
	for _, t := range lc {
		v := t.Var.Index()
		if t.Var.Class() == r1cs.ClassAux {
			v += inputs
		}
		switch t.Coef {
		case r1cs.CoefOne:
			at[v].Add(&at[v], x)
		case r1cs.CoefMinusOne:
			at[v].Sub(&at[v], x)
		default:
			p.Mul(&coefs[t.Coef], x)
			at[v].Add(&at[v], &p)
		}
	}
}

// combine turns the C_v into the exponents of ic and l.
func (g *generator) combine(at *[3][]fr.Element) error {
	n := g.layout.Counts.Inputs
	var gammaInv, deltaInv, p fr.Element
	gammaInv.Inverse(&g.secrets.Gamma)
	deltaInv.Inverse(&g.secrets.Delta)
	if gammaInv.IsZero() || deltaInv.IsZero() {
		return fmt.Errorf("gamma or delta is zero: choose other secrets")
	}
	a, b, k := at[0], at[1], at[2]
	for v := range k {
		k[v].Add(&k[v], p.Mul(&g.secrets.Beta, &a[v]))
		k[v].Add(&k[v], p.Mul(&g.secrets.Alpha, &b[v]))
		if k[v].IsZero() {
			return fmt.Errorf("variable %d is in no row, or its polynomials vanish at tau", v)
		}
		if v < n {
			k[v].Mul(&k[v], &gammaInv)
		} else {
			k[v].Mul(&k[v], &deltaInv)
		}
	}
	return nil
}

// compact moves the values of the variables with a point together. What the
// density says must be what the rows gave.
func compact(matrix string, x []fr.Element, inputs int, d r1cs.Density) ([]fr.Element, error) {
	n := 0
	for v := range x {
		dense := v < inputs && d.Inputs.Has(v) || v >= inputs && d.Aux.Has(v-inputs)
		if dense == x[v].IsZero() {
			return nil, fmt.Errorf("variable %d: %s at tau is %s, but its density is %t", v, matrix, x[v].String(), dense)
		}
		if dense {
			x[n] = x[v]
			n++
		}
	}
	return x[:n], nil
}

// write multiplies the generators and feeds the sink.
func (g *generator) write(ctx context.Context, open func(*srs.VerifyingKey, srs.Shape) (Sink, error)) error {
	s := g.layout.Shape
	_, _, p, q := bls12381.Generators()
	g.g1 = affine.G1.NewTable(p, affine.WindowFor(s.H+s.L+s.A+s.B+s.Inputs))
	g.g2 = affine.G2.NewTable(q, affine.WindowFor(s.B))
	sink, err := open(g.verifyingKey(), s)
	if err != nil {
		return err
	}
	aux := g.k[s.Inputs:]
	for _, list := range []struct {
		name    string
		n       int
		scalars func(from, n int) []fr.Element
	}{
		{SectionH, s.H, g.powers},
		{SectionL, s.L, func(from, n int) []fr.Element { return aux[from : from+n] }},
		{SectionA, s.A, func(from, n int) []fr.Element { return g.a[from : from+n] }},
		{SectionB1, s.B, func(from, n int) []fr.Element { return g.b[from : from+n] }},
	} {
		l := section[bls12381.G1Affine]{list.name, list.n, list.scalars, g.g1.Mul, sink.G1}
		if err := l.write(ctx, g.progress); err != nil {
			return err
		}
	}
	b2 := section[bls12381.G2Affine]{SectionB2, s.B, func(from, n int) []fr.Element { return g.b[from : from+n] }, g.g2.Mul, sink.G2}
	return b2.write(ctx, g.progress)
}

// powers is the exponents of h from number from on.
func (g *generator) powers(from, n int) []fr.Element {
	out := make([]fr.Element, n)
	var x fr.Element
	x.Exp(g.secrets.Tau, big.NewInt(int64(from)))
	x.Mul(&x, &g.lagrange.vanish)
	x.Div(&x, &g.secrets.Delta)
	for i := range out {
		out[i] = x
		x.Mul(&x, &g.secrets.Tau)
	}
	return out
}

func (g *generator) verifyingKey() *srs.VerifyingKey {
	s := g.secrets
	g1 := make([]bls12381.G1Affine, 3)
	g.g1.Mul(g1, []fr.Element{s.Alpha, s.Beta, s.Delta})
	g2 := make([]bls12381.G2Affine, 3)
	g.g2.Mul(g2, []fr.Element{s.Beta, s.Gamma, s.Delta})
	vk := &srs.VerifyingKey{
		AlphaG1: g1[0], BetaG1: g1[1], DeltaG1: g1[2],
		BetaG2: g2[0], GammaG2: g2[1], DeltaG2: g2[2],
		IC: make([]bls12381.G1Affine, g.layout.Shape.Inputs),
	}
	g.g1.Mul(vk.IC, g.k[:len(vk.IC)])
	return vk
}

// section is one list of points of one group.
type section[P any] struct {
	name    string
	n       int
	scalars func(from, n int) []fr.Element
	mul     func([]P, []fr.Element)
	put     func([]P) error
}

// blockPoints is what one goroutine multiplies at a time.
const blockPoints = 1 << 13

// write makes blocks on all cores; the sink takes one while the next is made.
func (s *section[P]) write(parent context.Context, progress func(string, int, int)) error {
	g, ctx := errgroup.WithContext(parent)
	blocks := make(chan []P)
	g.Go(func() error {
		defer close(blocks)
		step := blockPoints * runtime.GOMAXPROCS(0)
		for from := 0; from < s.n; from += step {
			if ctx.Err() != nil {
				return ctx.Err() // select would toss a coin
			}
			select {
			case blocks <- s.block(from, min(step, s.n-from)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	g.Go(func() error {
		done := 0
		for b := range blocks {
			if err := s.put(b); err != nil {
				return fmt.Errorf("section %s: %w", s.name, err)
			}
			done += len(b)
			progress(s.name, done, s.n)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return err
	}
	return parent.Err()
}

// block is the points from to from+n-1.
func (s *section[P]) block(from, n int) []P {
	out := make([]P, n)
	var wg sync.WaitGroup
	for at := 0; at < n; at += blockPoints {
		wg.Go(func() {
			part := out[at:min(at+blockPoints, n)]
			s.mul(part, s.scalars(from+at, len(part)))
		})
	}
	wg.Wait()
	return out
}
