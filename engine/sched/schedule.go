package sched

import (
	"slices"
	"sort"

	"cuzk/budget"
	"cuzk/job"
)

// schedule starts all that can start.
func (c *Core) schedule() {
	if c.halted {
		c.forget()
		return
	}
	clear(c.turns)
	c.claims = nil
	for _, d := range c.devices {
		d.claim = nil
	}
	c.settle()
	c.serveDevices()
	if c.synthesise() {
		c.settle()
		c.serveDevices()
	}
	c.dropIdle()
	if !c.settling {
		c.extraKeys()
	}
	c.reopen()
	c.forget()
}

func (c *Core) rank(p *part) rank { return c.order.rank(p.job, p.index, c.now) }

// settle sorts the partitions on their way and sends those back whose witness
// no device in service could use.
func (c *Core) settle() {
	for _, p := range slices.Clone(c.held) {
		if p.state == ready && !c.hasPlace(p) {
			c.requeue(p)
		}
	}
	sort.Slice(c.held, func(i, k int) bool { return c.rank(c.held[i]).before(c.rank(c.held[k])) })
}

// place starts a partition on the device that will be done with it soonest, or
// leaves it waiting for that. Where only memory is missing, it makes room and keeps
// worse partitions out. It tells whether a device that has the key was free: if not,
// worse partitions for that key need not ask.
func (c *Core) place(p *part) (free bool) {
	var short *device
	for _, d := range c.candidates(p) {
		if !c.free(p, d) {
			continue
		}
		free = true
		if c.sooner(p, d) {
			break
		}
		if c.fits(c.rank(p), d.on(on(&p.job.spec.Work, d).Prove)) {
			c.startProof(p, d)
			return true
		}
		if short == nil {
			short = d
		}
	}
	if short != nil {
		c.makeRoom(p, short, short.on(on(&p.job.spec.Work, short).Prove))
	}
	return free
}

// candidates are the devices that have the key, the soonest first; those that are
// busy among them.
func (c *Core) candidates(p *part) []*device {
	var out []*device
	for _, d := range c.devices {
		r := c.resident(p.job.spec.Key, d)
		if r != nil && !r.evict && d.state == InService && c.suits(p, d) && !c.behind(p, d) {
			out = append(out, d)
		}
	}
	c.soonest(p, out)
	return out
}

// claim is memory that a partition waits for: worse ones may only take what is
// left beside it.
type claim struct {
	rank rank
	need budget.Need
}

func (c *Core) reserveFor(me rank, need budget.Need) {
	c.claims = slices.DeleteFunc(c.claims, func(cl claim) bool { return cl.rank == me })
	c.claims = append(c.claims, claim{me, need})
}

// lastRank is worse than that of any partition.
var lastRank = rank{class: -1}

// behind tells whether a better partition waits for memory of a device.
func (c *Core) behind(p *part, d *device) bool {
	return d.claim != nil && d.claim.before(c.rank(p))
}

// fits tells whether a need can be reserved now without taking host memory that
// a better partition waits for.
func (c *Core) fits(me rank, need budget.Need) bool {
	for _, cl := range c.claims {
		if cl.rank.before(me) {
			need.Host += cl.need.Host
			need.Pinned += cl.need.Pinned
		}
	}
	return c.mem.Fits(need)
}

func (c *Core) startProof(p *part, d *device) {
	w := &p.job.spec.Work
	lease, _ := c.mem.Reserve(d.on(on(w, d).Prove)) // fits: asked just before
	r := c.resident(p.job.spec.Key, d)
	r.refs++
	r.class = c.rank(p).class
	d.running++
	d.plan = append(d.plan, c.time(p, d))
	p.state = proving
	a := c.start(&attempt{part: p, stage: stageProve, device: d, key: r, witness: p.witness, lease: lease}, c.usualOn(p, d))
	c.emit(Prove{Attempt: a.id, Job: p.job.spec.ID, Partition: p.index, Witness: p.witness.id, Device: d.ID, Key: p.job.spec.Key})
}

// makeRoom frees memory for a partition on a device: idle keys that only worse
// partitions want, then finished witnesses of worse partitions. Until it is
// free, worse partitions start nothing that would take it.
func (c *Core) makeRoom(p *part, d *device, need budget.Need) {
	me := c.rank(p)
	if d.claim == nil || me.before(*d.claim) {
		d.claim = &me
	}
	c.reserveFor(me, need)
	c.giveWay(p, d, c.shortage(need))
}

