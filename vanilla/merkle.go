package vanilla

import (
	"crypto/sha256"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/merkle"
	"cuzk/gadget/poseidon"
	"cuzk/sector"
)

// Tree is the form of a Merkle tree: what decides the encoding of a path, how
// the leaf's position divides into digits, and how a node is hashed.
type Tree struct {
	Name    string // for errors
	Arities []int  // of the levels, leaf first: base levels, then sub and top
	Sub     bool   // the base trees' roots are joined by a sub level
	Top     bool   // and those by a top level; implies Sub
	Node    func(children []fr.Element) fr.Element
	// Nodes hashes several nodes at once, which is faster than one by one.
	Nodes func(out []fr.Element, children [][]fr.Element)
}

// TreeR is the form of trees C and R of a sector size: Poseidon.
func TreeR(size sector.Size) *Tree {
	s := size.Shape()
	return &Tree{"tree R", size.Arities(), s.Sub > 0, s.Top > 0, PoseidonNode, poseidonNodes}
}

// TreeD is the form of tree D, the tree of the data: binary, SHA-256.
func TreeD(size sector.Size) *Tree {
	t := &Tree{Name: "tree D", Node: SHANode, Nodes: shaNodes}
	for range size.NodeBits() {
		t.Arities = append(t.Arities, 2)
	}
	return t
}

// PoseidonNode hashes children of arity 2, 4, 8 or 11.
func PoseidonNode(children []fr.Element) fr.Element {
	return poseidon.ForArity(len(children)).Hash(children)
}

func poseidonNodes(out []fr.Element, children [][]fr.Element) {
	poseidon.ForArity(len(children[0])).HashMany(out, children)
}

func shaNodes(out []fr.Element, children [][]fr.Element) {
	for i := range children {
		out[i] = SHANode(children[i])
	}
}

// SHANode is SHA-256 of the children's encodings with the two top bits of the
// last byte cleared.
func SHANode(children []fr.Element) fr.Element {
	var buf [2 * fr.Bytes]byte
	for i := range children {
		fr.LittleEndian.PutElement((*[fr.Bytes]byte)(buf[i*fr.Bytes:]), children[i])
	}
	d := Domain(sha256.Sum256(buf[:len(children)*fr.Bytes]))
	d[31] &= 0x3f
	e, _ := d.Element() // below 2^254, hence canonical
	return e
}

// Siblings is the number of siblings of a path.
func (t *Tree) Siblings() int {
	n := 0
	for _, a := range t.Arities {
		n += a - 1
	}
	return n
}

// Leaves is the number of leaves.
func (t *Tree) Leaves() uint64 {
	n := uint64(1)
	for _, a := range t.Arities {
		n *= uint64(a)
	}
	return n
}

// EncodedLen is the number of bytes of a path in bincode.
func (t *Tree) EncodedLen() int {
	parts := 1
	if t.Sub {
		parts++
	}
	if t.Top {
		parts++
	}
	return 4 + 2*fr.Bytes + 8*parts + 16*len(t.Arities) + fr.Bytes*t.Siblings()
}

// Path is a Merkle path. Which siblings belong to which level follows from the
// tree, see Level.
type Path struct {
	Index    uint64       // position of the leaf
	Leaf     fr.Element   //
	Root     fr.Element   // as the caller states it
	Siblings []fr.Element // arity − 1 a level, leaf first
}

// Level gives the siblings of level i and the digit of the node among its
// siblings, 0 to arity − 1.
func (p *Path) Level(t *Tree, i int) (siblings []fr.Element, digit int) {
	at, index := 0, p.Index
	for _, a := range t.Arities[:i] {
		at += a - 1
		index /= uint64(a)
	}
	a := t.Arities[i]
	return p.Siblings[at : at+a-1], int(index % uint64(a))
}

// Steps gives the path level by level, as circuits take it; siblings are shared,
// not copied.
func (p *Path) Steps(t *Tree) []merkle.Step {
	out := make([]merkle.Step, len(t.Arities))
	for l := range out {
		out[l].Siblings, out[l].Index = p.Level(t, l)
	}
	return out
}

