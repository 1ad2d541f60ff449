package label

import (
	"math/rand/v2"
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
	for layer := uint32(1); layer <= 3; layer++ {
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

// TestTamperedLabel changes an input bit of each part, the label and a bit
// inside: the row that fails must be the one that defines what was changed.
func TestTamperedLabel(t *testing.T) {
	s := rtest.New()
	l := newCase(2, 5).setup(s)
	before := r1cs.Aux(len(s.Aux))
	out := Create(s, l)
	if row, path := s.Unsatisfied(); row >= 0 {
		t.Fatalf("row %d in %s does not hold", row, path)
	}
	first := sha256.Compression{Block: [16]u32.Word{}, State: sha256.InitialState()}
	for i, m := 0, l.message(); i < len(first.Block); i++ {
		first.Block[i] = u32.FromBE(m[u32.Size*i:])
	}
	for v, want := range map[r1cs.Var]string{
		out:    l.Shape(),
		before: l.Shape() + "/" + first.Shape(),
	} {
		restore := s.Tamper(v)
		if _, path := s.Unsatisfied(); path != want {
			t.Errorf("%v changed: the first row that fails is in %q, want %q", v, path, want)
		}
		restore()
	}
}

func BenchmarkWrite(b *testing.B) {
	c := newCase(2, 1)
	p := NewPlan(Decomposed(2, len(c.parents)))
	a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: p.Bits() + 1, Bits: p.Bits()})
	id, parents := nodes(c.id), nodes(c.parents...)
	for b.Loop() {
		p.Write(r1cs.NewWriter(a, r1cs.Place{}), &id[0], c.node, parents)
	}
}
