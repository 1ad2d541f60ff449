package merkle

import (
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/num"
	"cuzk/r1cs"
)

// Given is a level whose position bits and siblings are variables already: its
// ports are the node, the bits, lowest first, and the siblings; its output is
// the parent. Source: por_no_challenge_input of storage-proofs-update 19.1.
type Given struct {
	Arity int
	Hash  Hasher
}

// Shape implements r1cs.Gadget.
func (g Given) Shape() string { return "merkle-given " + g.Hash.Shape() }

// Synthesize implements r1cs.Gadget.
func (g Given) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	k := bits.TrailingZeros(uint(g.Arity))
	all := num.Insert(s, ports[0], ports[1:1+k], ports[1+k:])
	return []r1cs.Var{g.Hash.Call(s, all)}
}

// Climb goes from a node to the root of a tree of the given arities by Given
// levels. index has a bit variable a level bit, siblings arity − 1 a level.
func Climb(s r1cs.System, node r1cs.Var, arities []int, hash func(int) Hasher, index, siblings []r1cs.Var) r1cs.Var {
	for _, a := range arities {
		k := bits.TrailingZeros(uint(a))
		ports := append([]r1cs.Var{node}, index[:k]...)
		node = s.Call(Given{a, hash(a)}, append(ports, siblings[:a-1]...))[0]
		index, siblings = index[k:], siblings[a-1:]
	}
	return node
}

// WriteClimb writes the witness of Climb and returns the root.
func WriteClimb(w *r1cs.Writer, node fr.Element, arities []int, hash func(int) Hasher, index uint64, siblings []fr.Element) fr.Element {
	var all [8]fr.Element
	for _, a := range arities {
		num.WriteInsert(w, &node, int(index%uint64(a)), siblings[:a-1], all[:a])
		node = hash(a).Write(w, all[:a])
		index, siblings = index/uint64(a), siblings[a-1:]
	}
	return node
}
