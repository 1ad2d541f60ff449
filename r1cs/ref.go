package r1cs

// ref is a variable as a position in an assignment: its class in the two top
// bits, the index below. In a template indices are relative to the bases of
// an instance, refPort ones index the instance's port table.
type ref uint32

const (
	refInput   = 0 // index 0 is One in every frame
	refBit     = 1
	refElement = 2
	refPort    = 3
)

func makeRef(class, index int) ref { return ref(class<<classShift | index) }

func (r ref) class() int { return int(r >> classShift) }

func (r ref) index() int { return int(r & indexMask) }

// toRef translates a local variable of t.
func (c *Compiled) toRef(t *Template, v Var) ref {
	switch v.Class() {
	case ClassInput:
		return makeRef(refInput, v.Index())
	case ClassPort:
		return makeRef(refPort, v.Index())
	}
	return c.locate(t, v.Index())
}

// resolve fills the refs of a template whose children are resolved.
func (c *Compiled) resolve(t *Template) {
	t.refs = make([]ref, len(t.terms))
	for i := range t.terms {
		t.refs[i] = c.toRef(t, t.terms[i].Var)
	}
}

// global turns a local ref of an instance at b with the given port table into
// one of the whole circuit.
func (r ref) global(b *base, ports []ref) ref {
	switch r.class() {
	case refInput:
		if r == 0 {
			return r
		}
		return makeRef(refInput, b.input+r.index()-1)
	case refBit:
		return makeRef(refBit, b.bit+r.index())
	case refElement:
		return makeRef(refElement, b.element+r.index())
	}
	return ports[r.index()]
}
