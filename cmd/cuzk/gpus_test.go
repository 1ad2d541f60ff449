package main

import (
	"testing"

	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/kind"
	"cuzk/srs"
)

// TestGPUNeed: a card of 139 GiB holds any key beside that of WinningPoSt; one of
// 78 GiB holds PoRep's, with less room for sums; one of 24 GiB does not.
func TestGPUNeed(t *testing.T) {
	need := func(circuit string, memory budget.Bytes) budget.Bytes {
		id, err := srs.ParseID(circuit)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := kind.Lookup(id)
		return (&gpuCard{memory: memory}).need(id, e.Counts, id.Shape()).Key.Device
	}
	for _, c := range []string{"porep-32GiB", "window-32GiB", "update-32GiB", "porep-64GiB", "window-64GiB"} {
		if n := need(c, 139*budget.GiB) + need("winning-32GiB", 139*budget.GiB); n > 139*budget.GiB {
			t.Errorf("%s and winning take %v", c, n)
		}
	}
	roomy := need("porep-32GiB", 139*budget.GiB)
	if n := need("porep-32GiB", 78*budget.GiB); n >= roomy || n > 74*budget.GiB || n < 60*budget.GiB {
		t.Errorf("on 78 GiB: %v, with room %v", n, roomy)
	}
	if n := need("porep-32GiB", 24*budget.GiB); n <= 24*budget.GiB {
		t.Errorf("on 24 GiB: %v", n)
	}
}

func TestChosenGPUs(t *testing.T) {
	list := []cuda.Device{{Ordinal: 0, UUID: "GPU-a", PCI: "0000:01:00.0"}, {Ordinal: 1, UUID: "GPU-b", PCI: "0000:02:00.0"}}
	for name, want := range map[string]string{"GPU-b": "GPU-b", "0": "GPU-a", "0000:02:00.0": "GPU-b"} {
		if got, err := chosen(list, []string{name}); err != nil || len(got) != 1 || got[0].UUID != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if got, err := chosen(list, nil); err != nil || len(got) != 2 {
		t.Errorf("all: %v, %v", got, err)
	}
	if _, err := chosen(list, []string{"GPU-c"}); err == nil {
		t.Error("GPU-c was found")
	}
}