// giveWay drops what worse partitions hold, until the shortage is covered.
// Preloaded keys go only for critical partitions, or when nothing runs whose end
// would bring the memory: on the device, for a key there.
func (c *Core) giveWay(p *part, d *device, short budget.Need) {
	me := c.rank(p)
	pressing := func(r *residency) bool {
		return p.job.spec.Class == job.Critical || r.dev == d && d.running == 0 || len(c.running) == 0
	}
	short = c.dropKeys(d, short, func(r *residency) bool {
		spare := r.key == p.job.spec.Key && r.dev != d && r.wanted != nil && me == *r.wanted // its own key, elsewhere
		return (spare || c.mayGo(r, p, d)) && (!r.preload || pressing(r))
	})
	if short.Host > 0 {
		c.dropWitnesses(short.Host, me)
	}
}

// shortage is what is missing for a need beyond what is free or being freed.
func (c *Core) shortage(n budget.Need) budget.Need {
	soon := budget.Need{On: n.On}
	for _, r := range c.keys {
		if r.state == keyDropping {
			soon = plusOn(soon, r.lease.Need())
		}
	}
	for _, w := range c.witnesses {
		if w.stale && !w.made && w.users == 0 {
			soon.Host += w.lease.Need().Host
		}
	}
	return budget.Need{
		Host:   n.Host + n.Pinned - c.mem.Host().Free() - soon.Host - soon.Pinned,
		Pinned: n.Pinned - c.mem.Pinned().Free() - soon.Pinned,
		Device: n.Device - c.mem.Device(n.On).Free() - soon.Device,
		On:     n.On,
	}
}

// plusOn adds a need; device bytes only if they are of the same device.
func plusOn(n, m budget.Need) budget.Need {
	if m.On != n.On {
		m.Device = 0
	}
	m.On = n.On
	return n.Plus(m)
}

// dropKeys drops idle keys that may go, unwanted and longest unused first, if that
// covers the shortage, and returns what is still short. As long as a key that is in
// use would have to go too, none does, and of those that go none is dropped in
// vain: small ones stay if a large one must go anyway.
func (c *Core) dropKeys(d *device, short budget.Need, may func(*residency) bool) budget.Need {
	var idle, chosen []*residency
	for _, r := range c.keys {
		if r.state == keyLoaded && r.refs == 0 && may(r) {
			idle = append(idle, r)
		}
	}
	sort.SliceStable(idle, func(i, k int) bool { return goesBefore(idle[i], idle[k]) })
	left := short
	for _, r := range idle {
		if helps(r.lease.Need(), d, left) {
			chosen = append(chosen, r)
			left = less(left, r.lease.Need(), d)
		}
	}
	if !covered(left) {
		return short
	}
	for _, r := range chosen {
		if spared := more(left, r.lease.Need(), d); covered(spared) {
			left = spared
			continue
		}
		c.displace(r)
	}
	return left
}

// less is what is still short once a key has gone, more what is if it stays.
func less(short, give budget.Need, d *device) budget.Need {
	if give.On != d.ID {
		give.Device = 0
	}
	short.Host -= give.Host + give.Pinned
	short.Pinned -= give.Pinned
	short.Device -= give.Device
	return short
}

func more(short, give budget.Need, d *device) budget.Need {
	return less(short, budget.Need{Host: -give.Host, Pinned: -give.Pinned, Device: -give.Device, On: give.On}, d)
}

func covered(short budget.Need) bool {
	return short.Host <= 0 && short.Pinned <= 0 && short.Device <= 0
}

func helps(give budget.Need, d *device, short budget.Need) bool {
	return short.Device > 0 && give.On == d.ID && give.Device > 0 ||
		short.Host > 0 && give.Host+give.Pinned > 0 || short.Pinned > 0 && give.Pinned > 0
}

// goesBefore orders keys for dropping: unwanted, then not preloaded, then the
// one that serves the worst partition, then the longest unused.
func goesBefore(a, b *residency) bool {
	if (a.wanted == nil) != (b.wanted == nil) {
		return a.wanted == nil
	}
	if a.preload != b.preload {
		return !a.preload
	}
	if a.wanted != nil && *a.wanted != *b.wanted {
		return b.wanted.before(*a.wanted)
	}
	return a.used < b.used
}

func (c *Core) dropUnwanted(d *device, need budget.Need) {
	c.dropKeys(d, c.shortage(need), func(r *residency) bool { return r.wanted == nil && !r.preload && !c.holds(r, lastRank.class) })
}

// dropWitnesses gives up finished witnesses of worse partitions, the worst
// first; they are made again later.
func (c *Core) dropWitnesses(short budget.Bytes, than rank) {
	for _, p := range slices.Backward(slices.Clone(c.held)) {
		if short <= 0 || !than.before(c.rank(p)) {
			return
		}
		if p.state == ready && p.witness.users == 0 {
			short -= p.witness.lease.Need().Host
			c.requeue(p)
		}
	}
}

