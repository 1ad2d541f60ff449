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
		j.Partitions = append(j.Partitions, Partition{Index: k, Inputs: p.PublicInputs(&p.Partitions[k]), circuit: snap.New(p, k)})
	}
	j.check = pieces(len(p.Partitions), func(k int) error {
		return vanilla.At(p.CheckPartition(&p.Partitions[k]), "partition %d", k)
	})
	return j, nil
}
