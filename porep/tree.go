package porep

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// Tree is a Merkle tree with all its nodes.
type Tree struct {
	form *vanilla.Tree
	rows [][]fr.Element // leaves first, the root last
}

// NewTree hashes leaves, as many as the form has.
func NewTree(form *vanilla.Tree, leaves []fr.Element, workers int) *Tree {
	t := &Tree{form, [][]fr.Element{leaves}}
	for _, a := range form.Arities {
		below := t.rows[len(t.rows)-1]
		row := make([]fr.Element, len(below)/a)
		split(len(row), workers, func(from, to int) {
			children := make([][]fr.Element, to-from)
			for i := range children {
				children[i] = below[(from+i)*a : (from+i+1)*a]
			}
			form.Nodes(row[from:to], children)
		})
		t.rows = append(t.rows, row)
	}
	return t
}

// Root is the root.
func (t *Tree) Root() fr.Element { return t.rows[len(t.rows)-1][0] }

// Leaf is the leaf at a position.
func (t *Tree) Leaf(index uint64) fr.Element { return t.rows[0][index] }

// Row lists the nodes at a height; height 0 has the leaves.
func (t *Tree) Row(height int) []fr.Element { return t.rows[height] }

// Path is the path of the leaf at a position.
func (t *Tree) Path(index uint64) vanilla.Path {
	p := vanilla.Path{Index: index, Leaf: t.Leaf(index), Root: t.Root()}
	p.Siblings = make([]fr.Element, 0, t.form.Siblings())
	for level, a := range t.form.Arities {
		arity := uint64(a)
		first := index / arity * arity
		for i := range arity {
			if first+i != index {
				p.Siblings = append(p.Siblings, t.rows[level][first+i])
			}
		}
		index /= arity
	}
	return p
}
