// Package snap is the circuit of a SnapDeals update (empty sector update,
// storage-proofs-update 19.1 circuit.rs), one partition of a sector.
//
// Statement. Public: the partition k and which h is used, comm_r_old,
// comm_d_new, comm_r_new. The two replicas share comm_c: comm_r = H(comm_c,
// root_r) for old and new. The apex leaves of the partition hash to a node of
// tree D that leads to comm_d_new. For each challenged node, drawn from
// comm_r_new, with rho = HG(phi, top h bits of the node) and phi =
// HG(comm_d_new, comm_r_old): new = old + data·rho, where old and new have paths
// to their roots and data one to its apex leaf. H is Poseidon of arity 2, HG
// the same with tag 2^40, tree D is SHA-256.
//
// Sizes. update-32GiB: 81,049,499 rows, 80,978,488 aux, 5 inputs; 5,951,289 rows
// before the challenges, 873,235 each of 86 challenges.
//
// The order of synthesis is that of circuits.md E.4.
package snap

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/gadget/sha256"
	"cuzk/r1cs"
	"cuzk/vanilla/snap"
)

// selectBits is the number of bits that choose one of the six h.
const selectBits = 6

// Circuit is one partition. It implements r1cs.Circuit.
type Circuit struct {
	rules   snap.Rules
	proof   *snap.Proof     // nil without values
	part    *snap.Partition // of proof
	arities []int           // of tree R
}

// Blank is the circuit of a size without values.
func Blank(rules snap.Rules) *Circuit {
	return &Circuit{rules: rules, arities: rules.Size.Arities()}
}

// New is the circuit of partition k of a decoded proof.
func New(p *snap.Proof, k int) *Circuit {
	c := Blank(p.Rules)
	c.proof, c.part = p, &p.Partitions[k]
	return c
}

// Name implements r1cs.Circuit.
func (c *Circuit) Name() string { return "update-" + c.rules.Size.String() }

func hashD(int) merkle.Hasher { return sha256.Hash2{} }

// binary lists n levels of arity 2.
func binary(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 2
	}
	return out
}

// frame holds the variables that challenges share.
type frame struct {
	partitionBits, selectBits []r1cs.Var
	partition                 r1cs.Var
	commROld, commDNew        r1cs.Var
	commRNew, phi             r1cs.Var
	commC, rootROld, rootRNew r1cs.Var
	apex, path                []r1cs.Var
}

// Synthesize implements r1cs.Circuit.
func (c *Circuit) Synthesize(s r1cs.System) {
	var f frame
	c.statement(s, &f)
	c.roots(s, &f)
	c.apexTree(s, &f)
	bits := c.challengeBits(s, &f)
	for i := range c.rules.Challenges {
		s.Call(c.challenge(i), f.ports(bits[i]))
	}
}

// statement allocates the public inputs and phi.
func (c *Circuit) statement(s r1cs.System, f *frame) {
	packed := s.Alloc(func() fr.Element { return c.inputs()[0] })
	num.Inputize(s, packed)
	bits := make([]r1cs.Var, c.rules.PartitionBits+selectBits)
	var sum r1cs.LC
	for i := range bits {
		bits[i] = boolean.Alloc(s, func() bool { return c.packed()>>i&1 == 1 })
		sum = sum.Add(num.Power(i), bits[i])
	}
	s.Enforce(sum, r1cs.V(r1cs.One), r1cs.V(packed))
	f.partitionBits, f.selectBits = bits[:c.rules.PartitionBits], bits[c.rules.PartitionBits:]
	f.partition = num.Pack(s, num.Bits(f.partitionBits))
	for i, v := range []*r1cs.Var{&f.commROld, &f.commDNew, &f.commRNew} {
		*v = s.Alloc(func() fr.Element { return c.inputs()[i+1] })
		num.Inputize(s, *v)
	}
	f.phi = poseidon.Custom1().Call(s, []r1cs.Var{f.commDNew, f.commROld})
}

// inputs are the public inputs; only in value functions.
func (c *Circuit) inputs() []fr.Element { return c.proof.PublicInputs(c.part) }

// packed is k | h_select << partition bits.
func (c *Circuit) packed() uint64 {
	return uint64(c.part.Index) | uint64(c.rules.HSelect)<<c.rules.PartitionBits
}

// roots allocates the private values of the partition and ties both comm_r to
// comm_c.
func (c *Circuit) roots(s r1cs.System, f *frame) {
	f.commC = s.Alloc(func() fr.Element { return c.part.CommC })
	f.rootROld = s.Alloc(func() fr.Element { return c.part.RootROld })
	f.rootRNew = s.Alloc(func() fr.Element { return c.part.RootRNew })
	f.apex = allocAll(s, c.rules.ApexLeaves(), func() []fr.Element { return c.part.Apex })
	f.path = allocAll(s, c.rules.PartitionBits, func() []fr.Element { return c.proof.PartitionPath(c.part) })
	for _, r := range [][2]r1cs.Var{{f.rootROld, f.commROld}, {f.rootRNew, f.commRNew}} {
		h := poseidon.ForArity(2).Call(s, []r1cs.Var{f.commC, r[0]})
		num.Equal(s, h, r[1])
	}
}

// allocAll allocates n elements of a list that exists only with values.
func allocAll(s r1cs.System, n int, list func() []fr.Element) []r1cs.Var {
	out := make([]r1cs.Var, n)
	for i := range out {
		out[i] = s.Alloc(func() fr.Element { return list()[i] })
	}
	return out
}

// apexTree hashes the apex leaves, row by row from the bottom, and goes on to
// comm_d_new.
func (c *Circuit) apexTree(s r1cs.System, f *frame) {
	level := f.apex
	for len(level) > 1 {
		next := make([]r1cs.Var, len(level)/2)
		for i := range next {
			next[i] = sha256.Hash2{}.Call(s, level[2*i:2*i+2])
		}
		level = next
	}
	root := merkle.Climb(s, level[0], binary(c.rules.PartitionBits), hashD, f.partitionBits, f.path)
	num.Equal(s, root, f.commDNew)
}

// challengeBits draws the challenges: digest j = HG(comm_r_new, digests·partition
// + j), cut into groups of bits; the partition bits are the top bits of all.
// The term of j = 0 has coefficient zero, as in the reference, and vanishes.
func (c *Circuit) challengeBits(s r1cs.System, f *frame) [][]r1cs.Var {
	r := c.rules
	width := r.NodeBits - r.PartitionBits
	var out [][]r1cs.Var
	for j := range r.Digests() {
		index := s.Alloc(func() fr.Element { return fr.NewElement(uint64(c.part.Index*r.Digests() + j)) })
		sum := r1cs.LC(nil).Add(fr.NewElement(uint64(r.Digests())), f.partition).Add(fr.NewElement(uint64(j)), r1cs.One)
		s.Enforce(sum, r1cs.V(r1cs.One), r1cs.V(index))
		digest := poseidon.Custom1().Call(s, []r1cs.Var{f.commRNew, index})
		bits := num.AllocBitsOf(s, func() fr.Element { return s.Value(digest) })
		var packed r1cs.LC
		for i, b := range bits {
			packed = packed.Add(num.Power(i), b)
		}
		s.Enforce(packed, r1cs.V(r1cs.One), r1cs.V(digest))
		for i := 0; i < r.PerDigest() && len(out) < r.Challenges; i++ {
			own := append([]r1cs.Var{}, bits[i*width:(i+1)*width]...)
			out = append(out, append(own, f.partitionBits...))
		}
	}
	return out
}
