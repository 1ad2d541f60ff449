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
		if err := p.checkChallenge(part, &part.Challenges[i]); err != nil {
			return vanilla.At(err, "challenge %d", i)
		}
	}
	return nil
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

func (p *Proof) checkChallenge(part *Partition, c *Challenge) error {
	var want fr.Element
	want.Mul(&c.Data.Leaf, &c.Rho)
	want.Add(&want, &c.Old.Leaf)
	if want != c.New.Leaf {
		return vanilla.Errorf("node %d of the new replica is %s, old node and data give %s",
			c.Node, vanilla.DomainOf(&c.New.Leaf), vanilla.DomainOf(&want))
	}
	if err := p.TreeR.Check(&c.Old, &part.RootROld); err != nil {
		return vanilla.At(err, "old replica")
	}
	if err := p.TreeR.Check(&c.New, &part.RootRNew); err != nil {
		return vanilla.At(err, "new replica")
	}
	if err := p.TreeD.Check(&c.Data, &p.CommDNew); err != nil {
		return vanilla.At(err, "data")
	}
	return nil
}
