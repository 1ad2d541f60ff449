package post

import (
	"cmp"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// Input is a request for a PoSt.
type Input struct {
	Registered Registered
	Randomness vanilla.Domain
	ProverID   vanilla.Domain
	Proofs     [][]byte // one bincode FallbackPoStSectorProof a sector, in any order
	// Only, if not nil, says that Proofs are the sectors of this one partition
	// of a WindowPoSt and that no others are to be proved.
	Only *int
}

// Proof is a decoded request: its partitions and what they are checked against.
type Proof struct {
	Registered Registered
	Tree       *vanilla.Tree
	Sectors    []*Sector // distinct ones, by ascending id
	Partitions []Partition
}

// Partition is the data of one circuit.
type Partition struct {
	Index int
	// Slots are the circuit's sectors. A partition that is not full repeats its
	// last one; repeated slots share their data.
	Slots []Slot
}

// Slot is one sector of a circuit.
type Slot struct {
	Sector *Sector
	Paths  []vanilla.Path // of the slot's challenges; part of Sector.Paths
}

// New decodes a request and compares the positions of its paths with the
// challenges. What remains to be done is [Sector.Check] for all Sectors.
func New(in Input) (*Proof, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	p := &Proof{Registered: in.Registered, Tree: vanilla.TreeR(in.Registered.Size)}
	for i, data := range in.Proofs {
		s, err := DecodeSector(data, in.Registered)
		if err != nil {
			return nil, vanilla.At(err, "vanilla proof %d", i)
		}
		p.Sectors = append(p.Sectors, s)
	}
	if err := p.order(); err != nil {
		return nil, err
	}
	first := 0
	if in.Only != nil {
		first = *in.Only
	}
	for i, s := range p.Sectors {
		position := first*in.Registered.SectorCount() + i
		if err := s.checkChallenges(in.Registered, in.Randomness, position); err != nil {
			return nil, err
		}
	}
	p.divide(first)
	return p, nil
}

// check looks at what can be wrong before any proof is decoded.
func (in *Input) check() error {
	r := in.Registered
	if r.Kind != Winning && r.Kind != Window {
		return vanilla.Errorf("no registered PoSt proof given")
	}
	if _, err := in.Randomness.Element(); err != nil {
		return vanilla.At(err, "randomness %s (callers clear the two top bits of the last byte)", in.Randomness)
	}
	if _, err := in.ProverID.Element(); err != nil {
		return vanilla.At(err, "prover id %s", in.ProverID)
	}
	n := len(in.Proofs)
	switch {
	case n == 0:
		return vanilla.Errorf("no vanilla proofs: a PoSt needs at least one sector")
	case r.Kind == Winning && n != 1:
		return vanilla.Errorf("%d vanilla proofs for a WinningPoSt, want one", n)
	case in.Only == nil:
		return nil
	case r.Kind == Winning || *in.Only < 0:
		return vanilla.Errorf("partition %d of a %s PoSt does not exist", *in.Only, r.Kind)
	case n > r.SectorCount():
		return vanilla.Errorf("%d vanilla proofs for one partition, at most %d fit", n, r.SectorCount())
	}
	return nil
}

// order sorts by sector id, as verifiers do, and refuses a sector given twice.
func (p *Proof) order() error {
	slices.SortFunc(p.Sectors, func(a, b *Sector) int { return cmp.Compare(a.ID, b.ID) })
	for i := 1; i < len(p.Sectors); i++ {
		if id := p.Sectors[i].ID; id == p.Sectors[i-1].ID {
			return vanilla.Errorf("sector %d is given twice", id)
		}
	}
	return nil
}

// divide cuts the sectors into partitions, the first of which has the given
// index, and fills the last one up.
func (p *Proof) divide(first int) {
	per, k := p.Registered.SectorCount(), p.Registered.ChallengeCount()
	if p.Registered.Kind == Winning {
		s := p.Sectors[0]
		slots := make([]Slot, per)
		for n := range slots {
			slots[n] = Slot{s, s.Paths[n : n+1]}
		}
		p.Partitions = []Partition{{0, slots}}
		return
	}
	for group := range slices.Chunk(p.Sectors, per) {
		slots := make([]Slot, per)
		for n := range slots {
			s := group[min(n, len(group)-1)]
			slots[n] = Slot{s, s.Paths[:k]}
		}
		p.Partitions = append(p.Partitions, Partition{first + len(p.Partitions), slots})
	}
}

// Check hashes all sectors; see [Sector.Check].
func (p *Proof) Check() error {
	for _, s := range p.Sectors {
		if err := s.Check(p.Tree); err != nil {
			return err
		}
	}
	return nil
}

// PublicInputs are the public inputs of the partition's circuit without the
// leading one: for each slot comm_r and the positions of its leaves.
func (p *Partition) PublicInputs() []fr.Element {
	var out []fr.Element
	for _, s := range p.Slots {
		out = append(out, s.Sector.CommR)
		for i := range s.Paths {
			out = append(out, fr.NewElement(s.Paths[i].Index))
		}
	}
	return out
}
