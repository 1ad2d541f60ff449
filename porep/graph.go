package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"

	"golang.org/x/crypto/blake2b"
)

// Degrees of the two graphs.
const (
	DRGParents      = 6 // parents in the depth-robust graph
	ExpanderParents = 8 // parents in the expander
	Parents         = DRGParents + ExpanderParents
)

// bucket is the number of sampled DRG parents and also the number of nodes
// that the sampler puts in place of one (the metagraph degree of DRSample).
const bucket = DRGParents - 1

// Graph tells the parents of the nodes of a replica.
type Graph struct {
	nodes uint64
	api   API
	seed  [28]byte // of the DRG generator, the node number is appended
	expander
}

// NewGraph prepares the graph of a configuration.
func NewGraph(c Config) (*Graph, error) {
	if !c.Size.Valid() {
		return nil, fmt.Errorf("graph: sector size %v is not supported", c.Size)
	}
	g := &Graph{nodes: c.Size.Nodes(), api: c.API}
	drg := domainSeed("Filecoin_DRSample", c.PorepID)
	copy(g.seed[:], drg[:])
	g.expander = newExpander(g.nodes*ExpanderParents, domainSeed("Filecoin_Feistel", c.PorepID))
	return g, nil
}

// domainSeed separates the uses of a porep id.
func domainSeed(tag string, porepID [32]byte) [32]byte {
	return sha256.Sum256(append([]byte(tag), porepID[:]...))
}

// Nodes is the number of nodes of the graph.
func (g *Graph) Nodes() uint64 { return g.nodes }

// Parents lists the parents of node v < Nodes: six DRG parents, then eight
// expander parents, both in the order in which labels hash them.
func (g *Graph) Parents(v uint64) (p [Parents]uint32) {
	g.drg(v, (*[DRGParents]uint32)(p[:DRGParents]))
	for i := range uint64(ExpanderParents) {
		x := g.permute(ExpanderParents*v + i)
		if g.api == APIv1_0 {
			x = uint64(uint32(x)) // the first version stored indices in 32 bits
		}
		p[DRGParents+i] = uint32(x / ExpanderParents)
	}
	return p
}

// drg samples five parents and adds the predecessor. Nodes 0 and 1 have node 0
// six times.
func (g *Graph) drg(v uint64, p *[DRGParents]uint32) {
	if v < 2 {
		return
	}
	first, sampled := 0, p[:bucket]
	if g.api == APIv1_0 {
		first = bucket
	} else {
		sampled = p[1:]
	}
	p[first] = uint32(v - 1)
	var seed [32]byte
	copy(seed[:], g.seed[:])
	binary.LittleEndian.PutUint32(seed[28:], uint32(v))
	rng := newChacha8(&seed)
	for i := range sampled {
		sampled[i] = uint32(sampleParent(rng, v))
	}
}

// sampleParent draws a distance whose logarithm is nearly uniform.
func sampleParent(rng *chacha8, v uint64) uint64 {
	n := bucket * v
	buckets := uint64(bits.Len64(n - 1)) // ceil(log2 n)
	b := rng.uint64()%buckets + 1
	large := min(n, 1<<b)
	small := max(2, large>>1)
	dist := small + rng.uint64()%(large-small+1)
	p := (n - dist) / bucket
	if p == v {
		p--
	}
	return p
}

// expander is a Feistel permutation of 0..n-1, walked along its cycle until
// the result is in range.
type expander struct {
	n     uint64
	half  uint // bits of one half
	right uint64
	keys  [3]uint64 // one a round
}

func newExpander(n uint64, seed [32]byte) expander {
	e := expander{n: n, half: 1}
	for m := uint64(4); m < n; m *= 4 {
		e.half++
	}
	e.right = 1<<e.half - 1
	for i := range e.keys {
		e.keys[i] = binary.LittleEndian.Uint64(seed[8*i:])
	}
	return e
}

func (e *expander) permute(x uint64) uint64 {
	for {
		x = e.encode(x)
		if x < e.n {
			return x
		}
	}
}

func (e *expander) encode(x uint64) uint64 {
	l, r := x>>e.half, x&e.right
	for _, key := range e.keys {
		l, r = r, l^(feistel(r, key)&e.right)
	}
	return l<<e.half | r
}

// feistel is the round function: the first eight bytes, big-endian, of
// BLAKE2b-512 of value and key.
func feistel(value, key uint64) uint64 {
	var in [16]byte
	binary.BigEndian.PutUint64(in[:8], value)
	binary.BigEndian.PutUint64(in[8:], key)
	sum := blake2b.Sum512(in[:])
	return binary.BigEndian.Uint64(sum[:8])
}
