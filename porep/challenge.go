package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/chacha20"
)

// Separators of the hashes behind synthetic and non-interactive challenges.
const (
	tagNonInteractive = "filecoin.io|PoRep|1|NonInteractive|1"
	tagGeneration     = "filecoin.io|PoRep|1|Synthetic|1|Generation"
	tagSelection      = "filecoin.io|PoRep|1|Synthetic|1|Selection"
	nonceSynthetic    = "synth-porep\x00"
	// maxSynthetic bounds the set that synthetic challenges are chosen from.
	maxSynthetic = 1 << 18
)

// Draw is what the challenges of a replica are drawn from. Interactive proofs
// do not look at CommR, non-interactive ones not at Seed.
type Draw struct {
	ReplicaID, CommR, Seed [32]byte
}

// Challenge lists the challenged nodes of partition k, in order. Nodes are 1
// to nodes-1 and may repeat.
func (c Config) Challenge(d Draw, k int) ([]uint64, error) {
	if k < 0 || k >= c.Partitions() {
		return nil, fmt.Errorf("partition %d of %d", k, c.Partitions())
	}
	first, n := uint32(k*c.Challenges()), c.Challenges()
	switch c.Feature {
	case Interactive:
		return hashed(c.Size.Nodes(), first, n, d.ReplicaID[:], d.Seed[:]), nil
	case NonInteractive:
		return hashed(c.Size.Nodes(), first, n, []byte(tagNonInteractive), d.ReplicaID[:], d.CommR[:]), nil
	default:
		return synthetic(c.Size.Nodes(), first, n, d, maxSynthetic)
	}
}

// hashed draws challenges first..first+n-1, each from the hash of the prefix
// and its number.
func hashed(nodes uint64, first uint32, n int, prefix ...[]byte) []uint64 {
	var in []byte
	for _, p := range prefix {
		in = append(in, p...)
	}
	out := make([]uint64, n)
	for i := range out {
		sum := sha256.Sum256(binary.LittleEndian.AppendUint32(in[:len(in):len(in)], first+uint32(i)))
		out[i] = nonzeroNode(sum, nodes)
	}
	return out
}

// nonzeroNode maps 32 bytes, read as a little-endian integer, to 1..nodes-1.
func nonzeroNode(x [32]byte, nodes uint64) uint64 {
	rem := uint64(0)
	for i := 24; i >= 0; i -= 8 {
		_, rem = bits.Div64(rem, binary.LittleEndian.Uint64(x[i:]), nodes-1)
	}
	return rem + 1
}

// synthetic selects challenges out of the set that replica id and comm_r fix.
// limit bounds the size of the set; anything but maxSynthetic is for tests.
func synthetic(nodes uint64, first uint32, n int, d Draw, limit uint64) ([]uint64, error) {
	set, err := keystream(tagGeneration, d.ReplicaID[:], d.CommR[:])
	if err != nil {
		return nil, err
	}
	choice, err := keystream(tagSelection, d.ReplicaID[:], d.Seed[:])
	if err != nil {
		return nil, err
	}
	out := make([]uint64, n)
	for i := range out {
		at := choice.at(first+uint32(i), 4)
		member := uint64(binary.LittleEndian.Uint32(at)) % min(nodes, limit)
		out[i] = nonzeroNode([32]byte(set.at(uint32(member), 32)), nodes)
	}
	return out, nil
}

// stream is a seekable ChaCha20 keystream.
type stream struct{ key [32]byte }

// keystream is keyed with BLAKE2b, itself keyed with tag, of the parts.
func keystream(tag string, parts ...[]byte) (*stream, error) {
	h, err := blake2b.New256([]byte(tag))
	if err != nil {
		return nil, fmt.Errorf("synthetic challenges: %w", err)
	}
	for _, p := range parts {
		h.Write(p)
	}
	return &stream{[32]byte(h.Sum(nil))}, nil
}

// at reads item i of the keystream cut into items of size bytes; size divides
// the 64 bytes of a block.
func (s *stream) at(i, size uint32) []byte {
	// The only error is a key or nonce of the wrong length; both are constant.
	c, _ := chacha20.NewUnauthenticatedCipher(s.key[:], []byte(nonceSynthetic))
	perBlock := 64 / size
	c.SetCounter(i / perBlock)
	block := make([]byte, 64)
	c.XORKeyStream(block, block)
	return block[i%perBlock*size:][:size]
}
