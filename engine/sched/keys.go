package sched

import (
	"slices"
	"sort"

	"cuzk/budget"
	"cuzk/job"
)

type keyState int

const (
	keyLoading keyState = iota
	keyLoaded
	keyDropping
)

// residency is one key on one device.
type residency struct {
	key     string
	dev     *device
	state   keyState
	refs    int // proofs that use it
	lease   *budget.Lease
	prove   budget.Need // of one partition with it
	used    Time        // when the last use ended
	since   Time        // when it was loaded, or began to be
	took    Time        // to load it
	class   job.Class   // of the last partition that used it
	limit   Time        // loading has hung from then on
	evict   bool        // drop when idle
	preload bool
	wanted  *rank // the best partition that it serves, found anew at each step
}

// bar keeps a key off a device for a while after it could not be loaded there:
// somebody else may hold the device's memory.
type bar struct {
	key   string
	dev   *device
	until Time
}

const barTime = 60e9 // a minute

func (c *Core) barred(key string, d *device) bool {
	return slices.ContainsFunc(c.bars, func(b bar) bool { return b.key == key && b.dev == d && c.now < b.until })
}

// preload is a key that an operator wants resident.
type preload struct {
	key  string
	work Work
	away []*device // where it made room for work; it comes back when no job is left
}

func (c *Core) residency(key string, d *device) *residency {
	for _, r := range c.keys {
		if r.dev == d && r.key == key {
			return r
		}
	}
	return nil
}

// resident is the usable copy of a key on a device, nil if there is none.
func (c *Core) resident(key string, d *device) *residency {
	if r := c.residency(key, d); r != nil && r.state == keyLoaded {
		return r
	}
	return nil
}

func (c *Core) release(r *residency) {
	r.refs--
	r.used = c.now
	if r.refs == 0 && r.evict {
		c.dropKey(r)
	}
}

// loadKey takes the memory of a key on a device and has it loaded, if that is
// free.
func (c *Core) loadKey(key string, d *device, w *Work, forPreload bool) bool {
	lease, err := c.mem.Reserve(d.on(on(w, d).Key))
	if err != nil {
		return false
	}
	r := &residency{key: key, dev: d, state: keyLoading, lease: lease, prove: d.on(on(w, d).Prove), used: c.now, since: c.now,
		limit: c.hangLimit(w.Usual.LoadKey), preload: forPreload}
	c.keys = append(c.keys, r)
	sort.Slice(c.keys, func(i, k int) bool {
		a, b := c.keys[i], c.keys[k]
		return a.key < b.key || a.key == b.key && a.dev.ID < b.dev.ID
	})
	d.loading++
	c.emit(LoadKey{Key: key, Device: d.ID})
	return true
}

func (c *Core) dropKey(r *residency) {
	r.state = keyDropping
	c.emit(DropKey{Key: r.key, Device: r.dev.ID})
}

func (c *Core) forgetKey(r *residency) {
	r.lease.Release()
	c.keys = slices.DeleteFunc(c.keys, func(q *residency) bool { return q == r })
}

func (c *Core) answered(key, dev string, s keyState) *residency {
	d := c.device(dev)
	if d == nil {
		c.strays++
		return nil
	}
	r := c.residency(key, d)
	if r == nil || r.state != s {
		c.strays++
		return nil
	}
	return r
}

func (c *Core) keyLoaded(e KeyLoaded) {
	if r := c.answered(e.Key, e.Device, keyLoading); r != nil {
		r.took = c.now - r.since
		r.state, r.used, r.since, r.limit = keyLoaded, c.now, c.now, 0
		r.dev.loading--
		c.unstick(r.dev)
	}
}

// keyFailed bars the key from the device for a while. If it can be had nowhere, the jobs
// that need it fail: waiting would not bring it. Otherwise it counts as a failed
// try of the partitions that have no other device.
func (c *Core) keyFailed(e KeyFailed) {
	r := c.answered(e.Key, e.Device, keyLoading)
	if r == nil {
		return
	}
	r.dev.loading--
	c.unstick(r.dev)
	c.forgetKey(r)
	if e.Everywhere {
		c.preloads = slices.DeleteFunc(c.preloads, func(p preload) bool { return p.key == e.Key })
		c.failJobsOf(e.Key, e.Text)
		return
	}
	c.bars = slices.DeleteFunc(c.bars, func(b bar) bool { return c.now >= b.until })
	if r.dev.state != Reopening { // there it was the device, not the key
		c.bars = append(c.bars, bar{key: e.Key, dev: r.dev, until: c.now + barTime})
	}
	for _, p := range c.onTheirWay() {
		if p.job.spec.Key == e.Key && c.jobs[p.job.spec.ID] == p.job && !c.hasPlace(p) {
			c.placeless(p, e)
		}
	}
}

