package kind

import (
	"context"
	"fmt"
	"runtime"

	"cuzk/circuit/porep"
	"cuzk/srs"
	vporep "cuzk/vanilla/porep"
)

// PoRep makes a job of a phase-1 output and the identity of its sector.
func PoRep(r *vporep.Request) (*Job, error) {
	c1 := r.C1
	config := c1.Proof.Config()
	j := &Job{Circuit: srs.ID{Family: srs.PoRep, Size: c1.Proof.Size()}, Registered: c1.Proof.String()}
	if want := config.Size.PoRepPartitions(); len(c1.Partitions) != want {
		return nil, badInput(fmt.Errorf("phase-1 output has %d partitions, a proof of %s has %d", len(c1.Partitions), config.Size, want))
	}
	for k := range c1.Partitions {
		inputs, err := config.PublicInputs(c1.Statement(), k)
		if err != nil {
			return nil, badInput(err)
		}
		c, err := porep.FromC1(c1, k)
		if err != nil {
			return nil, badInput(err)
		}
		j.Partitions = append(j.Partitions, Partition{Index: k, Inputs: inputs, circuit: c})
	}
	j.check = func(ctx context.Context, progress func(done, total int)) error {
		err := c1.Check(ctx, r.Identity, runtime.GOMAXPROCS(0))
		progress(1, 1)
		return err
	}
	return j, nil
}
