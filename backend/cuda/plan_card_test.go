package cuda

import (
	"errors"
	"testing"

	"cuzk/backend/conformance"
	gpu "cuzk/cuda"
)

// TestPlanOnIsTheProversPlan compares the plan for a card that is not there with
// that of a prover on the same facts.
func TestPlanOnIsTheProversPlan(t *testing.T) {
	t.Parallel()
	circuit := conformance.Compile(t, &conformance.Mixed{Inputs: 3, Groups: 30, Seed: 1})
	m := newHostedMachine(t)
	f := m.facts()
	card := Card{SMs: f.sms, Shared: f.shared, Blocks: [2]int{f.opsBlocks["g1_ops"], f.opsBlocks["g2_ops"]}, Async: f.async}
	for _, limit := range []int64{1 << 30, 4 << 30} {
		p, err := newProver(m, circuit, limit, Options{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := PlanOn(circuit, card, limit, Options{})
		if err != nil || got.String() != p.plan.String() {
			t.Errorf("%d bytes: %v\n%s\nwant\n%s", limit, err, got, p.plan)
		}
	}
	if _, err := PlanOn(circuit, H200(), 1<<20, Options{}); !errors.Is(err, gpu.ErrOutOfMemory) {
		t.Errorf("in a MiB: %v", err)
	}
	if _, err := PlanOn(circuit, Card{}, 1<<40, Options{}); err == nil {
		t.Error("planned for no card")
	}
}
