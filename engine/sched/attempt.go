package sched

import (
	"slices"

	"cuzk/budget"
	"cuzk/job"
)

// start notes an attempt that the engine is about to be told of.
func (c *Core) start(a *attempt, usual Time) *attempt {
	c.next++
	a.id, a.began = c.next, c.now
	a.limit = c.hangLimit(usual)
	a.part.current = a
	a.part.job.begun = true
	if a.witness != nil {
		a.witness.users++
	}
	c.attempts[a.id] = a
	c.running = append(c.running, a)
	return a
}

// ended takes an answered attempt off the books and gives back what it held.
// It is nil for an unknown number.
func (c *Core) ended(id int, s stage) *attempt {
	a := c.attempts[id]
	if a == nil || a.stage != s {
		c.strays++
		return nil
	}
	delete(c.attempts, id)
	c.running = slices.DeleteFunc(c.running, func(b *attempt) bool { return b == a })
	a.lease.Release()
	if a.part.current == a {
		a.part.current = nil
	}
	switch s {
	case stageSynthesise:
		a.part.job.making--
	case stageProve:
		c.leaveDevice(a)
	}
	if a.witness != nil {
		a.witness.users--
		c.freeIfStale(a.witness)
	}
	return a
}

func (c *Core) synthesised(e Synthesised) {
	a := c.ended(e.Attempt, stageSynthesise)
	if a == nil {
		return
	}
	w := c.witnesses[a.id]
	w.made = true
	if e.Bytes > 0 {
		w.lease.Shrink(budget.Need{Host: e.Bytes})
	}
	if a.stray {
		w.stale = true
		c.freeIfStale(w)
		return
	}
	a.part.state = ready
}

func (c *Core) proved(e Proved) {
	a := c.ended(e.Attempt, stageProve)
	if a == nil || a.stray {
		return
	}
	c.measure(a)
	a.device.faults, a.device.hangs, a.device.breaks = 0, 0, 0
	p := a.part
	p.state = checking
	next := c.start(&attempt{part: p, stage: stageCheck, device: a.device, witness: p.witness}, p.job.spec.Work.Usual.Check)
	c.emit(Check{Attempt: next.id, Job: p.job.spec.ID, Partition: p.index, Witness: p.witness.id, Proof: a.id, Device: a.device.ID})
}

func (c *Core) checked(e Checked) {
	a := c.ended(e.Attempt, stageCheck)
	switch {
	case a == nil || a.stray:
	case e.Good:
		c.partitionDone(a.part)
	default:
		c.badProof(a, e.Text)
	}
}

func (c *Core) partitionDone(p *part) {
	c.discard(p)
	c.unhold(p)
	p.state = done
	p.job.done++
	c.joinIfDone(p.job)
}

func (c *Core) attemptFailed(e AttemptFailed) {
	a := c.attempts[e.Attempt]
	if a == nil {
		c.strays++
		return
	}
	c.ended(e.Attempt, a.stage)
	if a.stage == stageSynthesise {
		c.witnesses[a.id].stale = true
		c.forgetWitness(c.witnesses[a.id])
	}
	if a.stray {
		return
	}
	switch a.stage {
	case stageSynthesise:
		a.part.witness = nil
		c.failed(a.part, e.Failure, e.Text)
	case stageProve:
		c.deviceFailed(a, e)
		c.failed(a.part, e.Failure, e.Text)
	case stageCheck:
		c.failed(a.part, e.Failure, e.Text)
	}
}

// hold and unhold keep the list of partitions that have left the queue.
func (c *Core) hold(p *part) { c.held = append(c.held, p) }

func (c *Core) unhold(p *part) {
	c.held = slices.DeleteFunc(c.held, func(q *part) bool { return q == p })
}

// discard gives up a partition's witness; it is freed when nothing reads it.
func (c *Core) discard(p *part) {
	w := p.witness
	p.witness = nil
	if w != nil {
		w.stale = true
		c.freeIfStale(w)
	}
}

func (c *Core) freeIfStale(w *witness) {
	if w.stale && w.made && w.users == 0 {
		w.made = false // told once
		c.emit(DropWitness{Witness: w.id, Job: w.job})
	}
}

func (c *Core) witnessFreed(e WitnessFreed) {
	if w := c.witnesses[e.Witness]; w != nil && w.stale && !w.made && w.users == 0 {
		c.forgetWitness(w)
		return
	}
	c.strays++
}

func (c *Core) forgetWitness(w *witness) {
	w.lease.Release()
	delete(c.witnesses, w.id)
}

// requeue puts a partition back to where its witness must be made anew.
func (c *Core) requeue(p *part) {
	c.discard(p)
	c.unhold(p)
	p.state = queued
}

// failed decides what becomes of a partition whose attempt failed.
func (c *Core) failed(p *part, f job.Failure, text string) {
	p.tries++
	p.failure = f
	again := p.tries < c.cfg.MaxAttempts && !f.Permanent() && f != job.NoKey && f != job.Storage
	switch {
	case !again:
		c.giveUp(p, f, text)
	case p.witness == nil:
		c.unhold(p)
		p.state = queued
	case c.hasPlace(p):
		p.state = ready
	case f == job.BadProof:
		c.giveUp(p, f, text)
	default:
		p.tried = nil // the same device may have another try
		p.state = ready
	}
}

// giveUp ends the job of a partition that cannot be proved. If several devices
// made bad proofs of it, then the request is to blame and not they.
func (c *Core) giveUp(p *part, f job.Failure, text string) {
	if f == job.BadProof && len(p.accused) > 1 {
		c.acquit(p)
	}
	c.finish(p.job, job.Failed, f, text)
}
