package label

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/gadgettest"
	"cuzk/gadget/num"
	"cuzk/gadget/sha256"
	u32 "cuzk/gadget/uint32"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/r1cs/rtest"
)

// TestDigest runs the set-up of circuits.md G.1: 256 id bits, 37 distinct
// parents, node 22 as constants.
func TestDigest(t *testing.T) {
	for layer, name := range map[uint32]string{1: "create_label_layer1", 3: "create_label_layer3"} {
		t.Run(name, func(t *testing.T) {
			gadgettest.Digest(t, name, func(s r1cs.System) {
				l := &Label{Layer: layer, ReplicaID: num.Bits(gadgettest.Bits(s, 256, 7))}
				l.Node = append(u32.Const(0).BE(), u32.Const(22).BE()...)
				for range Parents {
					l.Parents = append(l.Parents, num.Bits(gadgettest.Bits(s, 256, 9)))
				}
				Create(s, l)
			})
		})
	}
}

// labelCase is a label of decomposed numbers with values.
type labelCase struct {
	layer   uint32
	node    uint64
	id      fr.Element
	parents []fr.Element
}

func newCase(layer uint32, seed uint64) labelCase {
	r := rand.New(rand.NewPCG(seed, 1))
	c := labelCase{layer: layer, node: r.Uint64(), id: gadgettest.Number(int(seed))}
	for i := range porep.LayerParents(int(layer)) {
		c.parents = append(c.parents, gadgettest.Number(100+i+int(seed)))
	}
	return c
}

// setup allocates id, node and parents and decomposes them.
func (c labelCase) setup(s r1cs.System) *Label {
	bits := func(x fr.Element) []boolean.Bit {
		return sha256.NodeBits(s, s.Alloc(func() fr.Element { return x }))
	}
	l := &Label{Layer: c.layer, ReplicaID: bits(c.id)}
	l.Node = NodeBits(num.AllocUint64(s, func() uint64 { return c.node }))
	for _, p := range c.parents {
		l.Parents = append(l.Parents, bits(p))
	}
	return l
}

// native is the label by the rules of package porep.
func (c labelCase) native(t *testing.T) fr.Element {
	bytes := func(x fr.Element) (b [32]byte) {
		fr.LittleEndian.PutElement(&b, x)
		return b
	}
	var parents [][32]byte
	for _, p := range c.parents {
		parents = append(parents, bytes(p))
	}
	b := porep.Label(bytes(c.id), c.layer, c.node, parents)
	x, err := fr.LittleEndian.Element(&b)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func nodes(xs ...fr.Element) (out []sha256.Node) {
	for i := range xs {
		a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: 256, Bits: 256})
		out = append(out, sha256.WriteNode(r1cs.NewWriter(a, r1cs.Place{}), &xs[i]))
	}
	return out
}

func TestWitness(t *testing.T) {
	for _, layer := range []uint32{2, 1, 11} {
		if testing.Short() && layer != 2 {
			continue
		}
		c := newCase(layer, uint64(layer))
		var l *Label
		gadgettest.SameWitness(t,
			func(s r1cs.System) []r1cs.Var { l = c.setup(s); return nil },
			func(s r1cs.System, _ []r1cs.Var) {
				out := Create(s, l)
				if got := s.Value(out); got != c.native(t) {
					t.Errorf("layer %d: the circuit's label differs from the native one", layer)
				}
			},
			func(w *r1cs.Writer) {
				shape := Decomposed(layer, len(c.parents))
				if shape.Shape() != l.Shape() {
					t.Errorf("shape %q, want %q", shape.Shape(), l.Shape())
				}
				id := nodes(c.id)
				if got := NewPlan(shape).Write(w, &id[0], c.node, nodes(c.parents...)); got != c.native(t) {
					t.Errorf("layer %d: the direct label differs from the native one", layer)
				}
			})
	}
}

// TestTamperedLabel changes a bit of the first compression, a bit of the last,
// and the label: the first row that fails must be in the gadget that defines
// what was changed.
func TestTamperedLabel(t *testing.T) {
	r := r1cs.NewRunner()
	var l *Label
	body := func(s r1cs.System) {
		l = newCase(2, 5).setup(s)
		Create(s, l)
	}
	body(r)
	w := r.Assignment()
	c, err := r1cs.Compile(rtest.Func{Title: "test", Body: body})
	if err != nil {
		t.Fatal(err)
	}
	bits := NewPlan(l).Bits()
	label := "test/" + l.Shape() + "[0]"
	for _, x := range []struct {
		what   string
		change func()
		path   string
	}{
		{"nothing", func() {}, ""},
		{"first bit", func() { flip(w, w.NumBits-bits) }, label + "/sha256-compression 7*v v:ffffff7f 2 2*v 5*0 from "},
		{"last bit", func() { flip(w, w.NumBits-1) }, label + "/sha256-compression 7*v v:ffffff7f 80000000 6*0 2700 from 8*v[0]"},
		{"label", func() { w.Elements[len(w.Elements)-1].SetOne() }, label},
	} {
		saved := *w
		saved.Bits, saved.Elements = slices.Clone(w.Bits), slices.Clone(w.Elements)
		x.change()
		u, err := c.Check(context.Background(), w)
		if err != nil {
			t.Fatal(err)
		}
		if x.path == "" && u != nil || x.path != "" && (u == nil || !strings.HasPrefix(u.Path, x.path)) {
			t.Errorf("%s changed: %v, want a row in %q", x.what, u, x.path)
		}
		*w = saved
	}
}

func flip(w *r1cs.Assignment, bit int) { w.Bits[bit/64] ^= 1 << (bit % 64) }

func BenchmarkWrite(b *testing.B) {
	c := newCase(2, 1)
	p := NewPlan(Decomposed(2, len(c.parents)))
	a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: p.Bits() + 1, Bits: p.Bits()})
	id, parents := nodes(c.id), nodes(c.parents...)
	for b.Loop() {
		p.Write(r1cs.NewWriter(a, r1cs.Place{}), &id[0], c.node, parents)
	}
}
