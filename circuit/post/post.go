// Package post is the circuit of both proofs of spacetime, WinningPoSt and
// WindowPoSt (storage-proofs-post 19.1, fallback/circuit.rs).
//
// Statement. For every sector, public comm_r = H(comm_c, comm_r_last), and for
// each of its challenges the public leaf index is that of a private leaf whose
// private path ends in comm_r_last. H is Poseidon of arity 2, paths have the
// arities of tree R. Neither prover, randomness nor sector id enter: they act
// through the challenges.
//
// Sizes. A sector has 313 + c·(530·b + s + t + 2) rows with c challenges, b
// base levels, s and t the rows of a sub and a top level (530, 387 or 314 for
// arity 8, 4, 2). Winning has 66 sectors (the one sector repeated) of 1
// challenge, window 2, 2,349 (32 GiB) or 2,300 (64 GiB) of 10. window-32GiB:
// 125,279,217 rows, 126,902,376 aux, 25,840 inputs.
//
// Order of synthesis, per sector: comm_r_last, comm_c, comm_r, input comm_r,
// H, the row comm_r = H; then a challenge: leaf, path (circuits.md D.4).
package post

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/r1cs"
	"cuzk/sector"
)

// Kind is WinningPoSt or WindowPoSt.
type Kind int

// The two kinds.
const (
	Winning Kind = iota
	Window
)

// String is the prefix of circuit names.
func (k Kind) String() string { return [...]string{"winning", "window"}[k] }

// Shape is the number of sectors of a circuit and of challenges of each.
func (k Kind) Shape(size sector.Size) (sectors, challenges int) {
	if k == Winning {
		return sector.WinningChallenges, 1
	}
	return size.WindowSectors(), sector.WindowChallenges
}

// Sector is the private and public data of one sector.
type Sector struct {
	CommR, CommC, CommRLast fr.Element
	Challenges              []Challenge
}

// Challenge is one leaf with its path to comm_r_last, leaf first.
type Challenge struct {
	Leaf  fr.Element
	Steps []merkle.Step
}

// Circuit is one partition. It implements r1cs.Circuit.
type Circuit struct {
	kind    Kind
	size    sector.Size
	arities []int
	sectors []*Sector // nil without values; pointers may repeat
}

// Blank is the circuit without values.
func Blank(kind Kind, size sector.Size) *Circuit {
	return &Circuit{kind: kind, size: size, arities: size.Arities()}
}

// New is the circuit with values: as many sectors as the kind has, each with as
// many challenges and path levels as it should. A padded partition repeats the
// pointer of its last sector.
func New(kind Kind, size sector.Size, sectors []*Sector) (*Circuit, error) {
	c := Blank(kind, size)
	n, challenges := kind.Shape(size)
	if len(sectors) != n {
		return nil, fmt.Errorf("%s takes %d sectors, not %d", c.Name(), n, len(sectors))
	}
	for i, s := range sectors {
		if i > 0 && s == sectors[i-1] {
			continue
		}
		if len(s.Challenges) != challenges {
			return nil, fmt.Errorf("%s: sector %d has %d challenges, not %d", c.Name(), i, len(s.Challenges), challenges)
		}
		for j := range s.Challenges {
			if err := c.fits(s.Challenges[j].Steps); err != nil {
				return nil, fmt.Errorf("%s: sector %d, challenge %d: %w", c.Name(), i, j, err)
			}
		}
	}
	c.sectors = sectors
	return c, nil
}

func (c *Circuit) fits(steps []merkle.Step) error {
	if len(steps) != len(c.arities) {
		return fmt.Errorf("path has %d levels, not %d", len(steps), len(c.arities))
	}
	for i, a := range c.arities {
		if len(steps[i].Siblings) != a-1 || steps[i].Index < 0 || steps[i].Index >= a {
			return fmt.Errorf("level %d of the path is not of arity %d", i, a)
		}
	}
	return nil
}

// Name implements r1cs.Circuit.
func (c *Circuit) Name() string { return fmt.Sprintf("%s-%s", c.kind, c.size) }

// Synthesize implements r1cs.Circuit.
func (c *Circuit) Synthesize(s r1cs.System) {
	n, _ := c.kind.Shape(c.size)
	for i := range n {
		s.Call(c.sector(i), nil)
	}
}

func (c *Circuit) sector(i int) sectorGadget {
	g := sectorGadget{c: c}
	if c.sectors != nil {
		g.data = c.sectors[i]
	}
	return g
}

// sectorGadget is one sector; it has neither ports nor outputs.
type sectorGadget struct {
	c    *Circuit
	data *Sector
}

func (g sectorGadget) Shape() string { return "sector" }

func (g sectorGadget) Synthesize(s r1cs.System, _ []r1cs.Var) []r1cs.Var {
	commRLast := s.Alloc(func() fr.Element { return g.data.CommRLast })
	commC := s.Alloc(func() fr.Element { return g.data.CommC })
	commR := s.Alloc(func() fr.Element { return g.data.CommR })
	num.Inputize(s, commR)
	h := poseidon.ForArity(2).Call(s, []r1cs.Var{commC, commRLast})
	num.Equal(s, commR, h)
	_, challenges := g.c.kind.Shape(g.c.size)
	for i := range challenges {
		leaf := s.Alloc(func() fr.Element { return g.data.Challenges[i].Leaf })
		s.Call(g.path(i), []r1cs.Var{leaf, commRLast})
	}
	return nil
}

func (g sectorGadget) path(i int) merkle.Path {
	p := merkle.Path{Tree: "R", Arities: g.c.arities, Hash: merkle.PoseidonOf}
	if g.data != nil {
		p.Steps = g.data.Challenges[i].Steps
	}
	return p
}
