package sched

import (
	"slices"

	"cuzk/budget"
	"cuzk/job"
)

// View is what a person or a program may want to know, as a copy.
type View struct {
	Devices      []DeviceView
	Keys         []KeyView
	Host, Pinned budget.Pool
	Live         int // jobs
	Running      int // attempts, those included whose result is no longer wanted
	Strays       int // answers that fitted no command; always 0 if the engine is right
	Draining     bool
}

// DeviceView is a device and what it does.
type DeviceView struct {
	Device
	State  DeviceState
	Reason string // why it is out of service, or why it is idle
	Pool   budget.Pool
	Work   []Running
}

// Running is a proof that is being made.
type Running struct {
	Attempt   int
	Job       string
	Partition int
	Stray     bool // its result is no longer wanted
}

// KeyView is a key on a device.
type KeyView struct {
	Key, Device string
	State       string // loading, loaded, dropping
	Need        budget.Need
	Refs        int // proofs that use it now
	Preloaded   bool
}

// PartView is the state of one partition.
type PartView struct {
	State string // queued, making, ready, proving, checking, done
	Tries int    // failed attempts
}

// JobView is the state of a live job.
type JobView struct {
	Class     job.Class
	Begun     bool
	Submitted Time
	Parts     []PartView
}

// View copies the state of everything but the jobs.
func (c *Core) View() View {
	v := View{Host: c.mem.Host(), Pinned: c.mem.Pinned(), Live: len(c.jobs), Running: len(c.running),
		Strays: c.strays, Draining: c.draining || c.halted}
	for _, d := range c.devices {
		v.Devices = append(v.Devices, c.viewDevice(d))
	}
	states := [...]string{keyLoading: "loading", keyLoaded: "loaded", keyDropping: "dropping"}
	for _, r := range c.keys {
		v.Keys = append(v.Keys, KeyView{Key: r.key, Device: r.dev.ID, State: states[r.state],
			Need: r.lease.Need(), Refs: r.refs, Preloaded: r.preload})
	}
	return v
}

func (c *Core) viewDevice(d *device) DeviceView {
	v := DeviceView{Device: d.Device, State: d.state, Reason: d.reason, Pool: c.mem.Device(d.ID)}
	for _, a := range c.running {
		if a.stage == stageProve && a.device == d {
			v.Work = append(v.Work, Running{Attempt: a.id, Job: a.part.job.spec.ID, Partition: a.part.index, Stray: a.stray})
		}
	}
	if d.state == InService && len(v.Work) == 0 {
		v.Reason = c.idle(d)
	}
	return v
}

// Idle reasons of a device in service.
const (
	IdleNothing = "nothing to do"
	IdleWitness = "waiting for a witness"
	IdleKey     = "waiting for a key"
	IdleMemory  = "waiting for memory"
	IdleStandby = "standing by" // other devices do the work, or are sooner done with it
	IdleRestart = "waiting for a restart"
)

// idle explains why a device in service proves nothing.
func (c *Core) idle(d *device) string {
	if c.settling {
		return IdleRestart
	}
	why := IdleNothing
	for _, p := range c.held {
		if p.state != making && p.state != ready || !c.suits(p, d) {
			continue
		}
		r := c.resident(p.job.spec.Key, d)
		switch {
		case p.state == making && why == IdleNothing:
			why = IdleWitness
		case p.state == ready && r == nil:
			why = IdleKey
		case p.state == ready && c.useful(p, d):
			return IdleMemory
		case p.state == ready && why == IdleNothing:
			why = IdleStandby
		}
	}
	switch {
	case why != IdleNothing || len(c.jobs) == 0:
		return why
	case d.Class == CPU && c.cfg.CPU == CPUFallback:
		return IdleStandby
	}
	return c.idleQueue(d)
}

// idleQueue looks at the jobs that have not begun: if one could run here, then
// its witness waits for memory or for its turn to be made.
func (c *Core) idleQueue(d *device) string {
	why, looked := IdleNothing, 0
	made, _ := c.count()
	c.order.each(c.now, func(j *jobState) bool {
		for _, p := range j.parts {
			if p.state == queued && c.suits(p, d) {
				why = IdleMemory
				if made >= c.cfg.Making {
					why = IdleWitness
				}
				return false
			}
		}
		looked++
		return looked < 64 // a look, not a census
	})
	return why
}

// Job is the state of a live job; false if there is none of that id.
func (c *Core) Job(id string) (JobView, bool) {
	j := c.jobs[id]
	if j == nil {
		return JobView{}, false
	}
	v := JobView{Class: j.spec.Class, Begun: j.begun, Submitted: j.submitted}
	for _, p := range j.parts {
		v.Parts = append(v.Parts, PartView{State: p.state.String(), Tries: p.tries})
	}
	return v, true
}

// Position is the number of live jobs before the given one.
func (c *Core) Position(id string) int {
	n := 0
	c.order.each(c.now, func(j *jobState) bool {
		if j.spec.ID == id {
			return false
		}
		n++
		return true
	})
	return n
}

// Begun counts the live jobs that have begun.
func (c *Core) Begun() int {
	n := 0
	for _, j := range c.jobs {
		if j.begun {
			n++
		}
	}
	return n
}

// Quiet tells whether no command waits for its answer.
func (c *Core) Quiet() bool {
	if len(c.running) > 0 || len(c.witnesses) > 0 {
		return false
	}
	for _, r := range c.keys {
		if r.state != keyLoaded {
			return false
		}
	}
	return !slices.ContainsFunc(c.devices, func(d *device) bool { return d.opening })
}
