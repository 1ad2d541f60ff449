package sched

import (
	"container/heap"
	"fmt"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/job"
)

// clockwork runs a core in virtual time: each command is answered after the time
// that it takes.
type clockwork struct {
	core  *Core
	now   Time
	due   dueEvents
	seq   int
	loads int
	ended map[string]Time // when a job did
	begun map[string]Time
}

type dueEvent struct {
	at  Time
	seq int
	ev  Event
}

type dueEvents []dueEvent

func (h dueEvents) Len() int { return len(h) }
func (h dueEvents) Less(i, k int) bool {
	return h[i].at < h[k].at || h[i].at == h[k].at && h[i].seq < h[k].seq
}
func (h dueEvents) Swap(i, k int) { h[i], h[k] = h[k], h[i] }
func (h *dueEvents) Push(x any)   { *h = append(*h, x.(dueEvent)) }
func (h *dueEvents) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (w *clockwork) in(d Time, ev Event) {
	w.seq++
	heap.Push(&w.due, dueEvent{w.now + d, w.seq, ev})
}

// The times of a large card: a partition in 1.2 s, a key in 30 s.
const (
	proveTime = 1200 * time.Millisecond
	loadTime  = 30 * time.Second
)

func (w *clockwork) run(until Time) {
	for w.now < until {
		at, ev := until, Event(Tick{})
		if next, ok := w.core.Next(); ok {
			at = min(at, next)
		}
		if len(w.due) > 0 && w.due[0].at <= at {
			d := heap.Pop(&w.due).(dueEvent)
			at, ev = d.at, d.ev
		}
		w.now = max(w.now, at)
		for _, c := range w.core.Step(w.now, ev) {
			w.obey(c)
		}
	}
}

func (w *clockwork) obey(c Command) {
	switch c := c.(type) {
	case Synthesise:
		w.in(300*time.Millisecond, Synthesised{Attempt: c.Attempt})
	case Prove:
		if w.begun[c.Job] == 0 {
			w.begun[c.Job] = w.now
		}
		w.in(proveTime, Proved{c.Attempt})
	case Check:
		w.in(5*time.Millisecond, Checked{Attempt: c.Attempt, Good: true})
	case DropWitness:
		w.in(0, WitnessFreed{c.Witness})
	case LoadKey:
		w.loads++
		w.in(loadTime, KeyLoaded{c.Key, c.Device})
	case DropKey:
		w.in(time.Second, KeyDropped{c.Key, c.Device})
	case Join:
		w.in(0, Joined{Job: c.Job})
	case Finish:
		w.ended[c.Job] = w.now
	}
}

// arrival is the time from one job to the next: the card is busy nearly always.
const arrival = 17 * time.Second

// twoKeys offers a card jobs of two keys that do not fit on it together, by
// turns, and tells how often a key was loaded, when all had ended, and the longest
// wait. hold is [Config.KeyHold].
func twoKeys(t *testing.T, hold Time) (loads int, end, worst Time) {
	w := &clockwork{ended: map[string]Time{}, begun: map[string]Time{},
		core: New(Config{Making: 2, Ahead: 24, CPU: CPUNever, MaxAttempts: 3, AgeStep: 30 * time.Minute, KeyHold: hold}, budget.New(64*budget.GiB, 0))}
	w.in(0, AddDevice{Device{ID: "gpu0", Class: GPU, Slots: 1, Memory: 140 * budget.GiB}})
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
