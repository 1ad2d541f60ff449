package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/vanilla"
)

// Tree is a tree that can be opened at a leaf.
type Tree interface {
	Path(index uint64) vanilla.Path
}

// Replica is what a proof of replication opens.
type Replica struct {
	Config    porep.Config
	CommR     vanilla.Domain
	CommD     vanilla.Domain
	ReplicaID vanilla.Domain
	Ticket    vanilla.Domain
	D, C, R   Tree
	Column    func(node uint64) []fr.Element // labels, layer 1 first
}

// Of is the replica of a sealed sector.
func Of(s *porep.Sector) *Replica {
	return &Replica{
		Config: s.Config, CommR: vanilla.DomainOf(&s.CommR), CommD: vanilla.DomainOf(&s.CommD),
		ReplicaID: s.ReplicaID, Ticket: s.Ticket,
		D: s.D, C: s.C, R: s.R, Column: s.Column,
	}
}

// Open makes the phase-1 output for a seed. The configuration must be that of
// a registered proof.
func (r *Replica) Open(seed vanilla.Domain) (*C1, error) {
	c := r.Config
	p, err := porep.FindProof(c.Size, c.API, c.Feature)
	if err != nil {
		return nil, fmt.Errorf("open a replica: %w", err)
	}
	if p.Config() != c {
		return nil, fmt.Errorf("open a replica: porep id %x is not that of %v", c.PorepID, p)
	}
	if c.Feature == porep.NonInteractive {
		return nil, fmt.Errorf("open a replica of %v: %w", p, ErrNonInteractive)
	}
	out := &C1{Proof: p, CommR: r.CommR, CommD: r.CommD, ReplicaID: r.ReplicaID, Seed: seed, Ticket: r.Ticket}
	out.Partitions, err = r.Challenges(seed)
	return out, err
}

// Challenges are the vanilla proofs of all partitions for a seed, of any
// configuration.
func (r *Replica) Challenges(seed vanilla.Domain) ([][]Challenge, error) {
	graph, err := porep.NewGraph(r.Config)
	if err != nil {
		return nil, fmt.Errorf("open a replica: %w", err)
	}
	var out [][]Challenge
	for k := range r.Config.Partitions() {
		nodes, err := r.Config.Challenge(porep.Draw{ReplicaID: r.ReplicaID, CommR: r.CommR, Seed: seed}, k)
		if err != nil {
			return nil, fmt.Errorf("open a replica: %w", err)
		}
		p := make([]Challenge, len(nodes))
		for i, v := range nodes {
			r.open(&p[i], graph, v)
		}
		out = append(out, p)
	}
	return out, nil
}

func (r *Replica) open(c *Challenge, graph *porep.Graph, node uint64) {
	c.Data, c.Replica = r.D.Path(node), r.R.Path(node)
	c.Columns[0] = r.column(node)
	for i, p := range graph.Parents(node) {
		c.Columns[1+i] = r.column(uint64(p))
	}
	layers := len(c.Columns[0].Rows)
	c.Labeling = make([]Labeling, layers)
	for l := range c.Labeling {
		c.Labeling[l] = c.labeling(l+1, node)
	}
	c.Encoding = c.labeling(layers, node)
}

func (r *Replica) column(node uint64) Column {
	return Column{Node: uint32(node), Rows: r.Column(node), Path: r.C.Path(node)}
}

// labeling repeats the labels that a layer's label hashes.
func (c *Challenge) labeling(layer int, node uint64) Labeling {
	l := Labeling{Layer: uint32(layer), Node: node}
	labels := c.ParentLabels(layer)
	for i := range l.Parents {
		l.Parents[i] = labels[i%len(labels)]
	}
	return l
}
