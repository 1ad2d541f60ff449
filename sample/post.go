package sample

import (
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/vanilla"
	"cuzk/vanilla/post"
)

// opener is a tree that can be opened at a leaf.
type opener interface {
	Path(index uint64) vanilla.Path
}

// postSector is what a PoSt needs of one sector.
type postSector struct {
	id                      uint64
	commR, commC, commRLast fr.Element
	tree                    opener // tree R
}

// challenges are the leaves that a PoSt demands of the sector at a position.
// The index that is hashed counts over all sectors but where the api version
// or the kind lets each sector stand alone.
func challenges(r post.Registered, randomness vanilla.Domain, id uint64, position int) []uint64 {
	n, first := sector.WindowChallenges, position*sector.WindowChallenges
	if r.Kind == post.Winning {
		n = sector.WinningChallenges
	}
	if r.Kind == post.Winning || r.PerSector {
		first = 0
	}
	out := make([]uint64, n)
	for i := range out {
		out[i] = post.LeafChallenge(randomness, id, uint64(first+i), r.Size)
	}
	return out
}

// encode writes a FallbackPoStSectorProof in bincode: sector id, comm_r, one
// proof with the opened leaves, comm_c, comm_r_last.
func (s *postSector) encode(form *vanilla.Tree, leaves []uint64) []byte {
	b := make([]byte, 0, 128+len(leaves)*form.EncodedLen())
	b = binary.LittleEndian.AppendUint64(b, s.id)
	b = appendElements(b, s.commR)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(leaves)))
	for _, v := range leaves {
		p := s.tree.Path(v)
		b = appendPath(b, form, &p)
	}
	return appendElements(b, s.commC, s.commRLast)
}

// SealedPoSt is a request for a PoSt of sealed sectors of one miner, which come
// in ascending order of their numbers. The randomness must be a field element.
func SealedPoSt(r post.Registered, sectors []*porep.Sector, randomness vanilla.Domain) (post.Input, error) {
	if len(sectors) == 0 {
		return post.Input{}, fmt.Errorf("PoSt without a sector")
	}
	in := post.Input{Registered: r, Randomness: randomness, ProverID: sectors[0].ProverID}
	form := vanilla.TreeR(r.Size)
	for i, s := range sectors {
		switch {
		case s.Config.Size != r.Size:
			return in, fmt.Errorf("sector %d has %v, %s is of %v", s.SectorID, s.Config.Size, r.Name, r.Size)
		case i > 0 && s.SectorID <= sectors[i-1].SectorID:
			return in, fmt.Errorf("sector %d comes after sector %d, want ascending numbers", s.SectorID, sectors[i-1].SectorID)
		}
		ps := &postSector{s.SectorID, s.CommR, s.CommC, s.CommRLast, s.R}
		in.Proofs = append(in.Proofs, ps.encode(form, challenges(r, randomness, s.SectorID, i)))
	}
	return in, nil
}

// PoSt is a sample of a PoSt over so many sectors, one for a WinningPoSt. A
// 32 GiB sector takes about 95 Poseidon hashes and 25 KB.
func PoSt(r post.Registered, sectors int, seed uint64, workers int) (post.Input, error) {
	if sectors < 1 || r.Kind == post.Winning && sectors > 1 {
		return post.Input{}, fmt.Errorf("sample of %s: %d sectors, want one, or more for a WindowPoSt", r.Name, sectors)
	}
	src := source{seed}
	in := post.Input{Registered: r, Randomness: src.text(r.Kind.String()), ProverID: proverID(), Proofs: make([][]byte, sectors)}
	form := vanilla.TreeR(r.Size)
	each(sectors, workers, func(i int) {
		id := uint64(i + 1)
		leaves := challenges(r, in.Randomness, id, i)
		in.Proofs[i] = samplePoStSector(form, src, id, leaves).encode(form, leaves)
	})
	return in, nil
}

// samplePoStSector makes up a sector that can be opened at some leaves.
func samplePoStSector(form *vanilla.Tree, src source, id uint64, leaves []uint64) *postSector {
	known := map[uint64]fr.Element{}
	for _, v := range leaves {
		known[v] = src.element("replica node", id, v)
	}
	tree := newSparse(form, known, 1, func(height int, index uint64) fr.Element {
		return src.element(fmt.Sprint("replica tree ", height), id, index)
	})
	s := &postSector{id: id, commC: src.element("comm_c", id, 0), commRLast: tree.root(), tree: tree}
	s.commR = porep.CommR(s.commC, s.commRLast)
	return s
}