// placeless counts a try of a partition whose key could not be loaded.
func (c *Core) placeless(p *part, e KeyFailed) {
	if p.state == ready {
		c.failed(p, e.Failure, e.Text)
		return
	}
	if p.tries++; p.tries >= c.cfg.MaxAttempts {
		c.giveUp(p, e.Failure, e.Text)
	}
}

func (c *Core) failJobsOf(key, text string) {
	var hit []*jobState
	c.order.each(c.now, func(j *jobState) bool {
		if j.spec.Key == key && slices.ContainsFunc(j.parts, func(p *part) bool { return p.state < proving }) {
			hit = append(hit, j)
		}
		return true
	})
	for _, j := range hit {
		c.finish(j, job.Failed, job.NoKey, text)
	}
}

func (c *Core) keyDropped(e KeyDropped) {
	if r := c.answered(e.Key, e.Device, keyDropping); r != nil {
		c.forgetKey(r)
	}
}

func (c *Core) preload(e Preload) {
	c.preloads = slices.DeleteFunc(c.preloads, func(p preload) bool { return p.key == e.Key })
	c.preloads = append(c.preloads, preload{key: e.Key, work: e.Work})
	for _, r := range c.keys {
		if r.key == e.Key {
			r.preload, r.evict = true, false
		}
	}
	// A preload is an operator's word that the key is there now.
	c.bars = slices.DeleteFunc(c.bars, func(b bar) bool { return b.key == e.Key })
}

func (c *Core) evict(key string) {
	c.preloads = slices.DeleteFunc(c.preloads, func(p preload) bool { return p.key == key })
	for _, r := range c.keys {
		if r.key != key {
			continue
		}
		r.preload, r.evict = false, true
		if r.state == keyLoaded && r.refs == 0 {
			c.dropKey(r)
		}
	}
}

func (c *Core) idleDue(r *residency) bool {
	return c.cfg.KeyIdle > 0 && r.state == keyLoaded && r.refs == 0 && !r.preload && r.wanted == nil
}

// dropIdle drops keys that nobody has used for a while, and those on devices
// that are gone or to be opened anew.
func (c *Core) dropIdle() {
	for _, r := range c.keys {
		idle := r.state == keyLoaded && r.refs == 0
		if idle && (r.evict || r.dev.state == Lost || r.dev.state == Reopening) || c.idleDue(r) && c.now >= r.used+c.cfg.KeyIdle {
			c.dropKey(r)
		}
	}
}

// serveDevices goes through the partitions on their way, best first: each gets a
// device if it is ready and one can take it; if its key is nowhere, that is
// loaded. What a better one waits for is out of reach for the worse.
func (c *Core) serveDevices() {
	c.noteWanted()
	c.planDevices()
	type served struct {
		key      string
		critical bool
	}
	covered, full := map[string]bool{}, map[served]bool{}
	for _, p := range c.onTheirWay() {
		if p.state == queued {
			continue // has just lost its witness to a better one
		}
		if len(p.tried) > 0 { // it may need another device than the others
			c.cover(p)
		} else if !covered[p.job.spec.Key] {
			covered[p.job.spec.Key] = c.cover(p)
		}
		of := served{p.job.spec.Key, p.job.spec.Class == job.Critical}
		if p.state == ready && (len(p.tried) > 0 || !full[of]) {
			full[of] = !c.place(p) && len(p.tried) == 0
		}
	}
}

// noteWanted notes for each key on a device the best partition that it serves.
func (c *Core) noteWanted() {
	for _, r := range c.keys {
		r.wanted = nil
		for _, p := range c.onTheirWay() {
			if p.job.spec.Key == r.key && c.suits(p, r.dev) {
				k := c.rank(p)
				r.wanted = &k
				break
			}
		}
	}
}

// extraKeys uses what the partitions on their way leave: first further copies of
// keys for devices that would be idle, then what operators asked for.
func (c *Core) extraKeys() {
	for _, d := range c.devices {
		c.spread(d)
	}
	for i := range c.preloads {
		c.loadPreload(&c.preloads[i])
	}
}

// onTheirWay lists the partitions with a witness that need a device now.
func (c *Core) onTheirWay() []*part {
	var out []*part
	for _, p := range c.held {
		if (p.state == making || p.state == ready) && !c.waitsForRestart(p.job) {
			out = append(out, p)
		}
	}
	return out
}

// cover sees to it that some device that suits the partition has its key or
// will have it, and tells whether that is so.
func (c *Core) cover(p *part) bool {
	key := p.job.spec.Key
	var best *device
	for _, d := range c.devices {
		if !c.suits(p, d) || d.state != InService {
			continue
		}
		if r := c.residency(key, d); r != nil {
			if r.state == keyLoading || r.state == keyLoaded && !r.evict {
				return true
			}
			continue // being dropped: free again soon
		}
		if best == nil || c.better(d, best, p) {
			best = d
		}
	}
	return best != nil && c.fetch(p, best)
}

