package sched

import (
	"container/heap"
	"time"

	"cuzk/budget"
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
	prove map[string]Time // what a partition takes, by device
	count map[string]int  // of proofs, by device
}

func newClockwork(cfg Config) *clockwork {
	cfg.Making, cfg.Ahead, cfg.MaxAttempts = 2, 24, 3
	return &clockwork{ended: map[string]Time{}, begun: map[string]Time{}, prove: map[string]Time{}, count: map[string]int{},
		core: New(cfg, budget.New(64*budget.GiB, 0))}
}

// card adds a device.
func (w *clockwork) card(id string, memory budget.Bytes, prove Time) {
	w.prove[id] = prove
	w.in(0, AddDevice{Device{ID: id, Class: GPU, Slots: 1, Memory: memory}})
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

// The times of a large card: a partition in 1.2 s, a key in 30 s. A small one that
// streams takes 15 s for a partition.
const (
	proveTime = 1200 * time.Millisecond
	slowTime  = 15 * time.Second
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
		w.count[c.Device]++
		w.in(w.prove[c.Device], Proved{c.Attempt})
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
