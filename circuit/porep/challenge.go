package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/label"
	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/gadget/sha256"
	"cuzk/porep"
	"cuzk/r1cs"
)

// challenge is the gadget of one challenged node. Its ports are the 255 bits of
// the replica id, comm_d, comm_c and comm_r_last; it has no outputs.
type challenge struct {
	*Circuit
	data *Challenge // nil without values
}

// Shape implements r1cs.Gadget.
func (g challenge) Shape() string { return "challenge" }

// Synthesize implements r1cs.Gadget.
func (g challenge) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	id := sha256.Swap(num.Bits(ports[:num.ElementBits]))
	commD, commC, commRLast := ports[num.ElementBits], ports[num.ElementBits+1], ports[num.ElementBits+2]

	data := s.Alloc(func() fr.Element { return g.data.Data })
	s.Call(g.dataPath(), []r1cs.Var{data, commD})

	parents := make([][]r1cs.Var, porep.Parents)
	for i := range parents {
		parents[i] = s.Call(g.column(i), []r1cs.Var{commC})
	}
	node := num.AllocUint64(s, func() uint64 { return g.data.Node })
	num.PackInputs(s, num.Bits(node))

	labels := make([]r1cs.Var, g.layers)
	for i := range labels {
		labels[i] = label.Create(s, &label.Label{
			Layer:     uint32(i + 1),
			ReplicaID: id,
			Node:      label.NodeBits(node),
			Parents:   parentBits(s, parents, i+1),
		})
	}
	replica := num.Add(s, labels[g.layers-1], data)
	s.Call(g.replicaPath(), []r1cs.Var{replica, commRLast})
	hash := poseidon.ForArity(g.layers).Call(s, labels)
	s.Call(g.columnPath(), []r1cs.Var{hash, commC})
	return nil
}

// parentBits decomposes the parents' labels that the layer's label hashes: the
// DRG parents' of the same layer, the expander parents' of the one before.
func parentBits(s r1cs.System, parents [][]r1cs.Var, layer int) [][]boolean.Bit {
	out := make([][]boolean.Bit, porep.LayerParents(layer))
	for i := range out {
		out[i] = sha256.NodeBits(s, parents[i][parentLayer(i, layer)-1])
	}
	return out
}

// parentLayer is the layer in which parent i's label enters a label of a layer.
func parentLayer(i, layer int) int {
	if i < porep.DRGParents {
		return layer
	}
	return layer - 1
}

// sha is the hasher of tree D.
func sha(int) merkle.Hasher { return sha256.Hash2{} }

func (g challenge) dataPath() merkle.Path {
	p := merkle.Path{Tree: "D", Arities: g.d, Hash: sha}
	if g.data != nil {
		p.Steps = g.data.DataPath
	}
	return p
}

func (g challenge) replicaPath() merkle.Path {
	p := merkle.Path{Tree: "R", Arities: g.c, Hash: merkle.PoseidonOf}
	if g.data != nil {
		p.Steps = g.data.ReplicaPath
	}
	return p
}

func (g challenge) columnPath() merkle.Path {
	p := merkle.Path{Tree: "C", Arities: g.c, Hash: merkle.PoseidonOf}
	if g.data != nil {
		p.Steps = g.data.ColumnPath
	}
	return p
}

// column is the gadget of a parent's column: it allocates the labels, hashes
// them and proves the hash's place in tree C. Its port is comm_c, its outputs
// are the labels.
type column struct {
	challenge
	data *Column // nil without values
}

func (g challenge) column(i int) column {
	c := column{challenge: challenge{Circuit: g.Circuit}}
	if g.data != nil {
		c.data = &g.data.Parents[i]
	}
	return c
}

// Shape implements r1cs.Gadget.
func (c column) Shape() string { return fmt.Sprintf("column-%d", c.layers) }

// Synthesize implements r1cs.Gadget.
func (c column) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	labels := make([]r1cs.Var, c.layers)
	for i := range labels {
		labels[i] = s.Alloc(func() fr.Element { return c.data.Labels[i] })
	}
	hash := poseidon.ForArity(c.layers).Call(s, labels)
	s.Call(c.path(), []r1cs.Var{hash, ports[0]})
	return labels
}

func (c column) path() merkle.Path {
	p := c.columnPath()
	if c.data != nil {
		p.Steps = c.data.Path
	}
	return p
}