// Path reads a MerkleProof of the reference: variant Single, Sub or Top, the
// variant's inclusion paths, root and leaf. Single has root and leaf first.
func (t *Tree) Path(r *Reader) (p Path) {
	want := uint32(0)
	if t.Sub {
		want = 1
	}
	if t.Top {
		want = 2
	}
	if v := r.Uint32("variant"); v != want && r.Err() == nil {
		r.Fail(Errorf("variant of the path is %d, want %d", v, want))
	}
	if r.Remaining() < t.EncodedLen()-4 {
		r.Fail(Errorf("cut off: a path has %d bytes, %d remain", t.EncodedLen()-4, r.Remaining()))
		return p
	}
	if want == 0 {
		p.Root, p.Leaf = r.Element("root"), r.Element("leaf")
	}
	t.levels(r, &p)
	if want > 0 {
		p.Root, p.Leaf = r.Element("root"), r.Element("leaf")
	}
	return p
}

// levels reads the inclusion paths: base levels, sub level, top level.
func (t *Tree) levels(r *Reader, p *Path) {
	p.Siblings = make([]fr.Element, 0, t.Siblings())
	base := len(t.Arities)
	if t.Sub {
		base--
	}
	if t.Top {
		base--
	}
	place := uint64(1)
	for i, arity := range t.Arities {
		if i == 0 {
			r.Length("base path", base, 1)
		} else if i >= base {
			r.Length("sub or top path", 1, 1)
		}
		r.EnterN("level", i)
		digit := p.level(r, arity)
		r.Leave()
		if r.Err() != nil {
			return
		}
		p.Index += digit * place
		place *= uint64(arity)
	}
}

// level reads one element of an inclusion path and returns its digit.
func (p *Path) level(r *Reader, arity int) uint64 {
	r.Length("siblings", arity-1, fr.Bytes)
	for range arity - 1 {
		p.Siblings = append(p.Siblings, r.Element("sibling"))
	}
	digit := r.Uint64("digit")
	if r.Err() == nil && digit >= uint64(arity) {
		r.Fail(Errorf("digit %d is not below the arity %d", digit, arity))
	}
	return digit
}

// ComputeRoot hashes from the leaf up.
func (t *Tree) ComputeRoot(p *Path) fr.Element {
	return t.computeRoots([]*Path{p})[0]
}

// computeRoots climbs all paths together, level by level.
func (t *Tree) computeRoots(paths []*Path) []fr.Element {
	if len(paths) == 0 {
		return nil
	}
	nodes := make([]fr.Element, len(paths))
	for i, p := range paths {
		nodes[i] = p.Leaf
	}
	buf := make([]fr.Element, len(paths)*slices.Max(t.Arities))
	children := make([][]fr.Element, len(paths))
	at, place := 0, uint64(1)
	for _, a := range t.Arities {
		for i, p := range paths {
			c := buf[i*a : (i+1)*a]
			digit := int(p.Index / place % uint64(a))
			copy(c, p.Siblings[at:at+digit])
			c[digit] = nodes[i]
			copy(c[digit+1:], p.Siblings[at+digit:at+a-1])
			children[i] = c
		}
		t.Nodes(nodes, children)
		at += a - 1
		place *= uint64(a)
	}
	return nodes
}

// Check makes sure that the path leads from the leaf to root, and that the
// root it states is the same.
func (t *Tree) Check(p *Path, root *fr.Element) error {
	_, err := t.CheckAll([]*Path{p}, root)
	return err
}

// CheckAll is Check for several paths to one root, faster than one by one. It
// returns the position of the first path that fails.
func (t *Tree) CheckAll(paths []*Path, root *fr.Element) (int, error) {
	roots := t.computeRoots(paths)
	for i, p := range paths {
		if p.Root != *root {
			return i, Errorf("%s: states root %s, want %s", t.Name, DomainOf(&p.Root), DomainOf(root))
		}
		if roots[i] != *root {
			return i, Errorf("%s: leads to root %s, want %s", t.Name, DomainOf(&roots[i]), DomainOf(root))
		}
	}
	return 0, nil
}
