package sample

import (
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// sparse is a tree of which some leaves are known. The nodes above them are
// hashed, all others are made up.
type sparse struct {
	form  *vanilla.Tree
	known []map[uint64]fr.Element // by height
	other func(height int, index uint64) fr.Element
}

// newSparse hashes what lies above leaves, of which there is at least one.
func newSparse(form *vanilla.Tree, leaves map[uint64]fr.Element, workers int, other func(height int, index uint64) fr.Element) *sparse {
	t := &sparse{form, []map[uint64]fr.Element{leaves}, other}
	for height, a := range form.Arities {
		above := map[uint64]fr.Element{}
		for i := range t.known[height] {
			above[i/uint64(a)] = fr.Element{}
		}
		indices := slices.Collect(maps.Keys(above))
		hashes := make([]fr.Element, len(indices))
		chunks(len(indices), workers, func(from, to int) {
			children := make([][]fr.Element, to-from)
			for i := range children {
				children[i] = t.children(height, a, indices[from+i])
			}
			form.Nodes(hashes[from:to], children)
		})
		for i, index := range indices {
			above[index] = hashes[i]
		}
		t.known = append(t.known, above)
	}
	return t
}

// children lists the a nodes at a height below node index of the next.
func (t *sparse) children(height, a int, index uint64) []fr.Element {
	out := make([]fr.Element, a)
	for j := range out {
		out[j] = t.node(height, index*uint64(a)+uint64(j))
	}
	return out
}

func (t *sparse) node(height int, index uint64) fr.Element {
	if e, ok := t.known[height][index]; ok {
		return e
	}
	return t.other(height, index)
}

func (t *sparse) root() fr.Element { return t.node(len(t.form.Arities), 0) }

// Path opens the tree at a leaf.
func (t *sparse) Path(index uint64) vanilla.Path { return openAt(t.form, t.node, index) }

// patterned is a complete tree whose leaves repeat: within a block of leaves,
// leaf i equals leaf i mod period. Blocks and periods are powers of two; the
// tree must be hashed (root) before it is opened by several goroutines.
type patterned struct {
	form          *vanilla.Tree
	block, period uint64
	leaf          func(index uint64) fr.Element
	known         []map[uint64]fr.Element // by height, of the first of equal nodes
	spans         []uint64                // leaves below a node, by height
}

func newPatterned(form *vanilla.Tree, block, period uint64, leaf func(index uint64) fr.Element) *patterned {
	t := &patterned{form: form, block: block, period: min(block, period), leaf: leaf}
	span := uint64(1)
	for h := 0; h <= len(form.Arities); h++ {
		t.known = append(t.known, map[uint64]fr.Element{})
		t.spans = append(t.spans, span)
		if h < len(form.Arities) {
			span *= uint64(form.Arities[h])
		}
	}
	return t
}

// first is the first node at a height that equals node index.
func (t *patterned) first(height int, index uint64) uint64 {
	span := t.spans[height]
	if span >= t.block {
		return index
	}
	inBlock, inPeriod := t.block/span, max(1, t.period/span)
	return index/inBlock*inBlock + index%inBlock%inPeriod
}

func (t *patterned) node(height int, index uint64) fr.Element {
	index = t.first(height, index)
	if e, ok := t.known[height][index]; ok {
		return e
	}
	var e fr.Element
	if height == 0 {
		e = t.leaf(index)
	} else {
		a := t.form.Arities[height-1]
		children := make([]fr.Element, a)
		for j := range children {
			children[j] = t.node(height-1, index*uint64(a)+uint64(j))
		}
		e = t.form.Node(children)
	}
	t.known[height][index] = e
	return e
}

func (t *patterned) root() fr.Element { return t.node(len(t.form.Arities), 0) }

// Path opens the tree at a leaf.
func (t *patterned) Path(index uint64) vanilla.Path { return openAt(t.form, t.node, index) }

// openAt collects the siblings of a path.
func openAt(form *vanilla.Tree, node func(height int, index uint64) fr.Element, index uint64) vanilla.Path {
	p := vanilla.Path{Index: index, Leaf: node(0, index), Root: node(len(form.Arities), 0)}
	p.Siblings = make([]fr.Element, 0, form.Siblings())
	for height, a := range form.Arities {
		arity := uint64(a)
		first := index / arity * arity
		for i := first; i < first+arity; i++ {
			if i != index {
				p.Siblings = append(p.Siblings, node(height, i))
			}
		}
		index /= arity
	}
	return p
}

// chunks runs f on consecutive ranges that cover 0..n-1, small ones so that
// memory stays small.
func chunks(n, workers int, f func(from, to int)) {
	const size = 64
	each((n+size-1)/size, workers, func(i int) { f(i*size, min(n, (i+1)*size)) })
}

// each runs f for 0..n-1 on some workers; on all processors if there are none.
func each(n, workers int, f func(i int)) {
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	workers = min(workers, n)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				f(i)
			}
		})
	}
	wg.Wait()
}
