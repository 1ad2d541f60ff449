package r1cs

import (
	"fmt"
	"math"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Compile records a circuit into templates. The circuit needs no values. It
// fails if a gadget breaks its contract (an output that is neither its own nor
// a port, more variables than MaxIndex).
func Compile(circuit Circuit) (c *Compiled, err error) {
	defer func() {
		p := recover()
		if fault, ok := p.(recordFault); ok {
			c, err = nil, fmt.Errorf("compile %s: %s", circuit.Name(), string(fault))
		} else if p != nil {
			panic(p)
		}
	}()
	rec := &Recorder{
		c:      &Compiled{name: circuit.Name()},
		coefs:  map[fr.Element]uint32{},
		shapes: map[string]int32{},
	}
	rec.coef(frOne)
	rec.coef(frMinusOne)
	f := &frame{rec: rec, t: &Template{shape: circuit.Name()}}
	circuit.Synthesize(f)
	f.finish()
	return rec.c, nil
}

// recordFault is a broken contract between a gadget and the recorder.
type recordFault string

// Recorder is the state of one Compile: the templates met so far and the
// table of coefficients.
type Recorder struct {
	c      *Compiled
	coefs  map[fr.Element]uint32
	shapes map[string]int32
}

func (r *Recorder) coef(x fr.Element) uint32 {
	i, ok := r.coefs[x]
	if !ok {
		i = uint32(len(r.c.coefs))
		r.coefs[x] = i
		r.c.coefs = append(r.c.coefs, x)
	}
	return i
}

// frame records one template; it is the System that a body sees.
type frame struct {
	rec *Recorder
	t   *Template
	at  base // what has been allocated in this frame so far
}

func (f *frame) alloc(kind runKind) Var {
	t := f.t
	if n := len(t.runs); n > 0 && t.runs[n-1].kind == kind {
		t.runs[n-1].n++
	} else {
		t.runs = append(t.runs, run{base: f.at, n: 1, kind: kind})
	}
	v := f.at.aux
	if v > MaxIndex {
		panic(recordFault(fmt.Sprintf("more than %d private variables", MaxIndex)))
	}
	f.at.aux++
	if kind == runBits {
		f.at.bit++
	} else {
		f.at.element++
	}
	return Aux(v)
}

func (f *frame) Alloc(func() fr.Element) Var { return f.alloc(runElements) }

func (f *frame) AllocBit(func() bool) Var { return f.alloc(runBits) }

func (f *frame) AllocInput(func() fr.Element) Var {
	f.at.input++
	return Input(f.at.input)
}

func (f *frame) Enforce(a, b, c LC) {
	t := f.t
	for _, lc := range [3]LC{a, b, c} {
		for i := range lc {
			if i > 0 && lc[i].Var <= lc[i-1].Var {
				panic(recordFault("a combination of " + t.shape + " is not ascending by variable"))
			}
			if !lc[i].Coef.IsZero() {
				t.terms = append(t.terms, CTerm{lc[i].Var, f.rec.coef(lc[i].Coef)})
			}
		}
		t.ends = append(t.ends, uint32(len(t.terms)))
	}
	if n := len(t.items); n > 0 && t.items[n-1].call < 0 {
		t.items[n-1].rows++
	} else {
		t.items = append(t.items, item{call: -1, first: int32(t.own), rows: 1})
	}
	t.own++
	f.at.row++
	if len(t.terms) > math.MaxInt32 {
		panic(recordFault("a template has more than 2^31 terms"))
	}
}

func (f *frame) Value(Var) fr.Element { panic("r1cs: a recorder has no values") }

func (f *frame) Bit(Var) bool { panic("r1cs: a recorder has no values") }

func (f *frame) Call(g Gadget, ports []Var) []Var {
	m := f.rec.template(g, len(ports))
	t := f.rec.c.tmpls[m]
	k := call{tmpl: m, ports: append([]Var(nil), ports...), base: f.at}
	f.t.items = append(f.t.items, item{call: int32(len(f.t.calls))})
	if t.counts.Aux > 0 {
		f.t.runs = append(f.t.runs, run{base: f.at, n: t.counts.Aux, kind: runCall, call: int32(len(f.t.calls))})
	}
	f.t.calls = append(f.t.calls, k)
	outs := make([]Var, len(t.outs))
	for i, v := range t.outs {
		outs[i] = v
		switch v.Class() {
		case ClassAux:
			outs[i] = Aux(f.at.aux + v.Index())
		case ClassPort:
			outs[i] = ports[v.Index()]
		}
	}
	f.at = f.at.plus(t.span())
	if f.at.aux > MaxIndex {
		panic(recordFault(fmt.Sprintf("more than %d private variables", MaxIndex)))
	}
	return outs
}

// span is how far an instance of t moves the bases.
func (t *Template) span() base {
	n := t.counts
	return base{n.Aux, n.Inputs, n.Rows, n.Bits, n.Aux - n.Bits}
}

// template finds or records the template of a gadget's shape.
func (r *Recorder) template(g Gadget, ports int) int32 {
	shape := g.Shape()
	if m, ok := r.shapes[shape]; ok {
		if got := r.c.tmpls[m].ports; got != ports {
			panic(recordFault(fmt.Sprintf("gadget %s called with %d ports, before with %d", shape, ports, got)))
		}
		return m
	}
	f := &frame{rec: r, t: &Template{shape: shape, ports: ports}}
	in := make([]Var, ports)
	for i := range in {
		in[i] = Port(i)
	}
	f.t.outs = g.Synthesize(f, in)
	for _, v := range f.t.outs {
		if v.Class() == ClassInput && v != One {
			panic(recordFault(fmt.Sprintf("gadget %s returns a public input", shape)))
		}
	}
	m := f.finish()
	r.shapes[shape] = m
	return m
}

func (f *frame) finish() int32 {
	t := f.t
	t.counts = Counts{Inputs: f.at.input, Aux: f.at.aux, Bits: f.at.bit, Rows: f.at.row}
	r := f.rec
	r.c.tmpls = append(r.c.tmpls, t)
	r.c.resolve(t)
	return int32(len(r.c.tmpls) - 1)
}
