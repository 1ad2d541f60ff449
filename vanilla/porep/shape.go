package porep

import (
	"unsafe"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/vanilla"
)

const (
	challengeBytes = int(unsafe.Sizeof(Challenge{}))
	labelingBytes  = int(unsafe.Sizeof(Labeling{}))
)

// shape is what a sector size says about every challenge.
type shape struct {
	size sector.Size
	data form // of paths in tree D
	tree form // of paths in trees C and R
}

// form is what a path looks like in JSON: the name of the variant, its
// inclusion paths, and the tree that says the rest.
type form struct {
	*vanilla.Tree
	variant string
	parts   []part
}

// part is one inclusion path of a proof: its name and its number of levels.
type part struct {
	name   string
	levels int
}

func newShape(size sector.Size) shape {
	return shape{size, newForm(vanilla.TreeD(size)), newForm(vanilla.TreeR(size))}
}

func newForm(t *vanilla.Tree) form {
	n := len(t.Arities)
	switch {
	case t.Top:
		return form{t, "Top", []part{{"base_proof", n - 2}, {"sub_proof", 1}, {"top_proof", 1}}}
	case t.Sub:
		return form{t, "Sub", []part{{"base_proof", n - 1}, {"sub_proof", 1}}}
	}
	return form{t, "Single", []part{{"path", n}}}
}

// elements is the number of field elements that a challenge holds in slices.
func (s shape) elements() int {
	columns := (1 + porep.Parents) * (s.size.Layers() + s.tree.Siblings())
	return columns + s.data.Siblings() + s.tree.Siblings()
}
