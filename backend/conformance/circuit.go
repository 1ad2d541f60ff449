package conformance

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// Mixed is a circuit with everything that a key can tell apart: several public
// inputs, one of them in matrix B; bits and elements in changing runs; variables
// that occur in A alone, in B alone, in C alone; constants; a gadget called
// twice. The zero value of Seed gives a witness of zeros and ones.
type Mixed struct {
	Inputs int    // public inputs besides One, at least 1
	Groups int    // groups of a few bits and elements
	Seed   uint64 // what the values depend on
}

// Name implements [r1cs.Circuit].
func (c *Mixed) Name() string { return fmt.Sprintf("mixed-%d-%d", c.Inputs, c.Groups) }

// Synthesize implements [r1cs.Circuit].
func (c *Mixed) Synthesize(s r1cs.System) {
	seed := c.Seed
	next := func() (x fr.Element) {
		seed *= 6364136223846793005
		if seed != 0 {
			seed += 1442695040888963407
		}
		x.SetUint64(seed >> 11)
		return *x.Square(&x)
	}
	first := s.AllocInput(next)
	for range c.Inputs - 1 {
		s.AllocInput(next)
	}
	last := s.Alloc(next)
	for k := range c.Groups {
		width := 1 + k%7
		if k == 2 {
			width = 70 // a run of bits longer than a word
		}
		out := s.Call(group(width), []r1cs.Var{last, first})
		last = out[0]
	}
	// The first input stands in B, the last element in A.
	product(s, r1cs.V(last), r1cs.V(first))
	// A variable of A alone.
	zero := s.Alloc(func() fr.Element { return fr.Element{} })
	s.Enforce(r1cs.V(zero), r1cs.Const(fr.NewElement(7)), nil)
}

// group is a gadget of some bits and one number made of them.
type group int

func (g group) Shape() string { return fmt.Sprintf("group-%d", int(g)) }

func (g group) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	one := fr.One()
	number := r1cs.Const(fr.NewElement(5))
	for i := range int(g) {
		b := s.AllocBit(func() bool { x := s.Value(ports[0]); return x.Bits()[0]>>(i%64)&1 == 1 })
		not := r1cs.Const(one).Minus(b)
		s.Enforce(r1cs.V(b), not, nil)
		var weight fr.Element
		weight.SetUint64(1 << (i % 60))
		number = number.Add(weight, b)
	}
	p := product(s, number, r1cs.V(ports[0]))
	q := product(s, r1cs.V(p).Plus(ports[1]), number.Clone())
	product(s, r1cs.V(q), r1cs.V(q)) // only in C
	return []r1cs.Var{q}
}

// product allocates the product of two combinations.
func product(s r1cs.System, a, b r1cs.LC) r1cs.Var {
	p := s.Alloc(func() fr.Element {
		x, y := value(s, a), value(s, b)
		return *x.Mul(&x, &y)
	})
	s.Enforce(a.Clone(), b.Clone(), r1cs.V(p))
	return p
}

func value(s r1cs.System, lc r1cs.LC) (sum fr.Element) {
	for _, t := range lc {
		x := s.Value(t.Var)
		sum.Add(&sum, x.Mul(&x, &t.Coef))
	}
	return sum
}
