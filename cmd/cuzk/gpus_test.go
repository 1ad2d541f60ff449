package main

import (
	"strings"
	"testing"

	bcuda "cuzk/backend/cuda"
	"cuzk/budget"
	"cuzk/cuda"
	"cuzk/internal/testutil"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// TestGPUNeed: a card of 139 GiB holds any key beside that of WinningPoSt; one of
// 78 GiB holds PoRep's, with less room for sums; on one of 15 or 23 GiB it is
// streamed, from pinned memory where that suffices; one of 11 GiB is too small.
func TestGPUNeed(t *testing.T) {
	card := func(circuit string, memory, pinned budget.Bytes) budget.Need {
		id, err := srs.ParseID(circuit)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := kind.Lookup(id)
		return (&gpuCard{memory: memory, pinned: pinned}).need(id, e.Counts, id.Shape()).Key
	}
	need := func(circuit string, memory budget.Bytes) budget.Bytes { return card(circuit, memory, 0).Device }
	for _, c := range []string{"porep-32GiB", "window-32GiB", "update-32GiB", "porep-64GiB", "window-64GiB"} {
		if n := need(c, 139*budget.GiB) + need("winning-32GiB", 139*budget.GiB); n > 139*budget.GiB {
			t.Errorf("%s and winning take %v", c, n)
		}
	}
	roomy := need("porep-32GiB", 139*budget.GiB)
	if n := need("porep-32GiB", 78*budget.GiB); n >= roomy || n > 74*budget.GiB || n < 60*budget.GiB {
		t.Errorf("on 78 GiB: %v, with room %v", n, roomy)
	}
	for _, gib := range []budget.Bytes{15, 23, 47} {
		for _, c := range []string{"porep-32GiB", "window-32GiB", "update-32GiB", "porep-64GiB", "window-64GiB"} {
			pinned, file := card(c, gib*budget.GiB, 128*budget.GiB), card(c, gib*budget.GiB, 16*budget.GiB)
			if c == "update-32GiB" && gib == 47 {
				continue // stays
			}
			if pinned.Device > gib*budget.GiB || pinned.Pinned < 30*budget.GiB || pinned.Host != 0 {
				t.Errorf("%s on %d GiB with pinned memory: %+v", c, gib, pinned)
			}
			if file.Device != pinned.Device || file.Pinned != 0 || file.Host == 0 {
				t.Errorf("%s on %d GiB without pinned memory: %+v", c, gib, file)
			}
		}
	}
	if n := need("porep-32GiB", 11*budget.GiB); n <= 11*budget.GiB {
		t.Errorf("on 11 GiB: %v", n)
	}
}

// TestGPUNeedsArePlans holds the ledger's numbers against plans: what is reserved is
// enough, and pinned memory is reserved where the plan wants it.
func TestGPUNeedsArePlans(t *testing.T) {
	testutil.Slow(t, "circuits of full size are compiled")
	for _, name := range []string{"porep-32GiB", "window-32GiB", "update-32GiB"} {
		id, err := srs.ParseID(name)
		if err != nil {
			t.Fatal(err)
		}
		e, _ := kind.Lookup(id)
		blank, err := kind.Blank(id)
		if err != nil {
			t.Fatal(err)
		}
		circuit, err := r1cs.Compile(blank)
		if err != nil {
			t.Fatal(err)
		}
		for _, gib := range []budget.Bytes{14, 15, 16, 20, 23, 31, 39, 47, 61, 64, 72, 79, 139} {
			place := (&gpuCard{memory: gib * budget.GiB, pinned: 128 * budget.GiB}).need(id, e.Counts, id.Shape())
			k := place.Key
			p, err := bcuda.PlanOn(circuit, bcuda.H200(), int64(k.Device), optionsOf(place))
			if k.Device > gib*budget.GiB || err != nil {
				t.Errorf("%s on %d GiB, with %v reserved: %v", name, gib, k.Device, err)
				continue
			}
			if text := p.String(); place.AtOnce > 1 && p.Slice == 0 && (!strings.Contains(text, "2 times: a, b, c") || !strings.Contains(text, "second lane")) {
				t.Errorf("%s on %d GiB: %d at a time, the plan is\n%s", name, gib, place.AtOnce, text)
			}
			if p.Slice > 0 && place.AtOnce > 1 && p.Round < place.AtOnce {
				t.Errorf("%s on %d GiB: %d join a round of %d", name, gib, place.AtOnce, p.Round)
			}
			if place.AtOnce != 2 && gib == 139 && manyPartitions(id) {
				t.Errorf("%s on %d GiB: %d at a time", name, gib, place.AtOnce)
			}
			if gib == 139 && manyPartitions(id) {
				o := optionsOf(place)
				o.Lists = true
				p, err := bcuda.PlanOn(circuit, bcuda.H200(), int64(k.Device), o)
				if err != nil || !strings.Contains(p.String(), "one a row") || !strings.Contains(p.String(), "2 times: multipliers of K") {
					t.Errorf("%s on %d GiB with a quotient in values: %v, the plan is\n%s", name, gib, err, p)
				}
			}
			if streamed := p.Slice > 0; streamed != (k.Pinned > 0) || streamed && (!p.Pinned || p.HostTotal() > int64(k.Pinned)) {
				t.Errorf("%s on %d GiB: reserved %+v, the plan is\n%s", name, gib, k, p)
			}
		}
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
