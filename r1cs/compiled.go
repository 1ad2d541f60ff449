package r1cs

import (
	"fmt"
	"sort"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// CTerm is a term of a recorded row: a variable and an index into the
// circuit's table of coefficients.
type CTerm struct {
	Var  Var
	Coef uint32
}

// Coefficients that every table begins with.
const (
	CoefOne      = 0
	CoefMinusOne = 1
)

// Template is a gadget as recorded for one shape. Variables in it are local:
// Input(0) is One, Input(1+k) its k-th own public input, Aux(j) its j-th aux
// (those of its children included, in order of allocation), Port(p) the p-th
// variable that the caller passed.
type Template struct {
	shape  string
	ports  int
	counts Counts // children included; One is not counted
	outs   []Var
	items  []item
	calls  []call
	runs   []run
	ends   []uint32 // 3 a row: where A, B and C end in terms
	terms  []CTerm
	refs   []ref // terms' variables as positions in an assignment
	own    int   // own rows, children excluded
}

// item is a stretch of a template in synthesis order: own rows or one call.
type item struct {
	call  int32 // index into calls, or -1
	first int32 // first own row
	rows  int32 // number of own rows
}

// call is an instance of a child template. The bases are relative to the
// frame it stands in.
type call struct {
	tmpl  int32
	ports []Var
	base  base
}

// base says where an instance begins.
type base struct {
	aux, input, row, bit, element int
}

func (b base) plus(o base) base {
	return base{b.aux + o.aux, b.input + o.input, b.row + o.row, b.bit + o.bit, b.element + o.element}
}

// run is a stretch of aux variables of one kind, or the aux of one call.
type run struct {
	base base
	n    int
	kind runKind
	call int32 // for runCall
}

type runKind uint8

const (
	runElements runKind = iota
	runBits
	runCall
)

// Compiled is a circuit as a tree of templates. It is immutable and safe for
// use by several goroutines.
type Compiled struct {
	name  string
	coefs []fr.Element
	tmpls []*Template // children before parents; the last is the whole circuit
}

func (c *Compiled) root() *Template { return c.tmpls[len(c.tmpls)-1] }

// rootBase is where the whole begins: input 0 is One.
var rootBase = base{input: 1}

// Name is the circuit's name.
func (c *Compiled) Name() string { return c.name }

// Counts are the sizes of the whole circuit, One included.
func (c *Compiled) Counts() Counts {
	n := c.root().counts
	n.Inputs++
	return n
}

// Coefs is the table of coefficients; callers must not change it.
func (c *Compiled) Coefs() []fr.Element { return c.coefs }

// Locate finds aux variable i of the whole circuit in an assignment: the bit
// or the element index, and which of the two it is.
func (c *Compiled) Locate(i int) (index int, bit bool, err error) {
	if i < 0 || i >= c.root().counts.Aux {
		return 0, false, fmt.Errorf("aux %d is not in circuit %s, which has %d", i, c.name, c.root().counts.Aux)
	}
	r := c.locate(c.root(), i)
	return r.index(), r.class() == refBit, nil
}

// locate finds local aux j of t relative to the bases of an instance of t.
func (c *Compiled) locate(t *Template, j int) ref {
	k := sort.Search(len(t.runs), func(k int) bool { return t.runs[k].base.aux > j }) - 1
	r := &t.runs[k]
	switch r.kind {
	case runBits:
		return makeRef(refBit, r.base.bit+j-r.base.aux)
	case runElements:
		return makeRef(refElement, r.base.element+j-r.base.aux)
	}
	in := c.locate(c.tmpls[t.calls[r.call].tmpl], j-r.base.aux)
	if in.class() == refBit {
		return makeRef(refBit, r.base.bit+in.index())
	}
	return makeRef(refElement, r.base.element+in.index())
}

// BitKinds is the set of aux variables that are bits.
func (c *Compiled) BitKinds() Bitset {
	sets := make([]Bitset, len(c.tmpls))
	for i, t := range c.tmpls {
		s := NewBitset(t.counts.Aux)
		for k := range t.runs {
			switch r := &t.runs[k]; r.kind {
			case runBits:
				s.setRange(r.base.aux, r.n)
			case runCall:
				s.orAt(sets[t.calls[r.call].tmpl], r.base.aux)
			}
		}
		sets[i] = s
	}
	return sets[len(sets)-1]
}

// Density tells which variables occur with a non-zero coefficient in one
// matrix (circuits.md B.2).
type Density struct {
	Inputs Bitset // the per-input rows of Groth16 are not counted
	Aux    Bitset
}

// DenseA, DenseB and DenseC are the densities of the three matrices.
func (c *Compiled) DenseA() Density { return c.density(0) }

// DenseB is the density of B.
func (c *Compiled) DenseB() Density { return c.density(1) }

// DenseC is the density of C.
func (c *Compiled) DenseC() Density { return c.density(2) }

type tmplDensity struct {
	aux, inputs, ports Bitset
}

func (d *tmplDensity) mark(v Var) {
	switch v.Class() {
	case ClassInput:
		d.inputs.Set(v.Index())
	case ClassAux:
		d.aux.Set(v.Index())
	case ClassPort:
		d.ports.Set(v.Index())
	}
}

func (c *Compiled) density(matrix int) Density {
	ds := make([]*tmplDensity, len(c.tmpls))
	for i, t := range c.tmpls {
		d := &tmplDensity{NewBitset(t.counts.Aux), NewBitset(t.counts.Inputs + 1), NewBitset(t.ports)}
		for r := 0; r < t.own; r++ {
			for _, x := range t.lc(r, matrix) {
				d.mark(x.Var)
			}
		}
		for k := range t.calls {
			m := t.calls[k].tmpl
			d.addCall(&t.calls[k], ds[m], c.tmpls[m].counts.Inputs)
		}
		ds[i] = d
	}
	d := ds[len(ds)-1]
	return Density{Inputs: d.inputs, Aux: d.aux}
}

// addCall marks what a child with the given number of own inputs uses.
func (d *tmplDensity) addCall(k *call, child *tmplDensity, inputs int) {
	d.aux.orAt(child.aux, k.base.aux)
	for p, v := range k.ports {
		if child.ports.Has(p) {
			d.mark(v)
		}
	}
	if child.inputs.Has(0) {
		d.inputs.Set(0)
	}
	for i := 1; i <= inputs; i++ {
		if child.inputs.Has(i) {
			d.inputs.Set(k.base.input + i)
		}
	}
}

// lc is one combination of own row r: matrix 0, 1, 2 for A, B, C.
func (t *Template) lc(r, matrix int) []CTerm {
	e := 3*r + matrix
	from := uint32(0)
	if e > 0 {
		from = t.ends[e-1]
	}
	return t.terms[from:t.ends[e]]
}

// TemplateInfo describes a template of a compiled circuit, for listings.
type TemplateInfo struct {
	Shape     string
	Instances int // in the whole circuit
	Counts    Counts
	OwnRows   int   // rows outside its children
	Children  []int // indices of distinct child templates, in order of first call
	Calls     []int // how often each is called by one instance
}

// Templates lists all templates, the whole circuit last.
func (c *Compiled) Templates() []TemplateInfo {
	out := make([]TemplateInfo, len(c.tmpls))
	for i, t := range c.tmpls {
		out[i] = TemplateInfo{Shape: t.shape, Counts: t.counts, OwnRows: t.own}
		seen := map[int32]int{}
		for k := range t.calls {
			m := t.calls[k].tmpl
			j, ok := seen[m]
			if !ok {
				j = len(seen)
				seen[m] = j
				out[i].Children = append(out[i].Children, int(m))
				out[i].Calls = append(out[i].Calls, 0)
			}
			out[i].Calls[j]++
		}
	}
	out[len(out)-1].Instances = 1
	for i := len(out) - 1; i >= 0; i-- {
		for j, m := range out[i].Children {
			out[m].Instances += out[i].Instances * out[i].Calls[j]
		}
	}
	return out
}
