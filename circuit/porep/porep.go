// Package porep is the circuit of one partition of a proof of replication
// (storage-proofs-porep 19.1, stacked/circuit).
//
// Statement. With public replica id, comm_d and comm_r there are comm_c and
// comm_r_last with comm_r = H2(comm_c, comm_r_last), and for each challenged
// node, public with its 14 parents as the indices of Merkle paths:
//
//   - a data node at the challenge's place under comm_d (SHA-256, binary);
//   - for each parent a column of labels whose hash is at its place under
//     comm_c (Poseidon);
//   - the node's label in each layer, SHA-256 over replica id, layer, node and
//     the parents' labels (package label);
//   - the replica node, last label plus data node, at its place under
//     comm_r_last (Poseidon);
//   - the column of the node's own labels under comm_c.
//
// Nothing says which nodes are the parents: that is checked outside, by
// comparing the public inputs.
//
// Order of synthesis: the preamble (replica id and its bits, comm_d, comm_r,
// comm_r_last, comm_c, H2), then the challenges, each in the order above, with
// the challenge's own 64 bits between columns and labels (circuits.md C.6).
//
// Sizes. Preamble: 571 rows, 571 variables, 3 inputs. A challenge has 18 inputs
// and, with L layers,
//
//	PoR_D + 15·(col + PoR_C) + 65 + Σ_layer (522,269 + 256·(6 or 14)) + 1 + PoR_R
//
// rows, where PoR_D = 45,382·log2(nodes) + 2; PoR_C = PoR_R are 2 and the levels
// of package merkle; col = 311 (L = 2) or 598 (L = 11). 32 GiB: 7,237,665 rows
// and 7,231,629 variables a challenge, of which 7,137,252 are bits; with 18
// challenges 130,278,541 rows, 130,169,893 variables (1,699,102 elements, the
// rest bits), 328 inputs. Compiled that is 39 templates with 377,422 distinct
// rows and 16,635 instances; TestTemplates checks these numbers.
package porep

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/gadget/sha256"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/sector"
)

// Data is what one partition proves, public and private.
type Data struct {
	ReplicaID, CommD, CommR fr.Element // public
	CommC, CommRLast        fr.Element
	Challenges              []Challenge
}

// Challenge is one challenged node. Paths are leaf first.
type Challenge struct {
	Node        uint64
	Data        fr.Element    // the data node
	DataPath    []merkle.Step // in tree D
	Parents     []Column      // the 14 parents in the graph's order
	ReplicaPath []merkle.Step // of the replica node in tree R
	ColumnPath  []merkle.Step // of the node's column in tree C
}

// Column is the labels of a parent, from layer 1 up, with their place in tree
// C.
type Column struct {
	Labels []fr.Element
	Path   []merkle.Step
}

// Circuit is one partition. It implements r1cs.Circuit.
type Circuit struct {
	size   sector.Size
	layers int
	c, d   []int // arities of the levels of trees C and R, and of D, leaf first
	data   *Data // nil without values
}

// Blank is the circuit without values.
func Blank(size sector.Size) *Circuit {
	c := &Circuit{size: size, layers: size.Layers(), c: size.Arities()}
	for range size.NodeBits() {
		c.d = append(c.d, 2)
	}
	return c
}

// New is the circuit with values. It fails if the data have not the shape that
// the size demands; whether they satisfy the circuit is not asked here.
func New(size sector.Size, data *Data) (*Circuit, error) {
	c := Blank(size)
	if n := size.PoRepChallenges(); len(data.Challenges) != n {
		return nil, fmt.Errorf("%s takes %d challenges, not %d", c.Name(), n, len(data.Challenges))
	}
	for i := range data.Challenges {
		if err := c.fits(&data.Challenges[i]); err != nil {
			return nil, fmt.Errorf("%s: challenge %d: %w", c.Name(), i, err)
		}
	}
	c.data = data
	return c, nil
}

func (c *Circuit) fits(ch *Challenge) error {
	if len(ch.Parents) != porep.Parents {
		return fmt.Errorf("%d parents, want %d", len(ch.Parents), porep.Parents)
	}
	for i := range ch.Parents {
		if n := len(ch.Parents[i].Labels); n != c.layers {
			return fmt.Errorf("parent %d has %d labels, want %d", i, n, c.layers)
		}
		if err := fitPath(ch.Parents[i].Path, c.c); err != nil {
			return fmt.Errorf("parent %d: %w", i, err)
		}
	}
	for _, p := range []struct {
		name    string
		steps   []merkle.Step
		arities []int
	}{{"data", ch.DataPath, c.d}, {"replica", ch.ReplicaPath, c.c}, {"column", ch.ColumnPath, c.c}} {
		if err := fitPath(p.steps, p.arities); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func fitPath(steps []merkle.Step, arities []int) error {
	if len(steps) != len(arities) {
		return fmt.Errorf("path has %d levels, want %d", len(steps), len(arities))
	}
	for i, a := range arities {
		if len(steps[i].Siblings) != a-1 || steps[i].Index < 0 || steps[i].Index >= a {
			return fmt.Errorf("level %d of the path is not of arity %d", i, a)
		}
	}
	return nil
}

// Name implements r1cs.Circuit.
func (c *Circuit) Name() string { return "porep-" + c.size.String() }

// Synthesize implements r1cs.Circuit.
func (c *Circuit) Synthesize(s r1cs.System) {
	public := func(value func() fr.Element) r1cs.Var {
		v := s.Alloc(value)
		num.Inputize(s, v)
		return v
	}
	replicaID := public(func() fr.Element { return c.data.ReplicaID })
	ports := s.Call(sha256.Decompose{}, []r1cs.Var{replicaID})
	commD := public(func() fr.Element { return c.data.CommD })
	commR := public(func() fr.Element { return c.data.CommR })
	commRLast := s.Alloc(func() fr.Element { return c.data.CommRLast })
	commC := s.Alloc(func() fr.Element { return c.data.CommC })
	num.Equal(s, commR, poseidon.ForArity(2).Call(s, []r1cs.Var{commC, commRLast}))
	ports = append(ports, commD, commC, commRLast)
	for i := range c.size.PoRepChallenges() {
		s.Call(c.challenge(i), ports)
	}
}

func (c *Circuit) challenge(i int) challenge {
	g := challenge{Circuit: c}
	if c.data != nil {
		g.data = &c.data.Challenges[i]
	}
	return g
}
