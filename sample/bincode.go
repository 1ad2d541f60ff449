package sample

import (
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/vanilla"
)

// appendPath writes a Merkle path as bincode: variant, then for a Single one
// root, leaf and path, for the others the paths and then root and leaf.
func appendPath(b []byte, t *vanilla.Tree, p *vanilla.Path) []byte {
	levels := []int{len(t.Arities)}
	switch {
	case t.Top:
		levels = []int{len(t.Arities) - 2, 1, 1}
	case t.Sub:
		levels = []int{len(t.Arities) - 1, 1}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(levels)-1))
	if len(levels) == 1 {
		b = appendElements(b, p.Root, p.Leaf)
	}
	at := 0
	for _, n := range levels {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
		for range n {
			b = appendLevel(b, t, p, at)
			at++
		}
	}
	if len(levels) > 1 {
		b = appendElements(b, p.Root, p.Leaf)
	}
	return b
}

// appendLevel writes the siblings of a level and the node's digit.
func appendLevel(b []byte, t *vanilla.Tree, p *vanilla.Path, i int) []byte {
	siblings, digit := p.Level(t, i)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(siblings)))
	b = appendElements(b, siblings...)
	return binary.LittleEndian.AppendUint64(b, uint64(digit))
}

func appendElements(b []byte, es ...fr.Element) []byte {
	for i := range es {
		d := vanilla.DomainOf(&es[i])
		b = append(b, d[:]...)
	}
	return b
}
