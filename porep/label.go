package porep

import (
	"crypto/sha256"
	"encoding/binary"
)

// LabelParents is the number of parent labels that one label hashes: the
// parents are repeated in order until there are so many.
const LabelParents = 37

// labelHead is the length of what precedes the parents: replica id, layer,
// node, zeros.
const labelHead = 64

// Label is the label of a node in a layer (from 1). parents are those of
// [ParentLabels]; node 0 has none. The two top bits are cleared so that the
// result is a field element.
func Label(replicaID [32]byte, layer uint32, node uint64, parents [][32]byte) [32]byte {
	var buf [labelHead + LabelParents*32]byte
	copy(buf[:], replicaID[:])
	binary.BigEndian.PutUint32(buf[32:], layer)
	binary.BigEndian.PutUint64(buf[36:], node)
	end := labelHead
	if len(parents) > 0 {
		for i := range LabelParents {
			copy(buf[end:], parents[i%len(parents)][:])
			end += 32
		}
	}
	return mask(sha256.Sum256(buf[:end]))
}

// mask clears the two bits that would not fit a field element.
func mask(x [32]byte) [32]byte {
	x[31] &= 0x3f
	return x
}

// LayerParents is the number of distinct parents whose labels a label of the
// layer hashes: DRG parents alone in layer 1, all from layer 2 on.
func LayerParents(layer int) int {
	if layer == 1 {
		return DRGParents
	}
	return Parents
}

// HashNodes is the hash of the data tree: SHA-256 of two nodes, cut to 254 bits.
func HashNodes(left, right [32]byte) [32]byte {
	var buf [64]byte
	copy(buf[:32], left[:])
	copy(buf[32:], right[:])
	return mask(sha256.Sum256(buf[:]))
}
