package boolean

import (
	"fmt"
	"testing"

	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

// gateCase is a gate with its truth table and what it allocates, written down
// from the reference's cases (circuits.md A.2).
type gateCase struct {
	name  string
	arity int
	run   func(s r1cs.System, in []Bit) Bit
	truth func(v []bool) bool
	// result is the form of the result and the number of variables for operands
	// that are not all constant.
	result func(f []Form) (Form, int)
}

func isConst(f Form) bool { return f == False || f == True }

func and(f, g Form) (Form, int) {
	switch {
	case f == False || g == False:
		return False, 0
	case f == True:
		return g, 0
	case g == True:
		return f, 0
	}
	return IsVar, 1
}

func inverted(f Form, n int) (Form, int) { return f ^ 1, n }

var gateCases = []gateCase{
	{"xor", 2,
		func(s r1cs.System, in []Bit) Bit { return Xor(s, in[0], in[1]) },
		func(v []bool) bool { return v[0] != v[1] },
		func(f []Form) (Form, int) {
			switch {
			case isConst(f[0]):
				return f[1] ^ f[0], 0 // True is 1: it inverts
			case isConst(f[1]):
				return f[0] ^ f[1], 0
			case f[0] == f[1]:
				return IsVar, 1
			}
			return NotVar, 1
		}},
	{"and", 2,
		func(s r1cs.System, in []Bit) Bit { return And(s, in[0], in[1]) },
		func(v []bool) bool { return v[0] && v[1] },
		func(f []Form) (Form, int) { return and(f[0], f[1]) }},
	{"ch", 3,
		func(s r1cs.System, in []Bit) Bit { return Ch(s, in[0], in[1], in[2]) },
		func(v []bool) bool {
			if v[0] {
				return v[1]
			}
			return v[2]
		},
		func(f []Form) (Form, int) {
			a, b, c := f[0], f[1], f[2]
			switch {
			case a == False:
				return c, 0
			case b == False:
				return and(a^1, c)
			case c == False:
				return and(a, b)
			case c == True:
				return inverted(and(a, b^1))
			case b == True:
				return inverted(and(a^1, c^1))
			}
			return IsVar, 1
		}},
	{"maj", 3,
		func(s r1cs.System, in []Bit) Bit { return Maj(s, in[0], in[1], in[2]) },
		func(v []bool) bool { return majority(v[0], v[1], v[2]) },
		func(f []Form) (Form, int) {
			a, b, c := f[0], f[1], f[2]
			switch {
			case a == False:
				return and(b, c)
			case b == False:
				return and(a, c)
			case c == False:
				return and(a, b)
			case c == True:
				return inverted(and(a^1, b^1))
			case b == True:
				return inverted(and(a^1, c^1))
			case a == True:
				return inverted(and(b^1, c^1))
			}
			return IsVar, 2
		}},
}

// TestGates runs every gate on every combination of forms and values: the
// result's value, its form, the number of variables, the rows; and a changed
// result must be seen.
func TestGates(t *testing.T) {
	for _, g := range gateCases {
		for code := range 1 << (3 * g.arity) { // 2 bits of form, 1 of value
			forms, values := make([]Form, g.arity), make([]bool, g.arity)
			for i := range forms {
				forms[i] = Form(code >> (3 * i) & 3)
				values[i] = code>>(3*i+2)&1 == 1
				if isConst(forms[i]) {
					values[i] = forms[i] == True
				}
			}
			t.Run(fmt.Sprint(g.name, forms, values), func(t *testing.T) { g.check(t, forms, values) })
		}
	}
}

func (g gateCase) check(t *testing.T, forms []Form, values []bool) {
	s := rtest.New()
	in, constant := make([]Bit, g.arity), true
	for i, f := range forms {
		in[i] = Const(values[i])
		if !isConst(f) {
			constant = false
			in[i] = Of(f, Alloc(s, func() bool { return values[i] != (f == NotVar) }))
		}
	}
	vars, rows := len(s.Aux), s.Rows
	out := g.run(s, in)
	if got, want := out.Value(s), g.truth(values); got != want {
		t.Errorf("value %v, want %v", got, want)
	}
	wantForm, wantVars := False, 0
	if constant && g.truth(values) {
		wantForm = True
	} else if !constant {
		wantForm, wantVars = g.result(forms)
	}
	if n := len(s.Aux) - vars; out.Form() != wantForm || n != wantVars || s.Rows-rows != n {
		t.Errorf("form %d, %d variables, %d rows; want %d, %d, %d", out.Form(), n, s.Rows-rows, wantForm, wantVars, wantVars)
	}
	if row, _ := s.Unsatisfied(); row >= 0 {
		t.Errorf("row %d does not hold", row)
	}
	if wantVars > 0 {
		s.Tamper(out.Var())
		if row, _ := s.Unsatisfied(); row < rows {
			t.Errorf("the result changed: row %d fails, want one of the gate's, from %d", row, rows)
		}
	}
}

// TestMajorityComesFirst pins the order of the two variables of a majority.
func TestMajorityComesFirst(t *testing.T) {
	s := r1cs.NewRunner()
	b := func(v bool) Bit { return Is(Alloc(s, func() bool { return v })) }
	out := Maj(s, b(true), b(true), b(false)) // majority 1, b ∧ c 0
	if n := len(s.Aux); out.Var() != r1cs.Aux(n-2) || !s.Aux[n-1].IsZero() {
		t.Errorf("the majority is %v of %d variables, want the last but one", out.Var(), n)
	}
}

// TestBitRow makes sure that neither 2 nor −1 passes as a bit.
func TestBitRow(t *testing.T) {
	s := rtest.New()
	v := Alloc(s, func() bool { return true })
	for _, x := range []int64{2, -1} {
		s.Aux[v.Index()].SetInt64(x)
		if row, _ := s.Unsatisfied(); row != 0 {
			t.Errorf("%d passes as a bit", x)
		}
	}
}
