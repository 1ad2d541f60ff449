package kind

import (
	"cuzk/circuit/snap"
	"cuzk/srs"
	"cuzk/vanilla"
	vsnap "cuzk/vanilla/snap"
)

// Snap makes a job of a SnapDeals update request.
func Snap(in vsnap.Input) (*Job, error) {
	p, err := vsnap.New(in)
	if err != nil {
		return nil, badInput(err)
	}
	j := &Job{Circuit: srs.ID{Family: srs.Update, Size: p.Registered.Size}, Registered: p.Registered.Name}
	for k := range p.Partitions {
		part := &p.Partitions[k]
		j.checks = append(j.checks, func() error {
			return vanilla.At(p.CheckPartition(part), "partition %d", part.Index)
		})
		j.Partitions = append(j.Partitions, Partition{Index: k, Inputs: p.PublicInputs(part), circuit: snap.New(p, k)})
	}
	return j, nil
}
