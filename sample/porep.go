package sample

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/porep"
	"cuzk/vanilla"
	porepc1 "cuzk/vanilla/porep"
)

// pattern is the number of nodes after which the data of samples repeats:
// 2 KiB.
const pattern = 64

// ErrNeedsSector says that a sample cannot be had without sealing a sector too
// large for it.
var ErrNeedsSector = errors.New("its challenges depend on comm_r, so a sector must be sealed, which is done here up to 8MiB only")

// PoRepSample is a sample of a PoRep of any configuration.
type PoRepSample struct {
	porepc1.Identity
	Seed    vanilla.Domain
	Replica *porepc1.Replica
	mark    string
}

// PoRep makes the replica, or what is opened of it, for a configuration.
// 32 GiB take about 40,000 Poseidon hashes.
func PoRep(c porep.Config, seed uint64, workers int) (*PoRepSample, error) {
	src := source{seed}
	s := &PoRepSample{
		Identity: porepc1.Identity{ProverID: proverID(), SectorID: seed & (1<<32 - 1)},
		Seed:     src.text("seed"),
		mark:     fmt.Sprintf("made by cuzk sample from seed %d, no data of anybody", seed),
	}
	var err error
	if c.Feature == porep.Interactive {
		s.Replica, err = s.pretend(c, src, workers)
	} else {
		s.Replica, err = s.seal(c, src, workers)
	}
	if err != nil {
		return nil, fmt.Errorf("sample of %v: %w", c.Size, err)
	}
	return s, nil
}

// C1 opens the replica; the configuration must be that of a registered proof.
func (s *PoRepSample) C1() (*porepc1.C1, error) {
	c, err := s.Replica.Open(s.Seed)
	if err != nil {
		return nil, err
	}
	c.Sample = s.mark
	return c, nil
}

// seal seals a whole sector.
func (s *PoRepSample) seal(c porep.Config, src source, workers int) (*porepc1.Replica, error) {
	if c.Size > porep.MaxSeal {
		return nil, ErrNeedsSector
	}
	data := src.bytes("data", int(c.Size/128*127))
	sealed, err := porep.Seal(porep.Order{Config: c, ProverID: s.ProverID, SectorID: s.SectorID,
		Ticket: src.text("ticket"), Workers: workers}, data)
	if err != nil {
		return nil, err
	}
	return porepc1.Of(sealed), nil
}

// pretend makes what is opened, without a sector.
func (s *PoRepSample) pretend(c porep.Config, src source, workers int) (*porepc1.Replica, error) {
	graph, err := porep.NewGraph(c)
	if err != nil {
		return nil, err
	}
	data := newPatterned(vanilla.TreeD(c.Size), c.Size.Nodes(), pattern, func(i uint64) fr.Element { return src.element("data", i, 0) })
	commD := data.root()
	r := &porepc1.Replica{Config: c, CommD: vanilla.DomainOf(&commD), Ticket: src.text("ticket"), D: data}
	r.ReplicaID = porep.ReplicaID(s.ProverID, s.SectorID, r.Ticket, r.CommD, c.PorepID)
	columns := &columns{src: src, replicaID: r.ReplicaID, layers: c.Size.Layers(), labels: map[uint64][][32]byte{}}
	for k := range c.Partitions() {
		nodes, err := c.Challenge(porep.Draw{ReplicaID: r.ReplicaID, Seed: s.Seed}, k)
		if err != nil {
			return nil, err
		}
		columns.challenged = append(columns.challenged, nodes...)
	}
	columns.fill(graph)
	r.Column = columns.column
	hashColumns(r, columns, src, workers)
	return r, nil
}

// hashColumns makes trees C and R and comm_r.
func hashColumns(r *porepc1.Replica, columns *columns, src source, workers int) {
	form := vanilla.TreeR(r.Config.Size)
	other := func(use string) func(height int, index uint64) fr.Element {
		return func(height int, index uint64) fr.Element { return src.element(use, uint64(height), index) }
	}
	c := newSparse(form, columns.hashes(workers), workers, other("tree C"))
	replica := map[uint64]fr.Element{}
	for _, v := range columns.challenged {
		var node fr.Element
		data, column := r.D.Path(v).Leaf, columns.column(v)
		replica[v] = *node.Add(&data, &column[len(column)-1])
	}
	t := newSparse(form, replica, workers, other("tree R"))
	commR := porep.CommR(c.root(), t.root())
	r.C, r.R, r.CommR = c, t, vanilla.DomainOf(&commR)
}

// columns are the labels of challenged nodes and of their parents.
type columns struct {
	src        source
	replicaID  [32]byte
	layers     int
	challenged []uint64 // ascending and distinct after fill
	labels     map[uint64][][32]byte
}

// fill makes up the labels of parents and computes those of challenged nodes,
// layer by layer and within a layer by ascending node, so that a challenged
// node that is a parent of another has its label in time.
func (c *columns) fill(graph *porep.Graph) {
	slices.Sort(c.challenged)
	c.challenged = slices.Compact(c.challenged)
	parents := make([][porep.Parents]uint32, len(c.challenged))
	for i, v := range c.challenged {
		parents[i] = graph.Parents(v)
		c.labels[v] = make([][32]byte, c.layers)
	}
	for i := range parents {
		for _, p := range parents[i] {
			if c.labels[uint64(p)] == nil {
				c.labels[uint64(p)] = c.makeUp(uint64(p))
			}
		}
	}
	for layer := 1; layer <= c.layers; layer++ {
		for i, v := range c.challenged {
			c.labels[v][layer-1] = c.label(layer, v, parents[i])
		}
	}
}

func (c *columns) makeUp(v uint64) [][32]byte {
	out := make([][32]byte, c.layers)
	for l := range out {
		e := c.src.element("label", uint64(l+1), v)
		out[l] = vanilla.DomainOf(&e)
	}
	return out
}

func (c *columns) label(layer int, v uint64, parents [porep.Parents]uint32) [32]byte {
	in := make([][32]byte, porep.LayerParents(layer))
	for i := range in {
		row := layer - 1
		if i >= porep.DRGParents {
			row--
		}
		in[i] = c.labels[uint64(parents[i])][row]
	}
	return porep.Label(c.replicaID, uint32(layer), v, in)
}

// column lists the labels of a node as elements.
func (c *columns) column(v uint64) []fr.Element {
	out := make([]fr.Element, c.layers)
	for l := range out {
		d := vanilla.Domain(c.labels[v][l])
		out[l], _ = d.Element() // labels have 254 bits
	}
	return out
}

// hashes are the leaves of tree C that are known.
func (c *columns) hashes(workers int) map[uint64]fr.Element {
	nodes := slices.Collect(maps.Keys(c.labels))
	out := make([]fr.Element, len(nodes))
	hash := poseidon.ForArity(c.layers)
	chunks(len(nodes), workers, func(from, to int) {
		columns := make([][]fr.Element, to-from)
		for i := range columns {
			columns[i] = c.column(nodes[from+i])
		}
		hash.HashMany(out[from:to], columns)
	})
	leaves := map[uint64]fr.Element{}
	for i, v := range nodes {
		leaves[v] = out[i]
	}
	return leaves
}
