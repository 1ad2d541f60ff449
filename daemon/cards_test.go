package daemon

import (
	"testing"

	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// TestEachCardHasItsOwnNeed: what a circuit takes is asked of every card, and of
// each only what it said is counted there.
func TestEachCardHasItsOwnNeed(t *testing.T) {
	card := func(id string, memory budget.Bytes) Accelerator {
		return Accelerator{Device: sched.Device{ID: id, Slots: 1, Memory: memory}, Backend: cpu.New(cpu.Options{}),
			Need: func(id srs.ID, _ r1cs.Counts, _ srs.Shape) budget.Placement {
				if memory < 40*budget.GiB && id.Family == srs.Window {
					return budget.Placement{}
				}
				return budget.Placement{Able: true, Key: budget.Need{Device: memory / 2}}
			}}
	}
	o := options(t.TempDir())
	o.Accelerators = []Accelerator{card("GPU-large", 140*budget.GiB), card("GPU-small", 24*budget.GiB)}
	r := serve(t, o)
	s, err := r.Engine.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range s.Known {
		large, small := k.Work.Own["GPU-large"], k.Work.Own["GPU-small"]
		id, err := kind.ParseCircuit(k.ID)
		if err != nil {
			t.Fatal(err)
		}
		if large.Key.Device != 70*budget.GiB || small.Able == (id.Family == srs.Window) || small.Able && small.Key.Device != 12*budget.GiB {
			t.Errorf("%s: %+v on the large card, %+v on the small one", k.ID, large, small)
		}
	}
	if len(s.Known) == 0 {
		t.Error("no keys are known")
	}
}
