package sched

import (
	"container/heap"
	"fmt"
	"slices"

	"cuzk/job"
)

// hangLimit is the moment at which a stage that starts now has hung; 0: never.
func (c *Core) hangLimit(usual Time) Time {
	switch {
	case c.cfg.HangFactor <= 0 || usual <= 0 && c.cfg.HangUnknown <= 0:
		return 0
	case usual <= 0:
		return c.now + c.cfg.HangUnknown
	}
	return c.now + max(usual*Time(c.cfg.HangFactor), c.cfg.HangFloor)
}

// expire ends what has run out of time.
func (c *Core) expire() {
	for id, at, ok := c.deadlines.first(); ok && at <= c.now; id, at, ok = c.deadlines.first() {
		heap.Pop(&c.deadlines)
		if j := c.jobs[id]; j != nil {
			c.finish(j, job.TimedOut, job.Overdue, fmt.Sprintf("not finished at its deadline: %d of %d partitions were done", j.done, len(j.parts)))
		}
	}
	for _, a := range slices.Clone(c.running) {
		switch {
		case a.limit <= 0 || a.limit > c.now:
		case a.stray:
			c.deaf(a)
		default:
			c.hung(a)
		}
	}
	for _, r := range slices.Clone(c.keys) {
		if r.state == keyLoading && r.limit > 0 && r.limit <= c.now {
			c.loadHangs(r)
		}
	}
}

// loadHangs takes a device out of service until the loading of a key answers.
func (c *Core) loadHangs(r *residency) {
	r.limit = 0
	switch r.dev.state {
	case InService:
		c.setState(r.dev, Stuck, "loading key "+r.key+" hangs")
	case Reopening:
		c.setState(r.dev, Lost, "loading key "+r.key+" does not end: the device or the disk of the key; if it stays so, restart the daemon")
	}
}

// stopLimit is the moment from which a proof that was told to stop counts as
// deaf; 0 for other stages.
func (c *Core) stopLimit(a *attempt) Time {
	if a.stage != stageProve || c.cfg.StopLimit <= 0 {
		return 0
	}
	return c.now + c.cfg.StopLimit
}

// deaf gives up the device of a proof that was told to stop and has not. The
// processor cannot be given up: it is waited for.
func (c *Core) deaf(a *attempt) {
	a.limit = 0
	d := a.device
	what := fmt.Sprintf("partition %d of job %s did not stop", a.part.index, a.part.job.spec.ID)
	if d.Class == CPU {
		if d.state == InService {
			c.setState(d, Stuck, what)
		}
		return
	}
	why := what + ": the device was given up, its memory is free when the daemon is restarted"
	c.emit(Abandon{Device: d.ID, Why: why})
	c.loseDevice(LoseDevice{Device: d.ID, Why: why})
}

// hung gives up an attempt that takes too long. It keeps its memory and its
// slot until it answers.
func (c *Core) hung(a *attempt) {
	p := a.part
	c.stray(a)
	switch a.stage {
	case stageSynthesise:
		p.witness = nil // dropped when the attempt answers
		c.failed(p, job.Hung, "making the witness took too long")
	case stageProve:
		a.device.hangs++
		p.tried = append(p.tried, a.device.ID)
		if a.device.state == InService {
			c.setState(a.device, Stuck, fmt.Sprintf("partition %d of job %s hangs", p.index, p.job.spec.ID))
		}
		c.failed(p, job.Hung, "proving on "+a.device.ID+" took too long")
	case stageCheck:
		c.failed(p, job.Hung, "checking the proof took too long")
	}
}

// Next is the moment at which a Tick is due, if there is one.
func (c *Core) Next() (Time, bool) {
	if c.halted {
		return 0, false
	}
	best, any := Time(0), false
	note := func(t Time) {
		if t > 0 && (!any || t < best) {
			best, any = t, true
		}
	}
	c.deadlines.clean(func(id string) bool { return c.jobs[id] != nil })
	if _, at, ok := c.deadlines.first(); ok {
		note(at)
	}
	for _, a := range c.running {
		note(a.limit)
	}
	for _, b := range c.bars {
		if b.until > c.now {
			note(b.until)
		}
	}
	for _, r := range c.keys {
		note(r.limit)
		if c.idleDue(r) {
			note(r.used + c.cfg.KeyIdle)
		}
	}
	c.noteHolds(note)
	c.noteLate(note)
	return best, any
}

// deadlines is a heap of jobs by deadline; ended jobs are cleaned off its top.
type deadlines []deadline

type deadline struct {
	at Time
	id string
}

func (h deadlines) Len() int           { return len(h) }
func (h deadlines) Less(i, k int) bool { return h[i].at < h[k].at }
func (h deadlines) Swap(i, k int)      { h[i], h[k] = h[k], h[i] }

// Push and Pop are for package heap.
func (h *deadlines) Push(x any) { *h = append(*h, x.(deadline)) }

// Pop removes the last.
func (h *deadlines) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

func (h *deadlines) add(id string, at Time) {
	if at > 0 {
		heap.Push(h, deadline{at, id})
	}
}

func (h deadlines) first() (string, Time, bool) {
	if len(h) == 0 {
		return "", 0, false
	}
	return h[0].id, h[0].at, true
}

func (h *deadlines) clean(live func(string) bool) {
	for len(*h) > 0 && !live((*h)[0].id) {
		heap.Pop(h)
	}
}
