package sched

import (
	"cmp"
	"slices"
)

// Devices differ: a card that streams a key may take many times as long as one
// that holds it. A partition goes to the device that will be done with it soonest,
// as far as the times are known, also if that is busy now; so a slow device takes
// part only when the queue before the fast ones is longer than its own proof. A
// device whose time is not known is tried.

// timeOf names what a device takes for one partition with a key.
type timeOf struct{ key, device string }

// measured is a moving average, and when it last moved.
type measured struct{ took, at Time }

// knownFor is how long a time counts as known: what was slow once gets another
// chance.
const knownFor = 3600e9 // an hour

// measure notes how long a proof took.
func (c *Core) measure(a *attempt) {
	k := timeOf{a.part.job.spec.Key, a.device.ID}
	took := c.now - a.began
	if old, ok := c.times[k]; ok {
		took = old.took + (took-old.took)/5
	}
	c.times[k] = measured{took, c.now}
}

// time is what a device takes for a partition; 0 if that is not known.
func (c *Core) time(p *part, d *device) Time {
	if m, ok := c.times[timeOf{p.job.spec.Key, d.ID}]; ok && c.now < m.at+knownFor {
		return m.took
	}
	return 0
}

// usualOn is how long a proof usually takes on a device, for the watchdog.
func (c *Core) usualOn(p *part, d *device) Time {
	usual := p.job.spec.Work.Usual.ProveGPU
	if d.Class == CPU {
		usual = p.job.spec.Work.Usual.ProveCPU
	}
	return max(usual, c.times[timeOf{p.job.spec.Key, d.ID}].took)
}

// planDevices looks at how long the slots of devices are still occupied.
func (c *Core) planDevices() {
	for _, d := range c.devices {
		d.plan = d.plan[:0]
	}
	for _, a := range c.running {
		if a.stage == stageProve {
			a.device.plan = append(a.device.plan, c.left(a))
		}
	}
}

// left is how long a proof will still take. One that has taken much longer than
// usual may take as long again.
func (c *Core) left(a *attempt) Time {
	usual, spent := c.time(a.part, a.device), c.now-a.began
	if late(spent, usual) {
		return spent
	}
	return max(usual-spent, 0)
}

func late(spent, usual Time) bool { return spent > usual+usual/2 }

// free tells whether a device can start a partition now, but for memory.
func (c *Core) free(p *part, d *device) bool {
	return d.running < d.Slots && c.unused(p, c.resident(p.job.spec.Key, d)) > 0
}

// done is when a partition would be done on a device that has its key, from now;
// 0 if the device is free and its time not known.
func (c *Core) done(p *part, d *device) Time {
	if c.free(p, d) && len(d.plan) < d.Slots || len(d.plan) == 0 {
		return c.time(p, d)
	}
	return slices.Min(d.plan) + c.time(p, d)
}

// await plans a partition behind what a device does now.
func (c *Core) await(p *part, d *device) {
	if len(d.plan) == 0 {
		return
	}
	i := slices.Index(d.plan, slices.Min(d.plan))
	d.plan[i] += c.time(p, d)
}

// soonest orders devices for a partition: by when they would be done with it, those
// that must be tried first, then GPUs, then the least busy.
func (c *Core) soonest(p *part, devices []*device) {
	slices.SortStableFunc(devices, func(a, b *device) int {
		return cmp.Or(cmp.Compare(c.done(p, a), c.done(p, b)), cmp.Compare(b.Class, a.Class), cmp.Compare(a.running, b.running))
	})
}

// sooner tells whether a device that is busy now will be done with a partition
// clearly before a free one, and plans the partition there.
func (c *Core) sooner(p *part, d *device) bool {
	own := c.time(p, d)
	if own == 0 {
		return false
	}
	for _, other := range c.candidates(p) {
		if t := c.time(p, other); t > 0 && !c.free(p, other) && c.done(p, other) < own*3/4 {
			c.await(p, other)
			return true
		}
	}
	return false
}

// useful tells whether a partition would be proved on a device if that had its
// key: not if one that has it is sooner done.
func (c *Core) useful(p *part, d *device) bool {
	own := c.time(p, d)
	return own == 0 || !slices.ContainsFunc(c.candidates(p), func(other *device) bool {
		done := c.done(p, other)
		return other != d && done > 0 && done < own*3/4
	})
}

// noteLate notes when to look again at proofs that others wait behind.
func (c *Core) noteLate(note func(Time)) {
	if !slices.ContainsFunc(c.held, func(p *part) bool { return p.state == ready }) {
		return
	}
	for _, a := range c.running {
		if usual := c.timeOfAttempt(a); usual > 0 {
			at := a.began + usual + usual/2
			if at < c.now {
				at = c.now + max(usual/2, 1e9)
			}
			note(at + 1)
		}
	}
}

func (c *Core) timeOfAttempt(a *attempt) Time {
	if a.stage != stageProve {
		return 0
	}
	return c.time(a.part, a.device)
}
