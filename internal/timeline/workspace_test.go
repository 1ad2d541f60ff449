package timeline

import (
	"testing"

	"cuzk/event"
)

// TestWorkspacesOverlapOnPurpose: two partitions in two workspaces of a card are no
// overlap, neither are those of two keys; two in one workspace are, and so is one
// that has the whole card beside one in a workspace.
func TestWorkspacesOverlapOnPurpose(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		overlaps   int
	}{
		{"two workspaces", "porep-32g#0", "porep-32g#1", 0},
		{"two keys", "porep-32g#0", "winning-32g#0", 0},
		{"one workspace", "porep-32g#0", "porep-32g#0", 1},
		{"the whole card", "porep-32g#0", "sums", 1},
	} {
		region := func(typ event.Type, name, job string) event.Record {
			rec := in(gpuA, job, 0)
			rec.Type, rec.Region = typ, name
			return rec
		}
		r := &recorder{}
		r.at(0, event.Record{Type: event.DaemonStarted})
		r.at(1, region(event.RegionIn, c.a, "j1")).at(2, region(event.RegionIn, c.b, "j2"))
		r.at(3, region(event.RegionOut, c.a, "j1")).at(4, region(event.RegionOut, c.b, "j2"))
		r.at(5, event.Record{Type: event.DaemonStopped})
		rep := read(t, r.buf.String(), Options{}).Check()
		if len(rep.Overlaps) != c.overlaps || rep.Proven() != (c.overlaps == 0) {
			t.Errorf("%s: %s, %v, %v", c.name, rep.Verdict(), rep.Overlaps, rep.Doubts)
		}
		for _, d := range rep.Devices {
			if d.Busy.Seconds() != 3 {
				t.Errorf("%s: busy %v, want 3s", c.name, d.Busy)
			}
		}
	}
}
