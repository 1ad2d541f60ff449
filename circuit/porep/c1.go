package porep

import (
	"fmt"

	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
)

// FromC1 is partition k of a phase-1 output as this circuit takes it. The
// commitments that the output does not state are the roots of the first
// challenge's paths; a path of the partition with another root makes a circuit
// that is not satisfied. Siblings and labels are shared with c1, not copied.
func FromC1(c1 *vporep.C1, k int) (*Circuit, error) {
	if k < 0 || k >= len(c1.Partitions) || len(c1.Partitions[k]) == 0 {
		return nil, fmt.Errorf("partition %d of a phase-1 output of %d partitions", k, len(c1.Partitions))
	}
	first := &c1.Partitions[k][0]
	d := &Data{CommRLast: first.Replica.Root, CommC: first.Columns[0].Path.Root}
	var err error
	if d.ReplicaID, err = c1.ReplicaID.Element(); err != nil {
		return nil, vanilla.At(err, "replica_id")
	}
	if d.CommD, err = c1.CommD.Element(); err != nil {
		return nil, vanilla.At(err, "comm_d")
	}
	if d.CommR, err = c1.CommR.Element(); err != nil {
		return nil, vanilla.At(err, "comm_r")
	}
	size := c1.Proof.Size()
	t := trees{vanilla.TreeD(size), vanilla.TreeR(size)}
	for i := range c1.Partitions[k] {
		d.Challenges = append(d.Challenges, t.challenge(&c1.Partitions[k][i]))
	}
	return New(size, d)
}

// trees are the forms of tree D and of trees C and R.
type trees struct{ d, r *vanilla.Tree }

func (t trees) challenge(v *vporep.Challenge) Challenge {
	ch := Challenge{
		Node:        v.Node(),
		Data:        v.Data.Leaf,
		DataPath:    v.Data.Steps(t.d),
		ReplicaPath: v.Replica.Steps(t.r),
		ColumnPath:  v.Columns[0].Path.Steps(t.r),
	}
	for i := range v.Columns[1:] {
		c := &v.Columns[1+i]
		ch.Parents = append(ch.Parents, Column{Labels: c.Rows, Path: c.Path.Steps(t.r)})
	}
	return ch
}
