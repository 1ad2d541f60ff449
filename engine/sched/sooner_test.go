package sched

import (
	"fmt"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// unlike runs jobs of ten partitions on a fast card with a slow one beside it, or
// without, after both have been tried. It tells how long the last one took.
func unlike(t *testing.T, jobs int, slow bool) (w *clockwork, took Time) {
	w = newClockwork(Config{CPU: CPUNever, HangFactor: 10, HangFloor: time.Minute})
	w.card("fast", 140*budget.GiB, proveTime)
	if slow {
		w.card("slow", 140*budget.GiB, slowTime)
	}
	send := func(id string) {
		w.in(0, Submit{Job{ID: id, Key: "porep", Class: job.Normal, Partitions: 10,
			Work: Work{Witness: 100 * budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: 83 * budget.GiB}}}}})
	}
	send("first")
	w.run(10 * time.Minute)
	clear(w.count)
	for n := range jobs {
		send(fmt.Sprint(n))
	}
	start := w.now
	w.run(start + time.Hour)
	for n := range jobs {
		if w.ended[fmt.Sprint(n)] == 0 {
			t.Fatalf("job %d has not ended", n)
		}
		took = max(took, w.ended[fmt.Sprint(n)]-start)
	}
	return w, took
}

// TestSlowCardBesideAFastOne: one job is not slower for it, many are faster, and
// nobody takes the slow card for hanging.
func TestSlowCardBesideAFastOne(t *testing.T) {
	for _, jobs := range []int{1, 20} {
		_, alone := unlike(t, jobs, false)
		w, beside := unlike(t, jobs, true)
		t.Logf("%d jobs: %v on the fast card, %v with the slow one beside it, which proved %d partitions", jobs, alone, beside, w.count["slow"])
		if beside > alone || jobs > 1 && (beside > alone*95/100 || w.count["slow"] < 10) {
			t.Errorf("%d jobs: %v, and %v on the fast card alone", jobs, beside, alone)
		}
		if d := w.core.device("slow"); d.state != InService || w.core.strays != 0 {
			t.Errorf("the slow card is %s: %s; %d strays", d.state, d.reason, w.core.strays)
		}
	}
}

// TestFastCardHangs: who waits for it takes the slow one after a while, before the
// watchdog finds out.
func TestFastCardHangs(t *testing.T) {
	w, _ := unlike(t, 1, true)
	w.prove["fast"] = time.Hour
	w.in(0, Submit{Job{ID: "last", Key: "porep", Class: job.Normal, Partitions: 2,
		Work: Work{Witness: 100 * budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: 83 * budget.GiB}}}}})
	clear(w.count)
	start := w.now
	w.run(start + 40*time.Second)
	if w.count["slow"] != 1 {
		t.Errorf("the slow card proved %d partitions", w.count["slow"])
	}
	w.run(start + 10*time.Minute)
	if w.ended["last"] == 0 {
		t.Error("the job has not ended")
	}
}
