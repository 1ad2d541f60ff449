package label

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/num"
	"cuzk/gadget/sha256"
	"cuzk/r1cs"
)

// Plan writes the witness of labels of one shape.
type Plan struct {
	layer  uint32
	blocks []*sha256.Plan
}

// NewPlan finds the plan of a label's shape. The replica id has variable bits.
func NewPlan(l *Label) *Plan {
	return &Plan{l.Layer, sha256.NewPlans(l.message())}
}

// Decomposed has the shape of a label of which the id and the given number of
// distinct parents are decomposed numbers and the node 64 variables.
func Decomposed(layer uint32, parents int) *Label {
	l := &Label{Layer: layer, ReplicaID: sha256.NodeForm(), Node: num.Bits(make([]r1cs.Var, nodeBits))}
	l.Parents = make([][]boolean.Bit, parents)
	for i := range l.Parents {
		l.Parents[i] = l.ReplicaID
	}
	return l
}

// Bits is the number of bits among the label's variables; one more, the label,
// is an element.
func (p *Plan) Bits() (n int) {
	for _, b := range p.blocks {
		n += b.Bits()
	}
	return n
}

// Write appends the witness of a label and returns it. parents are the distinct
// ones.
func (p *Plan) Write(w *r1cs.Writer, id *sha256.Node, node uint64, parents []sha256.Node) fr.Element {
	state := sha256.Node(sha256.Initial())
	block := [2]sha256.Node{*id, {p.layer, uint32(node >> 32), uint32(node)}}
	p.block(w, 0, &block, &state)
	at := 0
	parent := func() (n sha256.Node) {
		n = parents[at]
		if at++; at == len(parents) {
			at = 0
		}
		return n
	}
	last := len(p.blocks) - 1
	for i := 1; i < last; i++ {
		block[0], block[1] = parent(), parent()
		p.block(w, i, &block, &state)
	}
	const length = headBits + Parents*sha256.DigestBits
	block[0], block[1] = parent(), sha256.Node{0: 1 << 31, 7: length}
	p.block(w, last, &block, &state)
	label := state.Element()
	w.Element(&label)
	return label
}

func (p *Plan) block(w *r1cs.Writer, i int, block *[2]sha256.Node, state *sha256.Node) {
	var words [len(block[0]) + len(block[1])]uint32
	copy(words[:], block[0][:])
	copy(words[len(block[0]):], block[1][:])
	p.blocks[i].Witness(w, &words, (*[8]uint32)(state))
}

// NodeBits are the bits of a node's number, given lowest first, in the order in
// which a label hashes them.
func NodeBits(lowestFirst []r1cs.Var) []boolean.Bit {
	out := make([]boolean.Bit, len(lowestFirst))
	for i, v := range lowestFirst {
		out[len(out)-1-i] = boolean.Is(v)
	}
	return out
}
