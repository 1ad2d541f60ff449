package sched

import (
	"cuzk/budget"
	"cuzk/job"
)

// Two large keys may not fit on one device together. Loading one takes as long as
// many partitions, so work is grouped by key: a key that was loaded stays for
// [Config.KeyHold] while partitions wait for it, and those go first within their
// class; work for the other key waits for its turn. When the time is over, age
// decides again. A higher class, also one that was reached by age, takes the
// place at once.

// turnOf asks for the turn of a key's work of a class.
type turnOf struct {
	key   string
	class job.Class
}

// turn is 0 for work that can have its key now, or once what runs has ended, and
// 1 if all devices for it are held by other keys. It stays the same within a
// step.
func (c *Core) turn(j *jobState, class job.Class) int {
	if c.cfg.KeyHold <= 0 || class >= job.Critical {
		return 0
	}
	ask := turnOf{j.spec.Key, class}
	t, known := c.turns[ask]
	if !known {
		t = c.findTurn(j, class)
		c.turns[ask] = t
	}
	return t
}

func (c *Core) findTurn(j *jobState, class job.Class) int {
	held := 0
	for _, d := range c.devices {
		if d.state != InService || !c.able(j, d) || d.Class == CPU && c.cfg.CPU == CPUFallback && c.gpuFor(j) {
			continue
		}
		r := c.residency(j.spec.Key, d)
		if r != nil && r.state != keyDropping && !r.evict || c.roomBesideHeld(j, d, class) {
			return 0
		}
		held = 1
	}
	return held
}

// gpuFor tells whether a GPU in service could prove a job.
func (c *Core) gpuFor(j *jobState) bool {
	for _, d := range c.devices {
		if d.Class == GPU && d.state == InService && c.able(j, d) {
			return true
		}
	}
	return false
}

// roomBesideHeld tells whether a device would have room for a job's key, and for
// a proof with any of those that are there, if all keys were dropped that are not
// held.
func (c *Core) roomBesideHeld(j *jobState, d *device, class job.Class) bool {
	own := on(&j.spec.Work, d)
	keys, prove := c.alone(&j.spec, d), d.on(own.Prove)
	for _, r := range c.keys {
		if c.holds(r, class) {
			keys, prove = plusOn(keys, r.lease.Need()), mostOn(prove, r.prove)
		}
	}
	more := prove // than own.Prove, which keys has
	more.Host, more.Pinned, more.Device = more.Host-own.Prove.Host, more.Pinned-own.Prove.Pinned, more.Device-own.Prove.Device
	return c.mem.Possible(plusOn(keys, more)) == nil
}

// mostOn is enough for both needs; device bytes count only if they are of the
// first one's device.
func mostOn(n, m budget.Need) budget.Need {
	if m.On != n.On {
		m.Device = 0
	}
	return budget.Need{Host: max(n.Host, m.Host), Pinned: max(n.Pinned, m.Pinned), Device: max(n.Device, m.Device), On: n.On}
}

// holds tells whether a key keeps its place against work of a class for another
// key. One that nothing waits for keeps it for as long as loading it took: the
// next partition for it may be about to come.
func (c *Core) holds(r *residency, class job.Class) bool {
	if class >= job.Critical || r.evict || r.state == keyDropping || r.dev.state != InService || c.now >= r.since+c.cfg.KeyHold {
		return false
	}
	if best, any := c.waitFor(r); any {
		return best >= class
	}
	return r.refs > 0 || r.class >= class && c.now < r.rests()
}

// rests is the moment until which an idle key keeps its place.
func (r *residency) rests() Time { return r.used + r.took }

// waitFor is the best class, with age, of the partitions that wait for a key
// on its device.
func (c *Core) waitFor(r *residency) (best job.Class, any bool) {
	for _, l := range c.order.lanes {
		if l.key != r.key {
			continue
		}
		for _, j := range l.jobs {
			if c.waits(j, r.dev) {
				best, any = max(best, aged(j.spec.Class, c.now-j.submitted, c.cfg.AgeStep)), true
				break
			}
		}
	}
	return best, any
}

// waits tells whether a job has a partition that will be proved on a device.
func (c *Core) waits(j *jobState, d *device) bool {
	if c.draining && !j.begun {
		return false
	}
	for _, p := range j.parts {
		if p.state < proving && c.suits(p, d) {
			return true
		}
	}
	return false
}

// yield gives up the worst finished witness whose turn has not come, for one
// whose turn it is, and tells whether there was one. It is made again later.
func (c *Core) yield(to *part) bool {
	me := c.rank(to)
	for i := len(c.held) - 1; i >= 0; i-- {
		p := c.held[i]
		if r := c.rank(p); p.state == ready && p.witness.users == 0 && r.turn > me.turn && me.before(r) {
			c.requeue(p)
			return true
		}
	}
	return false
}

// freeing tells whether the memory of a witness is on its way back.
func (c *Core) freeing() bool {
	for _, w := range c.witnesses {
		if w.stale && !w.made && w.users == 0 {
			return true
		}
	}
	return false
}

// noteHolds notes when keys stop being held.
func (c *Core) noteHolds(note func(Time)) {
	if c.cfg.KeyHold <= 0 {
		return
	}
	for _, r := range c.keys {
		for _, at := range []Time{r.since + c.cfg.KeyHold, r.rests()} {
			if r.state == keyLoaded && at > c.now {
				note(at)
			}
		}
	}
}

// mayGo tells whether an idle key may be dropped to load that of a partition, or
// to use one that is there: if only worse work is on its way to it, and, in the
// first case, it is not held.
func (c *Core) mayGo(r *residency, p *part, d *device) bool {
	me := c.rank(p)
	if r.wanted != nil && !me.before(*r.wanted) {
		return false
	}
	return c.resident(p.job.spec.Key, d) != nil || !c.holds(r, me.class)
}
