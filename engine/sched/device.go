package sched

import (
	"fmt"
	"slices"
	"sort"

	"cuzk/budget"
	"cuzk/job"
)

// DeviceState tells whether a device gets work.
type DeviceState string

// The states of a device.
const (
	InService   DeviceState = "in-service"
	Quarantined DeviceState = "quarantined" // made a bad proof or failed repeatedly; an operator returns it
	Stuck       DeviceState = "stuck"       // a stage hangs on it; back in service when that stage answers
	Reopening   DeviceState = "reopening"   // is being opened anew; back in service when that went well
	Restarting  DeviceState = "restarting"  // waits for a new process, which alone can open it
	Lost        DeviceState = "lost"        // vanished, deaf, or could not be opened anew; an operator returns it
)

// maxFaults is the number of faults in a row after which a device is
// quarantined, maxHangs that of hangs, maxBreaks that of contexts that broke.
const (
	maxFaults = 3
	maxHangs  = 2
	maxBreaks = 3
)

type device struct {
	Device
	state   DeviceState
	reason  string
	accuser *part // whose bad proof put it into quarantine
	running int   // proofs, strays included
	loading int
	faults  int    // in a row
	hangs   int    // in a row
	breaks  int    // in a row
	opening bool   // was told to reopen and has not answered
	plan    []Time // how long each slot that is taken will still be, as far as is known
	claim   *rank  // only this rank and better may start here
}

// on names the device in a need of its memory.
func (d *device) on(n budget.Need) budget.Need {
	n.On = d.ID
	return n
}

