package r1cs

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// Runner is the generic path to a witness: a System that runs every gadget
// body with values. It defines what a circuit's witness is; direct generators
// are checked against it. It keeps no rows: each is checked as it is
// enforced.
type Runner struct {
	Inputs []fr.Element
	Aux    []fr.Element
	IsBit  Bitset // which aux are bits; grown as needed
	Rows   int
	// Failed is the first row that did not hold, or -1, and FailedIn the shapes
	// of the gadgets around it.
	Failed   int
	FailedIn []string
	path     []string
}

// NewRunner starts with input 0 = 1.
func NewRunner() *Runner {
	return &Runner{Inputs: []fr.Element{frOne}, Failed: -1}
}

// Alloc implements System.
func (r *Runner) Alloc(value func() fr.Element) Var {
	x := value()
	r.Aux = append(r.Aux, x)
	if len(r.Aux) > 64*len(r.IsBit) {
		r.IsBit = append(r.IsBit, 0)
	}
	return Aux(len(r.Aux) - 1)
}

// AllocBit implements System.
func (r *Runner) AllocBit(value func() bool) Var {
	v := r.Alloc(func() (x fr.Element) {
		if value() {
			x.SetOne()
		}
		return x
	})
	r.IsBit.Set(v.Index())
	return v
}

// AllocInput implements System.
func (r *Runner) AllocInput(value func() fr.Element) Var {
	r.Inputs = append(r.Inputs, value())
	return Input(len(r.Inputs) - 1)
}

// Enforce implements System: it checks the row at once.
func (r *Runner) Enforce(a, b, c LC) {
	x, y, z := r.Eval(a), r.Eval(b), r.Eval(c)
	if x.Mul(&x, &y); x != z && r.Failed < 0 {
		r.Failed = r.Rows
		r.FailedIn = append([]string(nil), r.path...)
	}
	r.Rows++
}

// Eval is the value of a combination.
func (r *Runner) Eval(lc LC) (s fr.Element) {
	var p fr.Element
	for i := range lc {
		x := r.Value(lc[i].Var)
		p.Mul(&lc[i].Coef, &x)
		s.Add(&s, &p)
	}
	return s
}

// Call implements System.
func (r *Runner) Call(g Gadget, ports []Var) []Var {
	r.path = append(r.path, g.Shape())
	outs := g.Synthesize(r, ports)
	r.path = r.path[:len(r.path)-1]
	return outs
}

// Value implements System.
func (r *Runner) Value(v Var) fr.Element {
	if v.Class() == ClassAux {
		return r.Aux[v.Index()]
	}
	return r.Inputs[v.Index()]
}

// Bit implements System.
func (r *Runner) Bit(v Var) bool {
	x := r.Value(v)
	return !x.IsZero()
}

// Assignment packs the values compactly.
func (r *Runner) Assignment() *Assignment {
	n := Counts{Inputs: len(r.Inputs), Aux: len(r.Aux), Bits: r.IsBit.Count()}
	a := NewAssignment(n)
	copy(a.Inputs, r.Inputs)
	w := NewWriter(a, Place{})
	for i := range r.Aux {
		if r.IsBit.Has(i) {
			w.Bit(!r.Aux[i].IsZero())
		} else {
			w.Element(&r.Aux[i])
		}
	}
	w.Flush()
	return a
}

// Run runs a circuit that carries its values.
func Run(c Circuit) *Runner {
	r := NewRunner()
	c.Synthesize(r)
	return r
}
