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
	// The members of the objects around a path: the variant, and in it root, leaf
	// and the inclusion paths.
	variantMember, members []member
}

// maxLevels is more than any tree has.
const maxLevels = 40

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
	f := form{Tree: t, variant: "Single", parts: []part{{"path", n}}}
	switch {
	case t.Top:
		f.variant, f.parts = "Top", []part{{"base_proof", n - 2}, {"sub_proof", 1}, {"top_proof", 1}}
	case t.Sub:
		f.variant, f.parts = "Sub", []part{{"base_proof", n - 1}, {"sub_proof", 1}}
	}
	f.variantMember = []member{{name: f.variant}}
	f.members = []member{{name: "root"}, {name: "leaf"}}
	for _, p := range f.parts {
		f.members = append(f.members, member{name: p.name})
	}
	return f
}

// elements is the number of field elements that a challenge holds in slices.
func (s shape) elements() int {
	columns := (1 + porep.Parents) * (s.size.Layers() + s.tree.Siblings())
	return columns + s.data.Siblings() + s.tree.Siblings()
}
