package sched

import (
	"fmt"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// TestPreloadedKeysDoNotStarveOthers: a key that an operator wants resident makes
// room for work that has waited, also while other work for it never ends, and no
// card stands idle for it meanwhile.
func TestPreloadedKeysDoNotStarveOthers(t *testing.T) {
	for _, cards := range []int{1, 2} {
		for _, hold := range []Time{0, 5 * time.Minute} {
			w := newClockwork(Config{CPU: CPUNever, AgeStep: 30 * time.Minute, KeyHold: hold})
			for i := range cards {
				w.card(fmt.Sprint("gpu", i), 140*budget.GiB, proveTime)
			}
			work := func(key budget.Bytes) Work {
				return Work{Witness: 100 * budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: key}}}
			}
			w.in(0, Preload{Key: "porep", Work: work(83 * budget.GiB)})
			for n := range 400 { // more than the cards can do
				w.in(Time(n)*5*time.Second, Submit{Job{ID: fmt.Sprint(n), Key: "porep", Class: job.Normal, Partitions: 10, Work: work(83 * budget.GiB)}})
			}
			w.in(2*time.Minute, Submit{Job{ID: "snap", Key: "snap", Class: job.Normal, Partitions: 16, Work: work(71 * budget.GiB)}})
			w.run(30 * time.Minute)
			proofs := 0
			for _, n := range w.count {
				proofs += n
			}
			t.Logf("%d cards, hold %v: the update began after %v, %d proofs", cards, hold, w.begun["snap"]-2*time.Minute, proofs)
			if w.ended["snap"] == 0 || w.begun["snap"] > 10*time.Minute {
				t.Errorf("%d cards, hold %v: the update began after %v", cards, hold, w.begun["snap"])
			}
			if most := cards * int(30*time.Minute/proveTime); proofs < most*8/10 {
				t.Errorf("%d cards, hold %v: %d proofs of %d that were possible", cards, hold, proofs, most)
			}
		}
	}
}