// better prefers a device where the key fits at once, then one that is not
// loading another key, then the emptier one, then the faster one, then the one that
// holds more of the key.
func (c *Core) better(a, b *device, p *part) bool {
	need := func(d *device) budget.Need { return d.on(on(&p.job.spec.Work, d).Key) }
	if x, y := c.fits(c.rank(p), need(a)), c.fits(c.rank(p), need(b)); x != y {
		return x
	}
	if a.loading != b.loading {
		return a.loading < b.loading
	}
	if a.running != b.running {
		return a.running < b.running
	}
	if x, y := c.time(p, a), c.time(p, b); x != y && x > 0 && y > 0 {
		return x < y
	}
	return need(a).Device > need(b).Device
}

// fetch loads a partition's key on a device, or makes room for it.
func (c *Core) fetch(p *part, d *device) bool {
	need := d.on(on(&p.job.spec.Work, d).Key)
	if d.loading > 0 && p.job.spec.Class < job.Critical {
		return false
	}
	if c.behind(p, d) {
		return false
	}
	if c.fits(c.rank(p), need) {
		return c.loadKey(p.job.spec.Key, d, &p.job.spec.Work, c.preloaded(p.job.spec.Key))
	}
	c.makeRoom(p, d, need)
	return false
}

func (c *Core) preloaded(key string) bool {
	return slices.ContainsFunc(c.preloads, func(p preload) bool { return p.key == key })
}

// spread gives an idle device a copy of a key for which more partitions wait
// than the devices that have it can take. Only keys that nobody wants make room.
func (c *Core) spread(d *device) {
	if d.state != InService || d.running > 0 || d.loading > 0 || d.claim != nil {
		return
	}
	for _, p := range c.onTheirWay() {
		if !c.suits(p, d) {
			continue
		}
		if r := c.residency(p.job.spec.Key, d); r != nil {
			return // it has work, or is about to
		}
		if c.demand(p) > c.supply(p) && c.useful(p, d) {
			need := d.on(on(&p.job.spec.Work, d).Key)
			if !c.fits(lastRank, need) {
				c.dropUnwanted(d, need)
				return
			}
			c.loadKey(p.job.spec.Key, d, &p.job.spec.Work, c.preloaded(p.job.spec.Key))
			return
		}
	}
}

// demand counts the partitions on their way that want the same key as p.
func (c *Core) demand(p *part) int {
	n := 0
	for _, q := range c.onTheirWay() {
		if q.job.spec.Key == p.job.spec.Key {
			n++
		}
	}
	return n
}

// supply counts the free slots of devices that have p's key or are loading it.
func (c *Core) supply(p *part) int {
	n := 0
	for _, r := range c.keys {
		if r.key == p.job.spec.Key && r.state != keyDropping && r.dev.state == InService && c.suits(p, r.dev) {
			n += min(r.dev.Slots-r.dev.running, c.unused(p, r))
		}
	}
	return n
}

// unused is how many more partitions a copy of p's key can serve, as far as the
// key is concerned.
func (c *Core) unused(p *part, r *residency) int {
	if most := on(&p.job.spec.Work, r.dev).AtOnce; most > 0 {
		return most - r.refs
	}
	return r.dev.Slots
}

func (c *Core) loadPreload(pre *preload) {
	if len(c.jobs) == 0 {
		pre.away = nil
	}
	for _, d := range c.devices {
		if d.state != InService || d.loading > 0 || d.claim != nil ||
			slices.Contains(pre.away, d) || !c.preloadOn(pre.key, &pre.work, d) || c.residency(pre.key, d) != nil {
			continue
		}
		if need := d.on(on(&pre.work, d).Key); c.fits(lastRank, need) {
			c.loadKey(pre.key, d, &pre.work, true)
		}
	}
}

// displace drops a key that is in the way of work.
func (c *Core) displace(r *residency) {
	for i := range c.preloads {
		if c.preloads[i].key == r.key {
			c.preloads[i].away = append(c.preloads[i].away, r.dev)
		}
	}
	c.dropKey(r)
}

// preloadOn tells whether a preloaded key belongs on a device: the GPUs, and
// the CPU where it is asked to prove like a GPU or is all there is.
func (c *Core) preloadOn(key string, w *Work, d *device) bool {
	if !on(w, d).Able || c.barred(key, d) || c.mem.Possible(c.alone(&Job{Work: *w}, d)) != nil {
		return false
	}
	if d.Class == GPU || c.cfg.CPU == CPUAlways {
		return true
	}
	gpu := slices.ContainsFunc(c.devices, func(d *device) bool { return d.Class == GPU && on(w, d).Able })
	return c.cfg.CPU == CPUFallback && !gpu
}
