// Package rtest is the test system of circuits: it keeps every row with the
// gadgets around it, so that a test can change a variable and see which row
// fails first, and it wraps functions as circuits.
package rtest

import (
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// System runs bodies with values and keeps the rows.
type System struct {
	*r1cs.Runner
	rows  [][3]r1cs.LC
	paths []string
	path  []string
}

// New starts a system; input 0 is one.
func New() *System { return &System{Runner: r1cs.NewRunner()} }

// Enforce implements r1cs.System.
func (s *System) Enforce(a, b, c r1cs.LC) {
	s.rows = append(s.rows, [3]r1cs.LC{a, b, c})
	s.paths = append(s.paths, strings.Join(s.path, "/"))
	s.Runner.Enforce(a, b, c)
}

// Call implements r1cs.System.
func (s *System) Call(g r1cs.Gadget, ports []r1cs.Var) []r1cs.Var {
	s.path = append(s.path, g.Shape())
	defer func() { s.path = s.path[:len(s.path)-1] }()
	return g.Synthesize(s, ports)
}

// Unsatisfied is the first row that does not hold with the values as they are
// now, and the gadgets around it; -1 if all hold.
func (s *System) Unsatisfied() (row int, path string) {
	for i, r := range s.rows {
		x, y := s.Eval(r[0]), s.Eval(r[1])
		if x.Mul(&x, &y); x != s.Eval(r[2]) {
			return i, s.paths[i]
		}
	}
	return -1, ""
}

// Tamper adds one to a variable (a bit is flipped), and gives a function that
// restores it.
func (s *System) Tamper(v r1cs.Var) (restore func()) {
	p := &s.Inputs[0]
	if v.Class() == r1cs.ClassAux {
		p = &s.Aux[v.Index()]
	} else {
		p = &s.Inputs[v.Index()]
	}
	old := *p
	var one fr.Element
	one.SetOne()
	if v.Class() == r1cs.ClassAux && s.IsBit.Has(v.Index()) {
		p.Sub(&one, p)
	} else {
		p.Add(p, &one)
	}
	return func() { *p = old }
}

// Func is a circuit made of a function.
type Func struct {
	Title string
	Body  func(r1cs.System)
}

// Name implements r1cs.Circuit.
func (f Func) Name() string { return f.Title }

// Synthesize implements r1cs.Circuit.
func (f Func) Synthesize(s r1cs.System) { f.Body(s) }
