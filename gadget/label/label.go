// Package label is the label of a node in the stacked graph, as a circuit and
// as a direct generator of its witness.
//
// Statement. label = SHA-256(replica id ‖ layer ‖ node ‖ zeros ‖ 37 parents),
// cut to 254 bits and packed into a number. The layer is a 32-bit constant, the
// node 64 bits, both big-endian; zeros fill the head up to 64 bytes. The
// distinct parents (6 in layer 1, 14 above) are repeated in order until there
// are 37; repeating them takes no variables.
//
// Rows and order follow storage-proofs-porep 19.1
// stacked/circuit/create_label.rs (circuits.md C.5). A label has 20 compressions,
// of which the first depends on the layer and 2 to 19 have one shape. Where id
// and parents are decomposed numbers of 255 bits, as in a PoRep, it has 522,269
// rows and 521,749 variables, all bits but the label itself; the bits of id,
// node and parents are the caller's. Over 256 variable bits each it has 522,297
// rows (the constant node of the reference's test).
package label

import (
	"fmt"
	"strings"

	"cuzk/gadget/boolean"
	"cuzk/gadget/sha256"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

const (
	// Parents is the number of parents that are hashed, repetitions included.
	Parents  = 37
	headBits = sha256.BlockBits
	nodeBits = 64
)

// Label is a label as a gadget. Its ports are the variables under the bits of
// ReplicaID, Node and Parents in that order, constants left out; its output is
// the label. Bits are in SHA-256's order, the highest of each byte first.
type Label struct {
	Layer     uint32          // 1 and up
	ReplicaID []boolean.Bit   // 256 bits
	Node      []boolean.Bit   // 64 bits, big-endian
	Parents   [][]boolean.Bit // the distinct ones, 256 bits each
}

// Create runs the gadget and returns the label.
func Create(s r1cs.System, l *Label) r1cs.Var { return s.Call(l, l.ports())[0] }

// each visits the lists of bits in order.
func (l *Label) each(visit func(bits *[]boolean.Bit)) {
	visit(&l.ReplicaID)
	visit(&l.Node)
	for i := range l.Parents {
		visit(&l.Parents[i])
	}
}

func (l *Label) ports() (out []r1cs.Var) {
	l.each(func(bits *[]boolean.Bit) {
		for _, b := range *bits {
			if !b.IsConst() {
				out = append(out, b.Var())
			}
		}
	})
	return out
}

// over is the gadget on ports in place of its variables.
func (l *Label) over(ports []r1cs.Var) *Label {
	out := *l
	out.Parents = append([][]boolean.Bit(nil), l.Parents...)
	out.each(func(bits *[]boolean.Bit) {
		own := append([]boolean.Bit(nil), *bits...)
		for i, b := range own {
			if !b.IsConst() {
				own[i], ports = boolean.Of(b.Form(), ports[0]), ports[1:]
			}
		}
		*bits = own
	})
	return &out
}

// message is what is hashed.
func (l *Label) message() []boolean.Bit {
	m := make([]boolean.Bit, 0, headBits+Parents*sha256.DigestBits)
	m = append(m, l.ReplicaID...)
	m = append(m, u32.Const(l.Layer).BE()...)
	m = append(m, l.Node...)
	m = append(m, make([]boolean.Bit, headBits-len(m))...)
	for i := range Parents {
		m = append(m, l.Parents[i%len(l.Parents)]...)
	}
	return m
}

// Synthesize implements r1cs.Gadget.
func (l *Label) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	return []r1cs.Var{sha256.HashBits(s, l.over(ports).message())}
}

// Shape implements r1cs.Gadget.
func (l *Label) Shape() string {
	var parents []string
	for i := 0; i < len(l.Parents); {
		n, f := 1, forms(l.Parents[i])
		for i+n < len(l.Parents) && forms(l.Parents[i+n]) == f {
			n++
		}
		i += n
		parents = append(parents, fmt.Sprintf("%d*[%s]", n, f))
	}
	return fmt.Sprintf("label of layer %d, id [%s], node [%s], parents %s",
		l.Layer, forms(l.ReplicaID), forms(l.Node), strings.Join(parents, " "))
}

func forms(bits []boolean.Bit) string {
	words := make([]u32.Word, len(bits)/u32.Size)
	for i := range words {
		words[i] = u32.FromBE(bits[u32.Size*i:])
	}
	return sha256.Forms(words)
}
