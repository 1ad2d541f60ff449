package sample

import (
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/vanilla"
	"cuzk/vanilla/snap"
)

// updateTree is a tree that an update opens and whose nodes at one height it
// shows.
type updateTree interface {
	opener
	node(height int, index uint64) fr.Element
}

// update is everything that an update opens.
type update struct {
	rules          snap.Rules
	commC          fr.Element
	old, new, data updateTree
}

// fullTree is a tree of a sealed sector.
type fullTree struct{ *porep.Tree }

func (t fullTree) node(height int, index uint64) fr.Element { return t.Row(height)[index] }

// commR is the commitment to a replica of the sector.
func (u *update) commR(tree updateTree) fr.Element {
	return porep.CommR(u.commC, tree.node(len(u.rules.Size.Arities()), 0))
}

func (u *update) commD() fr.Element { return u.data.node(u.rules.NodeBits, 0) }

// input opens all partitions.
func (u *update) input(r snap.Registered) snap.Input {
	old, new, data := u.commR(u.old), u.commR(u.new), u.commD()
	in := snap.Input{Registered: r, CommROld: vanilla.DomainOf(&old), CommRNew: vanilla.DomainOf(&new), CommDNew: vanilla.DomainOf(&data)}
	for k := range u.rules.Partitions() {
		in.Proofs = append(in.Proofs, u.partition(k, new))
	}
	return in
}

// partition writes a PartitionProof in bincode: comm_c, the apex leaves, and
// for each challenge the paths of old node, data and new node.
func (u *update) partition(k int, commRNew fr.Element) []byte {
	size := u.rules.Size
	treeR, treeD := vanilla.TreeR(size), vanilla.TreeD(size)
	b := appendElements(nil, u.commC)
	n := u.rules.ApexLeaves()
	b = binary.LittleEndian.AppendUint64(b, uint64(n))
	for i := range n {
		b = appendElements(b, u.data.node(u.rules.ApexHeight(), uint64(k*n+i)))
	}
	nodes := u.rules.ChallengesOf(k, commRNew)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(nodes)))
	for _, v := range nodes {
		old, data, new := u.old.Path(v), u.data.Path(v), u.new.Path(v)
		b = appendPath(b, treeR, &old)
		b = appendPath(b, treeD, &data)
		b = appendPath(b, treeR, &new)
	}
	return b
}

// factors gives rho of a node.
type factors struct {
	rules snap.Rules
	rho   []fr.Element // by the top bits of a node
}

func newFactors(rules snap.Rules, commDNew, commROld fr.Element) *factors {
	f := &factors{rules, make([]fr.Element, 1<<rules.H)}
	phi := snap.Phi(commDNew, commROld)
	for i := range f.rho {
		f.rho[i] = snap.Rho(phi, uint64(i))
	}
	return f
}

// encode gives the new node from the old one and the data.
func (f *factors) encode(node uint64, old, data fr.Element) fr.Element {
	var e fr.Element
	e.Mul(&data, &f.rho[f.rules.High(node)])
	return *e.Add(&e, &old)
}

// SealedUpdate is a request for the update of a sealed sector with data,
// size·127/128 bytes. It also gives the new replica, node by node.
func SealedUpdate(r snap.Registered, old *porep.Sector, data []byte) (snap.Input, []byte, error) {
	rules, err := snap.RulesFor(r.Size)
	if err != nil {
		return snap.Input{}, nil, err
	}
	if old.Config.Size != r.Size {
		return snap.Input{}, nil, fmt.Errorf("sector %d has %v, %s is of %v", old.SectorID, old.Config.Size, r.Name, r.Size)
	}
	padded, err := porep.Pad(data)
	if err != nil {
		return snap.Input{}, nil, err
	}
	if uint64(len(padded)) != uint64(r.Size) {
		return snap.Input{}, nil, fmt.Errorf("%d bytes of data, a %v sector takes %d", len(data), r.Size, r.Size/128*127)
	}
	u := &update{rules: rules, commC: old.CommC, old: fullTree{old.R}}
	nodes := make([]fr.Element, r.Size.Nodes())
	for i := range nodes {
		d := vanilla.Domain(padded[i*sector.NodeSize:])
		nodes[i], _ = d.Element() // padded nodes have 254 bits
	}
	tree := porep.NewTree(vanilla.TreeD(r.Size), nodes, old.Workers)
	u.data = fullTree{tree}
	f := newFactors(rules, u.commD(), old.CommR)
	replica := make([]fr.Element, len(nodes))
	for v := range replica {
		replica[v] = f.encode(uint64(v), old.R.Leaf(uint64(v)), nodes[v])
	}
	u.new = fullTree{porep.NewTree(vanilla.TreeR(r.Size), replica, old.Workers)}
	return u.input(r), appendElements(nil, replica...), nil
}

// Update is a sample of an update. 32 GiB take about 20,000 Poseidon hashes.
func Update(r snap.Registered, seed uint64) (snap.Input, error) {
	rules, err := snap.RulesFor(r.Size)
	if err != nil {
		return snap.Input{}, fmt.Errorf("sample of %s: %w", r.Name, err)
	}
	src, nodes := source{seed}, r.Size.Nodes()
	old := newPatterned(vanilla.TreeR(r.Size), nodes, pattern, func(i uint64) fr.Element { return src.element("old replica", i, 0) })
	data := newPatterned(vanilla.TreeD(r.Size), nodes, pattern, func(i uint64) fr.Element { return src.element("new data", i, 0) })
	u := &update{rules: rules, commC: src.element("comm_c", 0, 0), old: old, data: data}
	f := newFactors(rules, u.commD(), u.commR(old))
	// Nodes with the same top bits have the same rho.
	u.new = newPatterned(vanilla.TreeR(r.Size), nodes>>rules.H, pattern, func(i uint64) fr.Element {
		return f.encode(i, old.node(0, i), data.node(0, i))
	})
	return u.input(r), nil
}
