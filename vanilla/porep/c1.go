package porep

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/vanilla"
)

// C1 is a decoded phase-1 output.
type C1 struct {
	Proof     porep.Proof
	CommR     vanilla.Domain
	CommD     vanilla.Domain
	ReplicaID vanilla.Domain
	Seed      vanilla.Domain
	Ticket    vanilla.Domain
	// Sample says how a sample was made; empty in a real one.
	Sample string
	// Wrapper is what stood around the phase-1 output, nil if nothing did.
	Wrapper *Wrapper
	// Partitions in order; every one has Proof.Config().Challenges() challenges.
	Partitions [][]Challenge
}

// Wrapper is the object that storage software sends: the phase-1 output as
// base64 with the sector that it is of.
type Wrapper struct {
	SectorNum  uint64
	SectorSize uint64
}

// Challenge is the vanilla proof of one challenged node.
type Challenge struct {
	// Data is the path of the data node in tree D; binary, SHA-256.
	Data vanilla.Path
	// Columns are those of the challenged node and of its parents, six in the
	// depth-robust graph and eight in the expander, in the graph's order.
	Columns [1 + porep.Parents]Column
	// Replica is the path of the replica node in tree R.
	Replica vanilla.Path
	// Labeling repeats, for each layer, the labels that the node's label
	// hashes; Encoding does so for the last layer. Proving does not need them.
	Labeling []Labeling
	Encoding Labeling
}

// Node is the challenged node.
func (c *Challenge) Node() uint64 { return c.Data.Index }

// Column is the labels of one node with its place in tree C.
type Column struct {
	Node uint32
	Rows []fr.Element // label in layer i+1
	Path vanilla.Path // of the column's hash
}

// Labeling lists the labels that one label hashes.
type Labeling struct {
	Parents [porep.LabelParents]vanilla.Domain
	Layer   uint32
	Node    uint64
}

// Bytes is the memory held by the partitions.
func (c *C1) Bytes() int {
	n := 0
	for _, p := range c.Partitions {
		for i := range p {
			ch := &p[i]
			n += challengeBytes + len(ch.Labeling)*labelingBytes
			n += fr.Bytes * (len(ch.Data.Siblings) + len(ch.Replica.Siblings))
			for j := range ch.Columns {
				n += fr.Bytes * (len(ch.Columns[j].Rows) + len(ch.Columns[j].Path.Siblings))
			}
		}
	}
	return n
}

// Strip drops what proving does not need. Check first.
func (c *C1) Strip() {
	for _, p := range c.Partitions {
		for i := range p {
			p[i].Labeling = nil
		}
	}
}
