package snap

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/r1cs"
	"cuzk/vanilla/snap"
)

// challenge is the gadget of one challenged node; it has no outputs.
type challenge struct {
	c    *Circuit
	data *snap.Challenge // nil without values
}

func (c *Circuit) challenge(i int) challenge {
	if c.part == nil {
		return challenge{c: c}
	}
	return challenge{c, &c.part.Challenges[i]}
}

// ports are what a challenge takes: phi, the two roots, the bits that choose h,
// the bits of the node, lowest first, the apex leaves.
func (f *frame) ports(bits []r1cs.Var) []r1cs.Var {
	out := append([]r1cs.Var{f.phi, f.rootROld, f.rootRNew}, f.selectBits...)
	return append(append(out, bits...), f.apex...)
}

func (g challenge) Shape() string { return "challenge" }

func (g challenge) Synthesize(s r1cs.System, ports []r1cs.Var) []r1cs.Var {
	r := &g.c.rules
	phi, rootOld, rootNew := ports[0], ports[1], ports[2]
	choose, bits := ports[3:3+selectBits], ports[3+selectBits:3+selectBits+r.NodeBits]
	apex := ports[3+selectBits+r.NodeBits:]

	rho := poseidon.Custom1().Call(s, []r1cs.Var{phi, g.high(s, choose, bits)})
	old := s.Alloc(func() fr.Element { return g.data.Old.Leaf })
	data := s.Alloc(func() fr.Element { return g.data.Data.Leaf })
	fresh := encode(s, old, data, rho)

	g.path(s, old, rootOld, bits, func() []fr.Element { return g.data.Old.Siblings })
	g.path(s, fresh, rootNew, bits, func() []fr.Element { return g.data.New.Siblings })

	low := r.ApexHeight()
	leaf := num.Select(s, apex, bits[low:low+r.ApexBits])
	siblings := allocAll(s, low, func() []fr.Element { return g.data.Data.Siblings })
	num.Equal(s, merkle.Climb(s, data, binary(low), hashD, bits[:low], siblings), leaf)
	return nil
}

// high is the number of the node's top h bits for the chosen h: for each of the
// six, the packed bits and the same or zero, then their sum (13 rows).
func (g challenge) high(s r1cs.System, choose, bits []r1cs.Var) r1cs.Var {
	return highBits(s, g.c.rules.Hs[:], choose, bits)
}

func highBits(s r1cs.System, hs []int, choose, bits []r1cs.Var) r1cs.Var {
	var sum r1cs.LC
	kept := make([]r1cs.Var, len(hs))
	for i, h := range hs {
		packed := num.Pack(s, num.Bits(bits[len(bits)-h:]))
		kept[i] = num.Mul(s, packed, choose[i])
		sum = sum.Plus(kept[i])
	}
	selected := s.Alloc(func() (x fr.Element) {
		for _, v := range kept {
			y := s.Value(v)
			x.Add(&x, &y)
		}
		return x
	})
	s.Enforce(sum, r1cs.V(r1cs.One), r1cs.V(selected))
	return selected
}

// encode is the new replica's node: old + data·rho.
func encode(s r1cs.System, old, data, rho r1cs.Var) r1cs.Var {
	return num.Add(s, old, num.Mul(s, data, rho))
}

// path allocates the siblings of a path in tree R and ends in root.
func (g challenge) path(s r1cs.System, leaf, root r1cs.Var, bits []r1cs.Var, list func() []fr.Element) {
	n := 0
	for _, a := range g.c.arities {
		n += a - 1
	}
	siblings := allocAll(s, n, list)
	num.Equal(s, merkle.Climb(s, leaf, g.c.arities, merkle.PoseidonOf, bits, siblings), root)
}
