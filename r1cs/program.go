package r1cs

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Ref is a variable as a position in an [Assignment]: its class in the two top
// bits, the index below. In a template's rows indices are relative to the
// instance, and RefPort ones index its port table.
type Ref uint32

// Classes of a Ref.
const (
	RefInput   = refInput   // public input; Ref 0 is One in every frame
	RefBit     = refBit     // bit of Assignment.Bits
	RefElement = refElement // element of Assignment.Elements
	RefPort    = refPort    // entry of the instance's port table
)

// Class tells RefInput, RefBit, RefElement or RefPort.
func (r Ref) Class() int { return ref(r).class() }

// Index is the position within the class.
func (r Ref) Index() int { return ref(r).index() }

// Program is a compiled circuit as flat arrays, for evaluators that cannot walk
// a tree: the own rows of each distinct template, and the list of all
// instances. Row j of the circuit is a row of exactly one instance.
//
// Terms are as recorded: where ports are bound to one variable a combination
// names it more than once, and the coefficients add up.
type Program struct {
	Counts    Counts
	Coefs     []fr.Element // callers must not change it
	Templates []ProgramTemplate
	Instances []Instance // template by template, each in order of rows
	Ports     []Ref      // port tables of all instances, of the classes but RefPort
}

// ProgramTemplate is what the instances of one template share.
type ProgramTemplate struct {
	Shape     string
	Stretches []Stretch
	Ends      []uint32 // 3 a row: where its A, B and C end in Terms
	Terms     []ProgramTerm
	Ports     int // entries of an instance's port table
	First     int // first instance
	Count     int // number of instances
}

// Stretch is a run of own rows without a child's rows between them.
type Stretch struct {
	Row   int // first row, relative to the instance's first
	First int // first own row
	Rows  int
}

// ProgramTerm is a term of a row.
type ProgramTerm struct {
	Ref  Ref
	Coef uint32 // index into Coefs
}

// Instance says where an instance of a template begins. Its own input k, k >= 1,
// is public input Input+k-1.
type Instance struct {
	Input, Bit, Element, Row uint32
	Ports                    uint32 // where its port table begins
}

// Program lays the circuit out flat. Templates without rows of their own are
// left out, and so are ports that no own row reads.
func (c *Compiled) Program() (*Program, error) {
	p := &Program{Counts: c.Counts(), Coefs: c.coefs}
	f := &flattener{c: c, used: make([][]int32, len(c.tmpls)), lists: make([][]Instance, len(c.tmpls))}
	for i, t := range c.tmpls {
		f.used[i] = t.usedPorts()
	}
	f.instance(len(c.tmpls)-1, rootBase, nil)
	if uint64(len(f.ports)) > indexMask {
		return nil, fmt.Errorf("circuit %s has %d ports in all its instances, at most %d can be laid out", c.name, len(f.ports), indexMask)
	}
	p.Ports = f.ports
	for i, t := range c.tmpls {
		if t.own == 0 {
			continue
		}
		out := c.flat(t, f.used[i])
		out.First, out.Count = len(p.Instances), len(f.lists[i])
		p.Instances = append(p.Instances, f.lists[i]...)
		p.Templates = append(p.Templates, out)
	}
	return p, nil
}

// flattener walks all instances.
type flattener struct {
	c     *Compiled
	used  [][]int32    // by template: ports that its own rows read
	lists [][]Instance // by template
	ports []Ref
}

func (f *flattener) instance(m int, b base, ports []ref) {
	t := f.c.tmpls[m]
	if t.own > 0 {
		f.lists[m] = append(f.lists[m], Instance{
			Input: uint32(b.input), Bit: uint32(b.bit), Element: uint32(b.element), Row: uint32(b.row), Ports: uint32(len(f.ports)),
		})
		for _, i := range f.used[m] {
			f.ports = append(f.ports, Ref(ports[i]))
		}
	}
	for k := range t.calls {
		call := &t.calls[k]
		in := make([]ref, len(call.ports))
		for i, v := range call.ports {
			in[i] = f.c.toRef(t, v).global(&b, ports)
		}
		f.instance(int(call.tmpl), b.plus(call.base), in)
	}
}

// usedPorts lists the ports that own rows read, ascending.
func (t *Template) usedPorts() (out []int32) {
	seen := NewBitset(t.ports)
	for _, r := range t.refs {
		if r.class() == refPort {
			seen.Set(r.index())
		}
	}
	for i := range t.ports {
		if seen.Has(i) {
			out = append(out, int32(i))
		}
	}
	return out
}

// flat copies the own rows, with ports numbered by their place in used.
func (c *Compiled) flat(t *Template, used []int32) ProgramTemplate {
	out := ProgramTemplate{Shape: t.shape, Ends: t.ends, Terms: make([]ProgramTerm, len(t.terms)), Ports: len(used)}
	place := make([]int, t.ports)
	for i, p := range used {
		place[p] = i
	}
	for i, r := range t.refs {
		if r.class() == refPort {
			r = makeRef(refPort, place[r.index()])
		}
		out.Terms[i] = ProgramTerm{Ref(r), t.terms[i].Coef}
	}
	row := 0 // of the instance, children included
	for _, it := range t.items {
		if it.call >= 0 {
			row += c.tmpls[t.calls[it.call].tmpl].counts.Rows
			continue
		}
		out.Stretches = append(out.Stretches, Stretch{row, int(it.first), int(it.rows)})
		row += int(it.rows)
	}
	return out
}

// Evaluate writes the row values <A_j,w>, <B_j,w>, <C_j,w> to out. It is the
// definition of what the arrays mean, for tests of other readers;
// [Compiled.Evaluate] is the fast one.
func (p *Program) Evaluate(w *Assignment, out *[3][]fr.Element) {
	for i := range p.Templates {
		t := &p.Templates[i]
		for k := t.First; k < t.First+t.Count; k++ {
			in := &p.Instances[k]
			for _, s := range t.Stretches {
				for r := range s.Rows {
					for m := range out {
						out[m][int(in.Row)+s.Row+r] = p.value(w, in, t.Row(s.First+r, m))
					}
				}
			}
		}
	}
}

// Row is the combination of own row r in matrix 0, 1, 2 for A, B, C.
func (t *ProgramTemplate) Row(r, matrix int) []ProgramTerm {
	e, from := 3*r+matrix, uint32(0)
	if e > 0 {
		from = t.Ends[e-1]
	}
	return t.Terms[from:t.Ends[e]]
}

func (p *Program) value(w *Assignment, in *Instance, terms []ProgramTerm) (sum fr.Element) {
	for _, x := range terms {
		v := w.at(p.Global(in, x.Ref))
		v.Mul(&v, &p.Coefs[x.Coef])
		sum.Add(&sum, &v)
	}
	return sum
}

// Global is the position in the assignment that a template's ref means in an
// instance.
func (p *Program) Global(in *Instance, r Ref) Ref {
	i := uint32(r.Index())
	switch r.Class() {
	case RefInput:
		if r == 0 {
			return r
		}
		return Ref(makeRef(refInput, int(in.Input+i-1)))
	case RefBit:
		return Ref(makeRef(refBit, int(in.Bit+i)))
	case RefElement:
		return Ref(makeRef(refElement, int(in.Element+i)))
	}
	return p.Ports[in.Ports+i]
}

// at is the value of a variable.
func (a *Assignment) at(r Ref) (x fr.Element) {
	switch r.Class() {
	case RefInput:
		return a.Inputs[r.Index()]
	case RefElement:
		return a.Elements[r.Index()]
	}
	if a.Bit(r.Index()) {
		x.SetOne()
	}
	return x
}
