package sha256

import (
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/num"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

// Node is the 32 bytes of a node as SHA-256's words.
type Node [stateWords]uint32

// WriteNode appends the bits of NodeBits(x) and returns the node.
func WriteNode(w *r1cs.Writer, x *fr.Element) (n Node) {
	limbs := x.Bits()
	for i, limb := range limbs {
		w.Word(limb, min(64, uint(num.ElementBits-64*i)))
		n[2*i] = bits.ReverseBytes32(uint32(limb))
		n[2*i+1] = bits.ReverseBytes32(uint32(limb >> 32))
	}
	return n
}

// Element is the number that Pack makes of a digest.
func (n *Node) Element() (x fr.Element) {
	for i := range x {
		x[i] = uint64(bits.ReverseBytes32(n[2*i])) | uint64(bits.ReverseBytes32(n[2*i+1]))<<32
	}
	x[fr.Limbs-1] &= 1<<(num.CapacityBits-192) - 1 // below the modulus
	return *x.Mul(&x, &montgomery)
}

// montgomery is R² mod r, which takes canonical limbs to Montgomery form:
// fr.Element{1} stands for 1/R, so its inverse stands for R.
var montgomery = func() (x fr.Element) {
	x[0] = 1
	return *x.Inverse(&x)
}()

// NewPlans finds the plans of the compressions of Sum over a message of which
// only the forms of its bits matter; at least one bit of the first block is not
// constant.
func NewPlans(message []boolean.Bit) (out []*Plan) {
	c := Compression{State: InitialState()}
	for m := Pad(message); len(m) > 0; m = m[BlockBits:] {
		for i := range c.Block {
			c.Block[i] = u32.FromBE(m[u32.Size*i:])
		}
		out = append(out, planOf(&c))
		c.State = stateOf(make([]r1cs.Var, DigestBits))
	}
	return out
}

// plans are those that NewPlans has made, by shape: circuits have about fifteen.
var plans sync.Map

func planOf(c *Compression) *Plan {
	shape := c.Shape()
	if p, ok := plans.Load(shape); ok {
		return p.(*Plan)
	}
	p, _ := plans.LoadOrStore(shape, NewPlan(c))
	return p.(*Plan)
}

// NodeForm is a stand-in for NodeBits where only forms matter.
func NodeForm() []boolean.Bit {
	return Swap(num.Bits(make([]r1cs.Var, num.ElementBits)))
}

var hash2Plans = sync.OnceValue(func() []*Plan {
	return NewPlans(append(NodeForm(), NodeForm()...))
})

// Bits is the number of bits among the variables of Hash2; one more variable,
// the digest, is an element.
func (Hash2) Bits() int {
	n := 2 * num.ElementBits
	for _, p := range hash2Plans() {
		n += p.Bits()
	}
	return n
}

// Write appends the witness of Hash2 and returns the digest.
func (Hash2) Write(w *r1cs.Writer, in []fr.Element) fr.Element {
	left, right := WriteNode(w, &in[0]), WriteNode(w, &in[1])
	var block [blockWords]uint32
	copy(block[:], left[:])
	copy(block[stateWords:], right[:])
	plans, state := hash2Plans(), initial
	plans[0].Witness(w, &block, &state)
	block = [blockWords]uint32{0: 1 << 31, blockWords - 1: BlockBits}
	plans[1].Witness(w, &block, &state)
	digest := (*Node)(&state).Element()
	w.Element(&digest)
	return digest
}
