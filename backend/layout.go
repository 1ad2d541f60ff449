package backend

import (
	"fmt"
	"math/bits"

	"cuzk/r1cs"
	"cuzk/srs"
)

// maxLogDomain is the largest domain that upstream takes; the field's 2-adicity
// is 32, and the coset of the quotient needs one bit more than the domain.
const maxLogDomain = 31

// Layout is how a circuit lies in its key: which variable has a point in which
// query, and the size of the domain (circuits.md B.1 and B.2).
type Layout struct {
	Counts r1cs.Counts  // the circuit's, without the per-input rows
	LogM   int          // the domain has 2^LogM points
	A, B   r1cs.Density // who has a point in a and in b; in A every input
	Shape  srs.Shape    // the lengths of the queries that follow
}

// M is the size of the domain: the smallest power of two that holds the rows
// and one more for each input.
func (l *Layout) M() int { return 1 << l.LogM }

// LayoutOf derives the layout of a circuit. It fails if the circuit is larger
// than any domain.
func LayoutOf(c *r1cs.Compiled) (*Layout, error) {
	n := c.Counts()
	l := &Layout{Counts: n, LogM: bits.Len(uint(n.Rows + n.Inputs - 1)), A: c.DenseA(), B: c.DenseB()}
	if l.LogM > maxLogDomain {
		return nil, fmt.Errorf("circuit %s has %d rows with its inputs, a domain at most 2^%d", c.Name(), n.Rows+n.Inputs, maxLogDomain)
	}
	for i := range n.Inputs { // the per-input rows put every input into A
		l.A.Inputs.Set(i)
	}
	l.Shape = srs.Shape{
		Inputs: n.Inputs,
		H:      l.M() - 1,
		L:      n.Aux,
		A:      l.A.Inputs.Count() + l.A.Aux.Count(),
		B:      l.B.Inputs.Count() + l.B.Aux.Count(),
	}
	return l, nil
}

// CheckKey tells whether a key can be one of the circuit c with this layout:
// every query must have the length that the circuit asks for.
func (l *Layout) CheckKey(c *r1cs.Compiled, k *srs.Key) error {
	if got := k.Shape(); got != l.Shape {
		return fmt.Errorf("key %s is not one of circuit %s: it has the lengths %+v, the circuit needs %+v", k.Path, c.Name(), got, l.Shape)
	}
	return nil
}
