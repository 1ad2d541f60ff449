package sched

import (
	"fmt"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// arrival is the time from one job to the next: the card is busy nearly always.
const arrival = 17 * time.Second

// twoKeys offers a card jobs of two keys that do not fit on it together, by
// turns, and tells how often a key was loaded, when all had ended, and the longest
// wait. hold is [Config.KeyHold].
func twoKeys(t *testing.T, hold Time) (loads int, end, worst Time) {
	w := newClockwork(Config{CPU: CPUNever, AgeStep: 30 * time.Minute, KeyHold: hold})
	w.card("gpu0", 140*budget.GiB, proveTime)
	kinds := []struct {
		key   string
		parts int
		need  budget.Bytes
	}{{"porep", 10, 83 * budget.GiB}, {"snap", 16, 71 * budget.GiB}}
	sent := map[string]Time{}
	for n := range 120 {
		k, id := kinds[n%2], fmt.Sprint(n)
		sent[id] = Time(n) * arrival
		w.in(sent[id], Submit{Job{ID: id, Key: k.key, Class: job.Normal, Partitions: k.parts,
			Work: Work{Witness: 100 * budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: k.need}}}}})
	}
	w.run(4 * time.Hour)
	for id, at := range sent {
		if w.ended[id] == 0 {
			t.Errorf("job %s has not ended", id)
		}
		end, worst = max(end, w.ended[id]), max(worst, w.begun[id]-at)
	}
	return w.loads, end, worst
}

// TestKeysDoNotSwapForEveryJob: with the keys held, one of them is loaded at most
// once for each time that it may be held, and no job waits for longer than it
// takes for the other key to be held, dropped and its own to be loaded, and for
// the older ones of its own key. By age alone the card would mostly load.
func TestKeysDoNotSwapForEveryJob(t *testing.T) {
	const hold = 5 * time.Minute
	loads, end, worst := twoKeys(t, hold)
	t.Logf("held: %d loads, all ended after %v, the longest wait %v", loads, end, worst)
	if most := int(end/hold) + 2; loads > most || worst > 2*(hold+loadTime) {
		t.Errorf("%d loads in %v, want at most %d; one job waited %v", loads, end, most, worst)
	}
	byAge, endByAge, worstByAge := twoKeys(t, 0)
	t.Logf("by age alone: %d loads, all ended after %v, the longest wait %v", byAge, endByAge, worstByAge)
	if byAge < 5*loads {
		t.Errorf("by age alone only %d loads: the test shows nothing", byAge)
	}
}
