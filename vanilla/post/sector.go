package post

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/vanilla"
)

// Sector is the vanilla proof of one sector.
type Sector struct {
	ID        uint64
	CommR     fr.Element // public: H2(CommC, CommRLast)
	CommC     fr.Element // root of the tree of column hashes
	CommRLast fr.Element // root of the tree of the replica
	Paths     []vanilla.Path
}

// DecodeSector reads a bincode FallbackPoStSectorProof: sector id, comm_r, and
// one SectorProof of inclusion proofs, comm_c, comm_r_last.
func DecodeSector(data []byte, r Registered) (*Sector, error) {
	tree := vanilla.TreeR(r.Size)
	in := vanilla.NewReader(data)
	s := &Sector{ID: in.Uint64("sector id")}
	s.CommR = in.Element("comm_r")
	in.Length("sector proofs", 1, 1)
	if in.Length("inclusion proofs", r.leaves(), tree.EncodedLen()) {
		s.Paths = make([]vanilla.Path, r.leaves())
	}
	for n := range s.Paths {
		in.EnterN("challenge", n)
		s.Paths[n] = tree.Path(in)
		in.Leave()
		if in.Err() != nil {
			break
		}
	}
	s.CommC = in.Element("comm_c")
	s.CommRLast = in.Element("comm_r_last")
	if err := in.Close(); err != nil {
		return nil, vanilla.At(err, "sector %d", s.ID)
	}
	return s, nil
}

// checkChallenges compares the positions of the paths with the challenges of a
// sector at a position in the whole proof.
func (s *Sector) checkChallenges(r Registered, randomness vanilla.Domain, position int) error {
	for n := range s.Paths {
		want := LeafChallenge(randomness, s.ID, r.challengeIndex(position, n), r.Size)
		if got := s.Paths[n].Index; got != want {
			return vanilla.At(vanilla.Errorf("path is of leaf %d, the challenge is leaf %d (randomness, sector id, position or api version differ)", got, want),
				"sector %d: challenge %d", s.ID, n)
		}
	}
	return nil
}

// Check hashes: comm_r must follow from comm_c and comm_r_last, and every path
// must lead to comm_r_last. tree is that of the sector's size.
func (s *Sector) Check(tree *vanilla.Tree) error {
	if got := poseidon.ForArity(2).Hash([]fr.Element{s.CommC, s.CommRLast}); got != s.CommR {
		return vanilla.At(vanilla.Errorf("comm_r is %s, but comm_c and comm_r_last hash to %s",
			vanilla.DomainOf(&s.CommR), vanilla.DomainOf(&got)), "sector %d", s.ID)
	}
	paths := make([]*vanilla.Path, len(s.Paths))
	for n := range paths {
		paths[n] = &s.Paths[n]
	}
	if n, err := tree.CheckAll(paths, &s.CommRLast); err != nil {
		return vanilla.At(err, "sector %d: challenge %d", s.ID, n)
	}
	return nil
}
