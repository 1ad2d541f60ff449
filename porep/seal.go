package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/sector"
	"cuzk/vanilla"
)

// MaxSeal is the largest sector that is sealed here: sealing serves tests and
// demonstrations, and everything is kept in memory.
const MaxSeal = sector.Size8MiB

// Order is what a sector is sealed from, besides its data.
type Order struct {
	Config   Config
	ProverID [32]byte
	SectorID uint64
	Ticket   [32]byte
	Workers  int // goroutines; at least one is used
}

// Sector is a sealed sector with everything that proofs of it open.
type Sector struct {
	Order
	ReplicaID                      [32]byte
	CommD, CommC, CommRLast, CommR fr.Element
	Layers                         Layers
	D, C, R                        *Tree
}

// Seal pads data, size·127/128 bytes, and seals it.
func Seal(o Order, data []byte) (*Sector, error) {
	size := o.Config.Size
	if !size.Valid() || size > MaxSeal {
		return nil, fmt.Errorf("seal: sector size %v is not among the sizes up to %v that are sealed here", size, MaxSeal)
	}
	if want := int(size) / paddedUnit * unpaddedUnit; len(data) != want {
		return nil, fmt.Errorf("seal: %d bytes of data, a %v sector takes %d", len(data), size, want)
	}
	padded, err := Pad(data)
	if err != nil {
		return nil, err
	}
	s := &Sector{Order: o}
	if err := s.label(padded); err != nil {
		return nil, err
	}
	return s, nil
}

// label makes the tree of the data, the replica id, the labels and the other
// trees.
func (s *Sector) label(padded []byte) error {
	size := s.Config.Size
	graph, err := NewGraph(s.Config)
	if err != nil {
		return fmt.Errorf("seal: %w", err)
	}
	s.D = NewTree(vanilla.TreeD(size), elements(padded), s.Workers)
	s.CommD = s.D.Root()
	s.ReplicaID = ReplicaID(s.ProverID, s.SectorID, s.Ticket, bytesOf(s.CommD), s.Config.PorepID)
	s.Layers = NewLayers(graph, s.ReplicaID, size.Layers(), s.Workers)
	s.C = NewTree(vanilla.TreeR(size), s.columnHashes(), s.Workers)
	s.R = NewTree(vanilla.TreeR(size), s.encode(), s.Workers)
	s.CommC, s.CommRLast = s.C.Root(), s.R.Root()
	s.CommR = CommR(s.CommC, s.CommRLast)
	return nil
}

// CommR is the commitment to a replica, from the roots of trees C and R.
func CommR(commC, commRLast fr.Element) fr.Element {
	return poseidon.ForArity(2).Hash([]fr.Element{commC, commRLast})
}

// Column lists the labels of a node, layer 1 first.
func (s *Sector) Column(node uint64) []fr.Element {
	out := make([]fr.Element, len(s.Layers))
	for l := range out {
		out[l] = labelElement(s.Layers[l][node])
	}
	return out
}

func (s *Sector) columnHashes() []fr.Element {
	out := make([]fr.Element, s.Config.Size.Nodes())
	hash := poseidon.ForArity(len(s.Layers))
	split(len(out), s.Workers, func(from, to int) {
		columns := make([][]fr.Element, to-from)
		for i := range columns {
			columns[i] = s.Column(uint64(from + i))
		}
		hash.HashMany(out[from:to], columns)
	})
	return out
}

// encode adds the last layer's labels to the data.
func (s *Sector) encode() []fr.Element {
	out := make([]fr.Element, s.Config.Size.Nodes())
	last := s.Layers[len(s.Layers)-1]
	for v := range out {
		data, key := s.D.Leaf(uint64(v)), labelElement(last[v])
		out[v].Add(&data, &key)
	}
	return out
}

// Sealed is the replica, node by node.
func (s *Sector) Sealed() []byte { return nodeBytes(s.R.Row(0)) }

// Staged is the padded data, node by node.
func (s *Sector) Staged() []byte { return nodeBytes(s.D.Row(0)) }

func nodeBytes(nodes []fr.Element) []byte {
	out := make([]byte, 0, len(nodes)*sector.NodeSize)
	for _, e := range nodes {
		b := bytesOf(e)
		out = append(out, b[:]...)
	}
	return out
}

// elements reads padded data, whose nodes have 254 bits each.
func elements(padded []byte) []fr.Element {
	out := make([]fr.Element, len(padded)/sector.NodeSize)
	for i := range out {
		out[i] = labelElement([32]byte(padded[i*sector.NodeSize:]))
	}
	return out
}

// labelElement reads 32 bytes with the two top bits clear, which are below the
// modulus always.
func labelElement(b [32]byte) fr.Element {
	e, _ := fr.LittleEndian.Element(&b)
	return e
}
