package snap

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/vanilla"
)

// Check hashes all partitions; see [Proof.CheckPartition].
func (p *Proof) Check() error {
	for k := range p.Partitions {
		if err := p.CheckPartition(&p.Partitions[k]); err != nil {
			return err
		}
	}
	return nil
}

// CheckPartition makes sure that everything in the partition fits: both comm_r,
// the apex leaves, all paths, and the relation of old, data and new node.
func (p *Proof) CheckPartition(part *Partition) error {
	return vanilla.At(p.check(part), "partition %d", part.Index)
}

func (p *Proof) check(part *Partition) error {
	for _, c := range []struct {
		name       string
		root, want *fr.Element
	}{{"comm_r_old", &part.RootROld, &p.CommROld}, {"comm_r_new", &part.RootRNew, &p.CommRNew}} {
		if got := poseidon.ForArity(2).Hash([]fr.Element{part.CommC, *c.root}); got != *c.want {
			return vanilla.Errorf("%s is %s, but comm_c and the root of the first path hash to %s",
				c.name, vanilla.DomainOf(c.want), vanilla.DomainOf(&got))
		}
	}
	if err := p.checkApex(part); err != nil {
		return err
	}
	for i := range part.Challenges {
		if err := part.Challenges[i].checkLabel(); err != nil {
			return vanilla.At(err, "challenge %d", i)
		}
	}
	return p.checkPaths(part)
}

// checkApex hashes the apex leaves to the partition's root and on to
// comm_d_new. The siblings of the last step are those of the first challenge's
// path; the other challenges' paths, which lead to the same root from under the
// same node, can only have the same ones.
func (p *Proof) checkApex(part *Partition) error {
	level := append([]fr.Element(nil), part.Apex...)
	for len(level) > 1 {
		for i := range len(level) / 2 {
			level[i] = p.TreeD.Node(level[2*i : 2*i+2])
		}
		level = level[:len(level)/2]
	}
	node := level[0]
	for i, s := range p.PartitionPath(part) {
		pair := []fr.Element{node, s}
		if part.Index>>i&1 == 1 {
			pair[0], pair[1] = s, node
		}
		node = p.TreeD.Node(pair)
	}
	if node != p.CommDNew {
		return vanilla.Errorf("apex leaves lead to root %s, comm_d_new is %s", vanilla.DomainOf(&node), vanilla.DomainOf(&p.CommDNew))
	}
	return nil
}

// checkLabel makes sure that the new node is the old one plus data times rho.
func (c *Challenge) checkLabel() error {
	var want fr.Element
	want.Mul(&c.Data.Leaf, &c.Rho)
	want.Add(&want, &c.Old.Leaf)
	if want != c.New.Leaf {
		return vanilla.Errorf("node %d of the new replica is %s, old node and data give %s",
			c.Node, vanilla.DomainOf(&c.New.Leaf), vanilla.DomainOf(&want))
	}
	return nil
}

func (p *Proof) checkPaths(part *Partition) error {
	trees := [3]*vanilla.Tree{p.TreeR, p.TreeD, p.TreeR}
	roots := [3]*fr.Element{&part.RootROld, &p.CommDNew, &part.RootRNew}
	for k, tree := range trees {
		paths := make([]*vanilla.Path, len(part.Challenges))
		name := ""
		for i := range paths {
			path := part.Challenges[i].paths()[k]
			paths[i], name = path.Path, path.name
		}
		if i, err := tree.CheckAll(paths, roots[k]); err != nil {
			return vanilla.At(err, "challenge %d: %s", i, name)
		}
	}
	return nil
}
