package cuda

import (
	"errors"
	"testing"

	"cuzk/backend"
	gpu "cuzk/cuda"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// h200 are the facts of that card.
var h200 = facts{sms: 132, shared: 227 << 10, opsBlocks: map[string]int{"g1_ops": 4, "g2_ops": 2}}

func needOf(t *testing.T, circuit string, f facts) need {
	t.Helper()
	id, err := srs.ParseID(circuit)
	if err != nil {
		t.Fatal(err)
	}
	blank, err := kind.Blank(id)
	if err != nil {
		t.Fatal(err)
	}
	c, err := r1cs.Compile(blank)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := backend.LayoutOf(c)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Program()
	if err != nil {
		t.Fatal(err)
	}
	pack, err := packProgram(p)
	if err != nil {
		t.Fatal(err)
	}
	return need{circuit: circuit, layout: layout, members: newQuerySets(c, layout), program: pack.bytes(), facts: f}
}

// TestPlansFitTheirCap plans with caps from too little to plenty: a plan is never
// over its cap, more memory never makes it smaller, and too little is refused.
func TestPlansFitTheirCap(t *testing.T) {
	circuits := []string{"winning-2KiB", "window-2KiB"}
	if !testing.Short() {
		circuits = append(circuits, "porep-32GiB")
	}
	for _, name := range circuits {
		n := needOf(t, name, h200)
		last, refused := int64(0), 0
		for limit := int64(64 << 20); limit < 1<<40; limit *= 2 {
			p, err := newProverPlan(n, limit)
			if err != nil {
				refused++
				if last > 0 || !errors.Is(err, gpu.ErrOutOfMemory) {
					t.Errorf("%s in %d MiB: %v", name, limit>>20, err)
				}
				continue
			}
			if p.Total() > limit || p.Total() < last {
				t.Errorf("%s in %d MiB: the plan takes %d, with half of it %d", name, limit>>20, p.Total()>>20, last>>20)
			}
			last = p.Total()
			t.Logf("%s", p)
		}
		if refused == 0 || last == 0 {
			t.Errorf("%s: %d caps refused, the last plan takes %d bytes", name, refused, last)
		}
	}
}
