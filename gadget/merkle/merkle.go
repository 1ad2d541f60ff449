// Package merkle is the Merkle inclusion gadget: the path from a leaf to a root
// through levels of given arities, natively and as a circuit.
//
// One level of arity n = 2^k allocates the k bits of the node's position, its
// n − 1 siblings, puts the node among them (num.Insert) and hashes the n
// numbers. A private path ends with one public input, the leaf's index packed
// from all position bits, and the row root = computed. Rows and order follow
// storage-proofs-core 19.1 gadgets/por.rs (circuits.md A.7).
//
// Rows a level: Poseidon 530 (arity 8), 387 (arity 4), 314 (arity 2); SHA-256
// 45,382. A path adds 2.
package merkle

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/r1cs"
)

// Hasher hashes the numbers of one level, as a circuit and directly.
type Hasher interface {
	// Shape names hash and arity.
	Shape() string
	// Call hashes numbers in a circuit.
	Call(s r1cs.System, in []r1cs.Var) r1cs.Var
	// Write writes the witness of Call and returns the digest.
	Write(w *r1cs.Writer, in []fr.Element) fr.Element
}

// Poseidon is the hasher of trees C and R.
type Poseidon struct{ *poseidon.Params }

// Shape implements Hasher.
func (p Poseidon) Shape() string { return poseidon.Gadget{Params: p.Params}.Shape() }

// Write implements Hasher.
func (p Poseidon) Write(w *r1cs.Writer, in []fr.Element) fr.Element {
	return p.Witness(w.Reserve(p.WitnessLen()), in)
}

// PoseidonOf is the hasher of an arity.
func PoseidonOf(arity int) Hasher { return Poseidon{poseidon.ForArity(arity)} }

// Step is one level of a path: where the node stands among its siblings.
type Step struct {
	Index    int          // 0 to arity − 1
	Siblings []fr.Element // arity − 1, in order without the node
}

// Level is the gadget of one level. Its port is the node; its outputs are the
// parent, then the position bits, lowest first.
type Level struct {
	Arity int
	Hash  Hasher
	Step  *Step // nil without values
}

// Shape implements r1cs.Gadget.
func (l Level) Shape() string { return "merkle-level " + l.Hash.Shape() }

// Synthesize implements r1cs.Gadget.
func (l Level) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	k := bits.TrailingZeros(uint(l.Arity))
	out := make([]r1cs.Var, 1, k+1)
	for i := range k {
		out = append(out, boolean.Alloc(s, func() bool { return l.Step.Index>>i&1 == 1 }))
	}
	siblings := make([]r1cs.Var, l.Arity-1)
	for i := range siblings {
		siblings[i] = s.Alloc(func() fr.Element { return l.Step.Siblings[i] })
	}
	out[0] = l.Hash.Call(s, num.Insert(s, ports[0], out[1:], siblings))
	return out
}

// Write writes the witness of a level and returns the parent.
func (l Level) Write(w *r1cs.Writer, node *fr.Element) fr.Element {
	w.Word(uint64(l.Step.Index), uint(bits.TrailingZeros(uint(l.Arity))))
	copy(w.Reserve(l.Arity-1), l.Step.Siblings)
	var all [8]fr.Element
	num.WriteInsert(w, node, l.Step.Index, l.Step.Siblings, all[:l.Arity])
	return l.Hash.Write(w, all[:l.Arity])
}

// Path is the gadget of a private inclusion proof. Its ports are leaf and root;
// it has no outputs. Hash gives the hasher of an arity.
type Path struct {
	Tree    string // name of the tree for paths of errors: C, R, D
	Arities []int  // leaf first
	Hash    func(arity int) Hasher
	Steps   []Step // one a level; nil without values
}

// Shape implements r1cs.Gadget.
func (p Path) Shape() string {
	a := make([]string, len(p.Arities))
	for i, n := range p.Arities {
		a[i] = fmt.Sprint(n)
	}
	return "path-" + p.Tree + " " + strings.Join(a, "-")
}

func (p Path) level(i int) Level {
	l := Level{Arity: p.Arities[i], Hash: p.Hash(p.Arities[i])}
	if p.Steps != nil {
		l.Step = &p.Steps[i]
	}
	return l
}

// Synthesize implements r1cs.Gadget.
func (p Path) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	node, root := ports[0], ports[1]
	var index []boolean.Bit
	for i := range p.Arities {
		out := s.Call(p.level(i), []r1cs.Var{node})
		node = out[0]
		index = append(index, num.Bits(out[1:])...)
	}
	num.PackInputs(s, index)
	num.Equal(s, node, root)
	return nil
}

// Write writes the witness of a path and returns the root it computes.
func (p Path) Write(w *r1cs.Writer, leaf *fr.Element) fr.Element {
	node := *leaf
	index, shift := uint64(0), 0
	for i, n := range p.Arities {
		node = p.level(i).Write(w, &node)
		index |= uint64(p.Steps[i].Index) << shift
		shift += bits.TrailingZeros(uint(n))
	}
	var in fr.Element
	in.SetUint64(index)
	w.Input(&in)
	return node
}

// Index is the leaf's index that a path's positions spell, lowest level first.
func Index(arities []int, steps []Step) uint64 {
	index, shift := uint64(0), 0
	for i, n := range arities {
		index |= uint64(steps[i].Index) << shift
		shift += bits.TrailingZeros(uint(n))
	}
	return index
}
