package sched

import (
	"slices"

	"cuzk/job"
)

// beginToSettle starts nothing more that can wait for the next process. Critical jobs
// cannot: whoever asked for one does not ask again.
func (c *Core) beginToSettle(e Settle) {
	c.settling = true
	if d := c.device(e.Device); d != nil {
		d.opening = false
		c.setState(d, Restarting, e.Why)
	}
}

// waitsForRestart tells whether a job goes on in the next process.
func (c *Core) waitsForRestart(j *jobState) bool { return c.settling && j.spec.Class < job.Critical }

// Settled tells whether, after a Settle, the process may end: no attempt runs whose
// result is wanted, no job is being joined, and no critical job can go on.
func (c *Core) Settled() bool {
	if !c.settling || slices.ContainsFunc(c.running, func(a *attempt) bool { return !a.stray }) {
		return false
	}
	for _, j := range c.jobs {
		if j.joining || !c.waitsForRestart(j) && slices.ContainsFunc(j.parts, func(p *part) bool { return p.state != done && c.hasPlace(p) }) {
			return false
		}
	}
	return true
}