// synthesise starts witnesses, best first, and tells whether it started any.
func (c *Core) synthesise() bool {
	started := false
	c.order.each(c.now, func(j *jobState) bool {
		if c.draining && !j.begun || c.waitsForRestart(j) {
			return true
		}
		for _, p := range j.parts {
			if p.state != queued || !c.hasPlace(p) {
				continue
			}
			if !c.mayMake(p) {
				return false
			}
			c.startWitness(p)
			started = true
		}
		return true
	})
	return started
}

// mayMake tells whether a witness may be started now, and makes room for a
// critical one.
func (c *Core) mayMake(p *part) bool {
	if p.job.spec.Class == job.Critical {
		return c.mayMakeCritical(p)
	}
	made, waiting := c.count()
	if made >= c.cfg.Making || c.cfg.Ahead > 0 && waiting >= c.cfg.Ahead && !c.yield(p) {
		return false
	}
	me, need := c.rank(p), c.makingNeed(p)
	need.Host += c.cfg.Reserve
	if c.leavesRoom(p) && c.fits(me, need) {
		return true
	}
	if !c.freeing() {
		c.yield(p)
	}
	c.dropKeys(&device{}, c.shortage(need), func(r *residency) bool {
		return r.wanted == nil && (!r.preload || len(c.running) == 0) && !c.holds(r, me.class)
	})
	return false
}

func (c *Core) mayMakeCritical(p *part) bool {
	if made, _ := c.count(); made > c.cfg.Making {
		return false
	}
	me, need := c.rank(p), c.makingNeed(p)
	if c.fits(me, need) {
		return true
	}
	c.reserveFor(me, need)
	c.giveWay(p, &device{}, c.shortage(need))
	return false
}

func (c *Core) count() (made, waiting int) {
	for _, p := range c.held {
		switch p.state {
		case making:
			made++
			waiting++
		case ready:
			waiting++
		}
	}
	return made, waiting
}

func (c *Core) makingNeed(p *part) budget.Need {
	w := &p.job.spec.Work
	n := budget.Need{Host: w.Witness + w.Synth}
	if p.job.decoded == nil {
		n.Host += w.Decoded
	}
	return n
}

// leavesRoom keeps so much host memory free of witnesses that, once running
// proofs have ended and idle keys have gone, any partition on its way can be
// proved: witnesses made ahead never block the device that they wait for.
func (c *Core) leavesRoom(p *part) bool {
	sum, most := p.job.spec.Work.Witness, c.leastProve(p)
	for _, w := range c.witnesses {
		sum += w.lease.Need().Host
	}
	for _, q := range c.held {
		most = max(most, c.leastProve(q))
	}
	return sum+most <= c.mem.Host().Limit-c.cfg.Reserve
}

// leastProve is the host memory for key and proof on the device that takes
// least of it.
func (c *Core) leastProve(p *part) budget.Bytes {
	least := budget.Bytes(-1)
	for _, d := range c.devices {
		if c.suits(p, d) {
			w := on(&p.job.spec.Work, d)
			n := w.Key.Plus(w.Prove)
			if h := n.Host + n.Pinned; least < 0 || h < least {
				least = h
			}
		}
	}
	return max(least, 0)
}

func (c *Core) startWitness(p *part) {
	j := p.job
	w := &j.spec.Work
	if j.decoded == nil {
		j.decoded, _ = c.mem.Reserve(budget.Need{Host: w.Decoded}) // all three fit: asked just before
		c.decoded = append(c.decoded, j)
	}
	extra, _ := c.mem.Reserve(budget.Need{Host: w.Synth})
	own, _ := c.mem.Reserve(budget.Need{Host: w.Witness})
	a := c.start(&attempt{part: p, stage: stageSynthesise, lease: extra}, w.Usual.Synthesise)
	p.state = making
	p.witness = &witness{id: a.id, job: j.spec.ID, lease: own}
	c.witnesses[a.id] = p.witness
	j.making++
	c.hold(p)
	c.emit(Synthesise{Attempt: a.id, Job: j.spec.ID, Partition: p.index})
}

// forget lets go of decoded requests that no witness is being made from.
func (c *Core) forget() {
	c.decoded = slices.DeleteFunc(c.decoded, func(j *jobState) bool {
		if j.making > 0 {
			return false
		}
		j.decoded.Release()
		j.decoded = nil
		c.emit(Forget{Job: j.spec.ID})
		return true
	})
}
