package porep

import (
	"unsafe"

	"cuzk/porep"
	"cuzk/sector"
)

const (
	challengeBytes = int(unsafe.Sizeof(Challenge{}))
	labelingBytes  = int(unsafe.Sizeof(Labeling{}))
)

// shape is what a sector size says about every challenge.
type shape struct {
	size sector.Size
	data treeShape // tree D
	tree treeShape // trees C and R
}

// treeShape is the form of a path: what the reference calls the variant of a
// proof, its inclusion paths and the arity of each level, leaf first.
type treeShape struct {
	variant string
	parts   []part
	arities []int
}

// part is one inclusion path of a proof: its field and its number of levels.
type part struct {
	name   string
	levels int
}

func newShape(size sector.Size) shape {
	s := shape{size: size, data: treeShape{variant: "Single"}}
	for range size.NodeBits() {
		s.data.arities = append(s.data.arities, 2)
	}
	s.data.parts = []part{{"path", len(s.data.arities)}}
	s.tree = newTreeShape(size.Shape(), size.Arities())
	return s
}

func newTreeShape(form sector.Shape, arities []int) treeShape {
	n := len(arities)
	switch {
	case form.Top > 0:
		return treeShape{"Top", []part{{"base_proof", n - 2}, {"sub_proof", 1}, {"top_proof", 1}}, arities}
	case form.Sub > 0:
		return treeShape{"Sub", []part{{"base_proof", n - 1}, {"sub_proof", 1}}, arities}
	}
	return treeShape{"Single", []part{{"path", n}}, arities}
}

// siblings is the number of siblings of a path.
func (t treeShape) siblings() int {
	n := 0
	for _, a := range t.arities {
		n += a - 1
	}
	return n
}

// elements is the number of field elements that a challenge holds in slices.
func (s shape) elements() int {
	columns := (1 + porep.Parents) * (s.size.Layers() + s.tree.siblings())
	return columns + s.data.siblings() + s.tree.siblings()
}
