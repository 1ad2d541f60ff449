package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// ReplicaID binds a replica to a miner, a sector, a ticket and its data.
func ReplicaID(proverID [32]byte, sectorID uint64, ticket, commD, porepID [32]byte) [32]byte {
	buf := make([]byte, 0, 4*32+8)
	buf = append(buf, proverID[:]...)
	buf = binary.BigEndian.AppendUint64(buf, sectorID)
	buf = append(buf, ticket[:]...)
	buf = append(buf, commD[:]...)
	buf = append(buf, porepID[:]...)
	return mask(sha256.Sum256(buf))
}

// ProverID is the 32 bytes that stand for a miner: the actor id as LEB128,
// zero-padded.
func ProverID(miner uint64) (id [32]byte) {
	binary.PutUvarint(id[:], miner)
	return id
}

// Statement is what a PoRep says: this replica holds that data.
type Statement struct {
	ReplicaID, CommD, CommR, Seed [32]byte
}

// Inputs counts the public inputs of a partition: four fixed ones and 18 a
// challenge, without the constant one.
func (c Config) Inputs() int { return 3 + (Parents+4)*c.Challenges() }

// PublicInputs are those of partition k, without the constant one: replica id,
// comm_d, comm_r, then for each challenge c: c, its 14 parents, c, c, c.
func (c Config) PublicInputs(s Statement, k int) ([]fr.Element, error) {
	challenges, err := c.Challenge(Draw{s.ReplicaID, s.CommR, s.Seed}, k)
	if err != nil {
		return nil, fmt.Errorf("public inputs: %w", err)
	}
	g, err := NewGraph(c)
	if err != nil {
		return nil, fmt.Errorf("public inputs: %w", err)
	}
	out := make([]fr.Element, 3, c.Inputs())
	for i, b := range [3]struct {
		name  string
		bytes [32]byte
	}{{"replica id", s.ReplicaID}, {"comm_d", s.CommD}, {"comm_r", s.CommR}} {
		if out[i], err = element(b.bytes); err != nil {
			return nil, fmt.Errorf("public inputs: %s: %w", b.name, err)
		}
	}
	for _, v := range challenges {
		out = append(out, fr.NewElement(v))
		for _, p := range g.Parents(v) {
			out = append(out, fr.NewElement(uint64(p)))
		}
		for range 3 {
			out = append(out, fr.NewElement(v))
		}
	}
	return out, nil
}

// element reads canonical little-endian bytes.
func element(b [32]byte) (fr.Element, error) {
	e, err := fr.LittleEndian.Element(&b)
	if err != nil {
		return e, fmt.Errorf("%x is not below the field modulus", b)
	}
	return e, nil
}

// bytesOf writes an element as 32 little-endian bytes.
func bytesOf(e fr.Element) (b [32]byte) {
	fr.LittleEndian.PutElement(&b, e)
	return b
}