func (c *Core) device(id string) *device {
	for _, d := range c.devices {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func (c *Core) addDevice(spec Device) {
	if c.device(spec.ID) != nil {
		c.returnDevice(spec.ID)
		return
	}
	spec.Slots = max(spec.Slots, 1)
	d := &device{Device: spec, state: InService, reason: spec.Lost}
	if spec.Lost != "" {
		d.state = Lost
	}
	c.mem.AddDevice(spec.ID, spec.Memory)
	c.devices = append(c.devices, d)
	sort.Slice(c.devices, func(i, k int) bool { return c.devices[i].ID < c.devices[k].ID })
	c.emit(DeviceChanged{Device: d.ID, State: d.state, Reason: d.reason})
}

func (c *Core) setState(d *device, s DeviceState, reason string) {
	if d.state == s {
		return
	}
	d.state, d.reason = s, reason
	c.emit(DeviceChanged{Device: d.ID, State: s, Reason: reason})
}

// returnDevice forgets what a device was accused of. One that was out of service
// for it is opened anew, with all that it held: what made it fail may be in there.
func (c *Core) returnDevice(id string) {
	d := c.device(id)
	if d == nil {
		c.strays++
		return
	}
	d.faults, d.hangs, d.breaks, d.accuser = 0, 0, 0, nil
	for _, p := range c.held {
		p.tried = slices.DeleteFunc(p.tried, func(s string) bool { return s == id })
	}
	c.bars = slices.DeleteFunc(c.bars, func(b bar) bool { return b.dev == d })
	if d.state == Quarantined || d.state == Lost {
		c.setState(d, Reopening, "returned")
		c.watchAgain(d)
	}
}

// watchAgain gives what still has not answered on a device its time once more.
func (c *Core) watchAgain(d *device) {
	for _, a := range c.running {
		if a.stage == stageProve && a.device == d && a.stray {
			a.limit = c.stopLimit(a)
		}
	}
	for _, r := range c.keys {
		if r.dev == d && r.state == keyLoading {
			r.limit = c.hangLimit(0)
		}
	}
}

// breakDevice takes a device out to open it anew. What it proves is tried again,
// there too: at most one of its proofs broke it.
func (c *Core) breakDevice(e BreakDevice) {
	d := c.device(e.Device)
	if d == nil {
		c.strays++
		return
	}
	if d.state != InService && d.state != Stuck {
		return // it is out already, and will be opened anew before it serves again
	}
	if d.breaks++; d.breaks >= maxBreaks {
		c.setState(d, Quarantined, fmt.Sprintf("broke %d times in a row, the last: %s", d.breaks, e.Why))
	} else {
		c.setState(d, Reopening, e.Why)
	}
	for _, a := range slices.Clone(c.running) {
		if a.stage == stageProve && a.device == d && !a.stray {
			p := a.part
			c.stray(a)
			if p.breaks++; p.breaks > 1 {
				p.tried = append(p.tried, d.ID)
			}
			c.failed(p, job.DeviceFault, "device broke: "+e.Why)
		}
	}
}

// reopen commands that devices be opened anew on which nothing is left.
func (c *Core) reopen() {
	for _, d := range c.devices {
		empty := d.running == 0 && !slices.ContainsFunc(c.keys, func(r *residency) bool { return r.dev == d })
		if d.state == Reopening && !d.opening && empty {
			d.opening = true
			c.emit(Reopen{Device: d.ID})
		}
	}
}

func (c *Core) reopened(e Reopened) {
	d := c.device(e.Device)
	if d == nil || !d.opening {
		c.strays++
		return
	}
	d.opening = false
	switch {
	case d.state != Reopening: // accused or lost meanwhile
	case e.Why != "":
		c.setState(d, Lost, e.Why)
	default:
		c.setState(d, InService, "")
	}
}

func (c *Core) loseDevice(e LoseDevice) {
	d := c.device(e.Device)
	if d == nil {
		c.strays++
		return
	}
	c.setState(d, Lost, e.Why)
	for _, a := range slices.Clone(c.running) {
		if a.stage == stageProve && a.device == d && !a.stray {
			p := a.part
			c.stray(a)
			p.tried = append(p.tried, d.ID)
			c.failed(p, job.DeviceFault, "device vanished: "+e.Why)
		}
	}
}

// leaveDevice notes that a proof has ended on a device, stray or not.
func (c *Core) leaveDevice(a *attempt) {
	a.device.running--
	c.release(a.key)
	c.unstick(a.device)
}

// unstick decides about a stuck device on which something has answered.
func (c *Core) unstick(d *device) {
	if d.state != Stuck || d.loading > 0 || c.strayOn(d) {
		return
	}
	if d.hangs >= maxHangs {
		c.setState(d, Quarantined, fmt.Sprintf("hung %d times in a row", d.hangs))
		return
	}
	c.setState(d, InService, "")
}

func (c *Core) strayOn(d *device) bool {
	return slices.ContainsFunc(c.running, func(a *attempt) bool {
		return a.stage == stageProve && a.device == d && a.stray
	})
}

// deviceFailed notes a fault. Running out of memory and panics count too: they
// are tried elsewhere, and a device that does nothing else leaves service.
func (c *Core) deviceFailed(a *attempt, e AttemptFailed) {
	d := a.device
	if e.Failure.Permanent() {
		return
	}
	a.part.tried = append(a.part.tried, d.ID)
	d.faults++
	if d.Class == GPU && d.faults >= maxFaults && d.state == InService {
		c.setState(d, Quarantined, fmt.Sprintf("%d faults in a row, the last: %s", d.faults, e.Text))
	}
}

// badProof quarantines the device that made it and tries the partition
// elsewhere. The CPU is the reference and is never quarantined.
func (c *Core) badProof(a *attempt, text string) {
	p, d := a.part, a.device
	p.tried = append(p.tried, d.ID)
	p.accused = append(p.accused, d.ID)
	if d.Class == GPU && d.state != Lost {
		d.accuser = p
		c.setState(d, Quarantined, fmt.Sprintf("made a bad proof of partition %d of job %s", p.index, p.job.spec.ID))
	}
	c.failed(p, job.BadProof, fmt.Sprintf("proofs made by %v did not verify: %s", p.accused, text))
}

// acquit returns the devices that a partition accused.
func (c *Core) acquit(p *part) {
	for _, d := range c.devices {
		if d.accuser == p && d.state == Quarantined {
			d.accuser = nil
			c.setState(d, InService, "")
		}
	}
}

// able tells whether a device could prove a job's partitions if it were empty.
func (c *Core) able(j *jobState, d *device) bool {
	return c.fitting(j, d) && !c.barred(j.spec.Key, d)
}

// fitting is the part of able that stays the same; it is asked for often.
func (c *Core) fitting(j *jobState, d *device) bool {
	if j.fitting == nil {
		j.fitting = make(map[*device]bool, len(c.devices))
	}
	fits, known := j.fitting[d]
	if !known {
		fits = on(&j.spec.Work, d).Able && !(d.Class == CPU && c.cfg.CPU == CPUNever) && c.mem.Possible(c.alone(&j.spec, d)) == nil
		j.fitting[d] = fits
	}
	return fits
}

// serves tells whether a device gets work, or will in moments.
func (d *device) serves() bool { return d.state == InService || d.state == Reopening }

// suits tells whether a device should prove a partition, now or when it is free.
func (c *Core) suits(p *part, d *device) bool {
	if !d.serves() || slices.Contains(p.tried, d.ID) || !c.able(p.job, d) {
		return false
	}
	verdict := len(p.tried) >= 2 // two devices have failed: the CPU is asked
	if d.Class == CPU {
		return c.cfg.CPU == CPUAlways || verdict || !c.anyGPU(p)
	}
	return !verdict || !c.cpuWaits(p)
}

// anyGPU tells whether a GPU may still try the partition.
func (c *Core) anyGPU(p *part) bool {
	return slices.ContainsFunc(c.devices, func(d *device) bool {
		return d.Class == GPU && d.serves() && !slices.Contains(p.tried, d.ID) && c.able(p.job, d)
	})
}

// cpuWaits tells whether a CPU is there that has not tried the partition.
func (c *Core) cpuWaits(p *part) bool {
	return slices.ContainsFunc(c.devices, func(d *device) bool {
		return d.Class == CPU && d.serves() && !slices.Contains(p.tried, d.ID) && c.able(p.job, d)
	})
}

// hasPlace tells whether any device suits the partition.
func (c *Core) hasPlace(p *part) bool {
	return slices.ContainsFunc(c.devices, func(d *device) bool { return c.suits(p, d) })
}
