package uint32

import (
	"cmp"
	"slices"

	"cuzk/gadget/boolean"
	"cuzk/gadget/num"
	"cuzk/r1cs"
)

// MultiEq collects equalities of small numbers and enforces several with one
// row, each moved up by the bits of those before it. A row is emitted only when
// the next equality would not fit, or at [MultiEq.Flush], so that it stands
// among the rows of what was allocated meanwhile.
type MultiEq struct {
	s        r1cs.System
	used     int // bits of the equalities so far
	lhs, rhs []r1cs.Term
}

// NewMultiEq starts with nothing collected.
func NewMultiEq(s r1cs.System) *MultiEq { return &MultiEq{s: s} }

// equal adds Σ words = Σ 2^k·sum_k, both below 2^len(sum).
func (m *MultiEq) equal(words []Word, sum []boolean.Bit) {
	if m.used+len(sum) >= num.CapacityBits {
		m.Flush()
	}
	for i := range words {
		m.lhs = appendBits(m.lhs, m.used, words[i][:])
	}
	m.rhs = appendBits(m.rhs, m.used, sum)
	m.used += len(sum)
}

// appendBits appends the terms of Σ 2^(shift+k)·bits_k, unsorted.
func appendBits(terms []r1cs.Term, shift int, bits []boolean.Bit) []r1cs.Term {
	for k, b := range bits {
		c := num.Power(shift + k)
		switch b.Form() {
		case boolean.True:
			terms = append(terms, r1cs.Term{Var: r1cs.One, Coef: c})
		case boolean.IsVar:
			terms = append(terms, r1cs.Term{Var: b.Var(), Coef: c})
		case boolean.NotVar:
			terms = append(terms, r1cs.Term{Var: r1cs.One, Coef: c})
			c.Neg(&c)
			terms = append(terms, r1cs.Term{Var: b.Var(), Coef: c})
		}
	}
	return terms
}

// Flush enforces what is collected, lhs·1 = rhs, and starts anew. It must be
// called at the end of the gadget.
func (m *MultiEq) Flush() {
	if m.used == 0 {
		return
	}
	m.s.Enforce(combine(m.lhs), r1cs.V(r1cs.One), combine(m.rhs))
	m.used, m.lhs, m.rhs = 0, nil, nil
}

// combine sorts terms and adds those of one variable.
func combine(terms []r1cs.Term) r1cs.LC {
	slices.SortStableFunc(terms, func(a, b r1cs.Term) int { return cmp.Compare(a.Var, b.Var) })
	out := terms[:0]
	for _, t := range terms {
		if n := len(out); n > 0 && out[n-1].Var == t.Var {
			out[n-1].Coef.Add(&out[n-1].Coef, &t.Coef)
		} else {
			out = append(out, t)
		}
	}
	return r1cs.LC(out)
}
