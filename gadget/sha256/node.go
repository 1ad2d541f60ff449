package sha256

import (
	"cuzk/gadget/boolean"
	"cuzk/gadget/num"
	"cuzk/r1cs"
)

// Decompose is the gadget that decomposes a number into 255 bits (num.ToBits).
// Its port is the number, its outputs are the bits, lowest first: 255
// variables, 256 rows.
type Decompose struct{}

// Shape implements r1cs.Gadget.
func (Decompose) Shape() string { return "to-bits" }

// Synthesize implements r1cs.Gadget.
func (Decompose) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	return num.ToBits(s, ports[0])
}

// NodeBits are the 256 bits of a number as a node of 32 little-endian bytes,
// the highest bit of each byte first. The number is decomposed anew with every
// call; bit 248, the top one of the last byte, is constant.
func NodeBits(s r1cs.System, v r1cs.Var) []boolean.Bit {
	return Swap(num.Bits(s.Call(Decompose{}, []r1cs.Var{v})))
}

// Swap turns bits of little-endian numbers into SHA-256's order and back: it
// fills up the last byte with constant zeros and reverses each byte.
func Swap(bits []boolean.Bit) []boolean.Bit {
	out := make([]boolean.Bit, (len(bits)+7)/8*8)
	for i, b := range bits {
		out[i^7] = b
	}
	return out
}

// Pack makes a number of a digest's bits: byte order turned, cut to 254 bits,
// packed.
func Pack(s r1cs.System, digest []boolean.Bit) r1cs.Var {
	return num.Pack(s, Swap(digest))
}

// HashBits is the node hash of filecoin-hashers over a message's bits: SHA-256,
// then Pack.
func HashBits(s r1cs.System, message []boolean.Bit) r1cs.Var {
	return Pack(s, Sum(s, message))
}

// Hash2 is the hash of two nodes, the one of tree D, as a gadget: two ports,
// one output. 45,379 rows, 45,331 variables.
type Hash2 struct{}

// Shape implements r1cs.Gadget.
func (Hash2) Shape() string { return "sha256-2" }

// Synthesize implements r1cs.Gadget.
func (Hash2) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	left := NodeBits(s, ports[0])
	return []r1cs.Var{HashBits(s, append(left, NodeBits(s, ports[1])...))}
}

// Call runs the gadget on two numbers; with Shape and Write it is a hasher of
// Merkle levels.
func (h Hash2) Call(s r1cs.System, in []r1cs.Var) r1cs.Var { return s.Call(h, in)[0] }
