// Package boolean holds the logic gates of the circuits: allocated bits and
// bits that may be negated or constant.
//
// The rows and the order of allocation follow bellpepper-core 0.2
// gadgets/boolean.rs (circuits.md A.2). Constants fold: which case of a gate
// applies depends on which operands are constants or negated, and decides the
// rows, so the order of the cases below is part of the protocol.
package boolean

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

var one, two, minusOne fr.Element

func init() {
	one.SetOne()
	two.SetUint64(2)
	minusOne.Neg(&one)
}

// Alloc allocates a bit a with the row (1 − a)·a = 0.
func Alloc(s r1cs.System, value func() bool) r1cs.Var {
	a := s.AllocBit(value)
	s.Enforce(r1cs.V(r1cs.One).Minus(a), r1cs.V(a), nil)
	return a
}

// xor allocates c = a ⊕ b with the row 2a·b = a + b − c.
func xor(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	c := s.AllocBit(func() bool { return s.Bit(a) != s.Bit(b) })
	s.Enforce(r1cs.LC{{Var: a, Coef: two}}, r1cs.V(b), r1cs.V(a).Plus(b).Minus(c))
	return c
}

// AndVars allocates c = a ∧ b with the row a·b = c.
func AndVars(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	c := s.AllocBit(func() bool { return s.Bit(a) && s.Bit(b) })
	s.Enforce(r1cs.V(a), r1cs.V(b), r1cs.V(c))
	return c
}

// andNot allocates c = a ∧ ¬b with the row a·(1 − b) = c.
func andNot(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	c := s.AllocBit(func() bool { return s.Bit(a) && !s.Bit(b) })
	s.Enforce(r1cs.V(a), r1cs.V(r1cs.One).Minus(b), r1cs.V(c))
	return c
}

// NorVars allocates c = ¬a ∧ ¬b with the row (1 − a)·(1 − b) = c.
func NorVars(s r1cs.System, a, b r1cs.Var) r1cs.Var {
	c := s.AllocBit(func() bool { return !s.Bit(a) && !s.Bit(b) })
	s.Enforce(r1cs.V(r1cs.One).Minus(a), r1cs.V(r1cs.One).Minus(b), r1cs.V(c))
	return c
}

// Bit is a bit as a gate sees it: a variable, a negated variable or a constant.
// The zero value is the constant false.
type Bit struct {
	v    r1cs.Var
	form Form
}

// Form is which of the four a Bit is. It is part of a gadget's shape.
type Form uint8

// The forms of a Bit.
const (
	False Form = iota
	True
	IsVar
	NotVar
)

// Is is the bit v.
func Is(v r1cs.Var) Bit { return Bit{v, IsVar} }

// Const is a constant.
func Const(b bool) Bit {
	if b {
		return Bit{form: True}
	}
	return Bit{}
}

// Of makes a bit of a form; v matters for IsVar and NotVar alone.
func Of(f Form, v r1cs.Var) Bit {
	if f < IsVar {
		v = 0
	}
	return Bit{v, f}
}

// Form tells the bit's form.
func (b Bit) Form() Form { return b.form }

// Var is the variable under the bit; only of IsVar and NotVar.
func (b Bit) Var() r1cs.Var { return b.v }

// IsConst tells whether the bit is a constant.
func (b Bit) IsConst() bool { return b.form < IsVar }

// Not is the negation; nothing is allocated.
func (b Bit) Not() Bit { b.form ^= 1; return b }

// Value reads the bit; only inside a value function.
func (b Bit) Value(s r1cs.System) bool {
	if b.IsConst() {
		return b.form == True
	}
	return s.Bit(b.v) != (b.form == NotVar)
}

// AddTo returns lc + c·b.
func (b Bit) AddTo(lc r1cs.LC, c fr.Element) r1cs.LC {
	switch b.form {
	case True:
		return lc.Add(c, r1cs.One)
	case IsVar:
		return lc.Add(c, b.v)
	case NotVar:
		var m fr.Element
		m.Neg(&c)
		return lc.Add(c, r1cs.One).Add(m, b.v)
	}
	return lc
}

// LC is the combination 1·b.
func (b Bit) LC() r1cs.LC { return b.AddTo(nil, one) }

// Xor is a ⊕ b: constants fold; of one plain and one negated operand the plain
// one stands first and the result is negated.
func Xor(s r1cs.System, a, b Bit) Bit {
	switch {
	case a.form == False:
		return b
	case b.form == False:
		return a
	case a.form == True:
		return b.Not()
	case b.form == True:
		return a.Not()
	case a.form == b.form:
		return Is(xor(s, a.v, b.v))
	case a.form == NotVar:
		a, b = b, a
	}
	return Is(xor(s, a.v, b.v)).Not()
}

// And is a ∧ b.
func And(s r1cs.System, a, b Bit) Bit {
	switch {
	case a.form == False || b.form == False:
		return Bit{}
	case a.form == True:
		return b
	case b.form == True:
		return a
	case a.form == IsVar && b.form == NotVar:
		return Is(andNot(s, a.v, b.v))
	case a.form == NotVar && b.form == IsVar:
		return Is(andNot(s, b.v, a.v))
	case a.form == NotVar:
		return Is(NorVars(s, a.v, b.v))
	}
	return Is(AndVars(s, a.v, b.v))
}

// Ch is SHA-256's choice (a ∧ b) ⊕ (¬a ∧ c). In general it allocates ch with
// the row (b − c)·a = ch − c.
func Ch(s r1cs.System, a, b, c Bit) Bit {
	switch {
	case a.IsConst() && b.IsConst() && c.IsConst():
		if a.form == True {
			return b
		}
		return c
	case a.form == False:
		return c
	case b.form == False:
		return And(s, a.Not(), c)
	case c.form == False:
		return And(s, a, b)
	case c.form == True:
		return And(s, a, b.Not()).Not()
	case b.form == True:
		return And(s, a.Not(), c.Not()).Not()
	}
	ch := s.AllocBit(func() bool {
		if a.Value(s) {
			return b.Value(s)
		}
		return c.Value(s)
	})
	s.Enforce(c.AddTo(b.LC(), minusOne), a.LC(), c.AddTo(r1cs.V(ch), minusOne))
	return Is(ch)
}

// Maj is SHA-256's majority. In general it allocates maj first, then
// bc = b ∧ c, with the rows of that gate and (2bc − b − c)·a = bc − maj.
func Maj(s r1cs.System, a, b, c Bit) Bit {
	switch {
	case a.IsConst() && b.IsConst() && c.IsConst():
		return Const(majority(a.form == True, b.form == True, c.form == True))
	case a.form == False:
		return And(s, b, c)
	case b.form == False:
		return And(s, a, c)
	case c.form == False:
		return And(s, a, b)
	case c.form == True:
		return And(s, a.Not(), b.Not()).Not()
	case b.form == True:
		return And(s, a.Not(), c.Not()).Not()
	case a.form == True:
		return And(s, b.Not(), c.Not()).Not()
	}
	maj := s.AllocBit(func() bool { return majority(a.Value(s), b.Value(s), c.Value(s)) })
	bc := And(s, b, c)
	s.Enforce(c.AddTo(b.AddTo(bc.AddTo(nil, two), minusOne), minusOne), a.LC(), bc.LC().Minus(maj))
	return Is(maj)
}

func majority(a, b, c bool) bool { return a && b || a && c || b && c }
