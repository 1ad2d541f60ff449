package post

import (
	"crypto/sha256"
	"encoding/binary"

	"cuzk/sector"
	"cuzk/vanilla"
)

// LeafChallenge is the position of the leaf that randomness demands of a
// sector: the first eight bytes of SHA-256(randomness ‖ sector ‖ index), taken
// modulo the number of leaves.
func LeafChallenge(randomness vanilla.Domain, sectorID, index uint64, size sector.Size) uint64 {
	var buf [48]byte
	copy(buf[:], randomness[:])
	binary.LittleEndian.PutUint64(buf[32:], sectorID)
	binary.LittleEndian.PutUint64(buf[40:], index)
	h := sha256.Sum256(buf[:])
	return binary.LittleEndian.Uint64(h[:]) % size.Nodes()
}

// WinningSector is the position, in a set of count sectors, of the n-th sector
// that a WinningPoSt must prove; count > 0.
func WinningSector(randomness, proverID vanilla.Domain, n, count uint64) uint64 {
	var buf [72]byte
	copy(buf[:], proverID[:])
	copy(buf[32:], randomness[:])
	binary.LittleEndian.PutUint64(buf[64:], n)
	h := sha256.Sum256(buf[:])
	return binary.LittleEndian.Uint64(h[:]) % count
}

// challengeIndex is the index that LeafChallenge hashes for leaf n of the
// sector at a position in the whole proof, counted over partitions.
func (r Registered) challengeIndex(position, n int) uint64 {
	if r.PerSector {
		return uint64(n)
	}
	if r.Kind == Winning {
		// The circuit has the sector once for each leaf, with one challenge each.
		return uint64(n)
	}
	return uint64(position)*uint64(r.ChallengeCount()) + uint64(n)
}
