package sched

import (
	"errors"
	"fmt"
	"slices"

	"cuzk/budget"
	"cuzk/job"
)

// Reasons to refuse a job at once. A need that no waiting can satisfy is an
// error that wraps [*budget.Impossible].
var (
	ErrDraining = errors.New("shutting down, no new jobs")
	ErrQueue    = errors.New("queue is full")
	ErrNoDevice = errors.New("no device can prove this kind")
	// ErrOutOfService: a device could, but must be seen to first.
	ErrOutOfService = errors.New("no device in service can prove this kind")
)

// Core is the state of all that the scheduler knows. Make it with [New]; it has
// one owner.
type Core struct {
	cfg  Config
	now  Time
	mem  *budget.Ledger
	out  []Command
	seq  int // of jobs, and of attempts
	next int

	jobs      map[string]*jobState
	order     order
	deadlines deadlines
	held      []*part     // partitions that are being made, or ready, proving, checking
	decoded   []*jobState // jobs whose decoded request is in memory

	attempts  map[int]*attempt
	running   []*attempt // by number
	witnesses map[int]*witness

	devices  []*device
	keys     []*residency
	bars     []bar
	preloads []preload

	times    map[timeOf]measured
	turns    map[turnOf]int // found in this step
	claims   []claim        // host memory that better partitions wait for
	draining bool
	settling bool
	halted   bool
	strays   int // events that made no sense; 0 in a correct engine
}

// New makes a core that accounts in the ledger, which it owns from now on.
func New(cfg Config, mem *budget.Ledger) *Core {
	c := &Core{cfg: cfg, mem: mem, jobs: map[string]*jobState{}, attempts: map[int]*attempt{}, witnesses: map[int]*witness{},
		turns: map[turnOf]int{}, times: map[timeOf]measured{}}
	c.order = order{step: cfg.AgeStep, turn: c.turn}
	return c
}

type jobState struct {
	spec      Job
	seq       int
	submitted Time
	begun     bool // a partition has been started
	joining   bool
	parts     []*part
	done      int
	making    int // attempts at synthesis that have not answered, strays included
	decoded   *budget.Lease
	fitting   map[*device]bool // see Core.fitting
}

type partState int

const (
	queued partState = iota
	making
	ready
	proving
	checking
	done
)

var partNames = [...]string{"queued", "making", "ready", "proving", "checking", "done"}

func (s partState) String() string { return partNames[s] }

type part struct {
	job     *jobState
	index   int
	state   partState
	witness *witness
	current *attempt // the one whose result counts
	tried   []string // devices that failed this partition
	accused []string // devices whose proof of this partition was bad
	tries   int      // failed attempts
	breaks  int      // devices that broke under it
	failure job.Failure
}

type witness struct {
	id    int
	job   string
	lease *budget.Lease
	users int  // attempts that read it
	made  bool // the engine holds it
	stale bool // no longer wanted
}

// attempt is a command that the engine has not answered yet.
type attempt struct {
	id      int
	part    *part
	stage   stage
	device  *device // proving: where; checking: who made it
	key     *residency
	witness *witness
	lease   *budget.Lease // beyond the witness
	began   Time
	limit   Time // hung from then on, as a stray deaf; 0: never
	stray   bool // its result is not used
}

type stage int

const (
	stageSynthesise stage = iota
	stageProve
	stageCheck
)

// Step takes in one event and returns the commands that follow. now must not be
// before that of the last step; if it is, the last one's counts.
func (c *Core) Step(now Time, ev Event) []Command {
	c.now = max(c.now, now)
	c.out = nil
	clear(c.turns)
	c.take(ev)
	if !c.halted { // jobs that are left go on after the next start
		c.expire()
	}
	c.schedule()
	return c.out
}

func (c *Core) emit(cmd Command) { c.out = append(c.out, cmd) }

func (c *Core) take(ev Event) {
	switch e := ev.(type) {
	case Submit:
		c.submit(e.Job)
	case Cancel:
		c.cancel(e)
	case Raise:
		c.raise(e)
	case Synthesised:
		c.synthesised(e)
	case Proved:
		c.proved(e)
	case Checked:
		c.checked(e)
	case AttemptFailed:
		c.attemptFailed(e)
	case Joined:
		c.joined(e)
	case WitnessFreed:
		c.witnessFreed(e)
	case Drain:
		c.draining = true
	case Settle:
		c.beginToSettle(e)
	case Halt:
		c.halt()
	default:
		c.takeResource(ev)
	}
}

func (c *Core) takeResource(ev Event) {
	switch e := ev.(type) {
	case AddDevice:
		c.addDevice(e.Device)
	case LoseDevice:
		c.loseDevice(e)
	case BreakDevice:
		c.breakDevice(e)
	case ReturnDevice:
		c.returnDevice(e.Device)
	case Reopened:
		c.reopened(e)
	case KeyLoaded:
		c.keyLoaded(e)
	case KeyFailed:
		c.keyFailed(e)
	case KeyDropped:
		c.keyDropped(e)
	case Preload:
		c.preload(e)
	case Evict:
		c.evict(e.Key)
	}
}

// Admit tells whether a job may be submitted, without taking it.
func (c *Core) Admit(j Job) error {
	switch {
	case c.draining || c.halted:
		return ErrDraining
	case j.Class < job.Critical && c.cfg.MaxJobs > 0 && len(c.jobs) >= c.cfg.MaxJobs:
		return fmt.Errorf("%w: %d jobs wait or run, the limit is %d", ErrQueue, len(c.jobs), c.cfg.MaxJobs)
	case j.Partitions < 1:
		return fmt.Errorf("job has %d partitions", j.Partitions)
	}
	if err := c.Possible(&j); err != nil {
		return err
	}
	return c.inService(&j)
}

// inService tells whether a device that could prove the job is at work, or out
// only for a while: what an operator must see to is said at once.
func (c *Core) inService(j *Job) error {
	var why refusals
	for _, d := range c.devices {
		err := c.mem.Possible(c.alone(j, d))
		switch {
		case c.cfg.CPU == CPUNever && d.Class == CPU || !on(&j.Work, d).Able:
		case err != nil:
			why.add(fmt.Errorf("prove one partition on %s: %w", d.ID, err), err)
		case d.state == Quarantined || d.state == Lost:
			why.add(fmt.Errorf("device %s, which could prove it, is %s: %s", d.ID, d.state, d.reason), nil)
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %w", ErrOutOfService, why.or(ErrNoDevice))
}

// refusals are what speaks against each device, the same numbers once.
type refusals struct {
	all  []error
	seen []budget.Impossible
}

// add notes a reason; of those with numbers, only the first with the same.
func (r *refusals) add(err, numbers error) {
	var imp *budget.Impossible
	if errors.As(numbers, &imp) {
		key := budget.Impossible{Need: imp.Need, Limit: imp.Limit}
		if slices.Contains(r.seen, key) {
			return
		}
		r.seen = append(r.seen, key)
	}
	r.all = append(r.all, err)
}

// or is one error of all reasons; none if there are none.
func (r *refusals) or(none error) error {
	if len(r.all) == 0 {
		return none
	}
	err := r.all[0]
	for _, next := range r.all[1:] {
		err = fmt.Errorf("%w; %w", err, next)
	}
	return err
}

// Possible finds a device, in service or not, on which an otherwise empty
// machine could prove the job.
func (c *Core) Possible(j *Job) error {
	limit := c.mem.Host().Limit
	if j.Class < job.Critical {
		limit -= c.cfg.Reserve
	}
	if need := j.Work.Decoded + j.Work.Synth + j.Work.Witness; need > limit {
		return fmt.Errorf("make one witness: %w", &budget.Impossible{Pool: "host memory", Need: need, Limit: limit})
	}
	var why refusals
	for _, d := range c.devices {
		if c.cfg.CPU == CPUNever && d.Class == CPU || !on(&j.Work, d).Able {
			continue
		}
		err := c.mem.Possible(c.alone(j, d))
		if err == nil {
			return nil
		}
		why.add(fmt.Errorf("prove one partition on %s: %w", d.ID, err), err)
	}
	return why.or(ErrNoDevice)
}

// alone is what a partition, its key and its proving take together on a device,
// with the reserve that it must leave alone.
func (c *Core) alone(j *Job, d *device) budget.Need {
	p := on(&j.Work, d)
	n := d.on(p.Key.Plus(p.Prove)).Plus(budget.Need{Host: j.Work.Witness})
	if j.Class < job.Critical {
		n.Host += c.cfg.Reserve
	}
	return n
}

func (c *Core) submit(spec Job) {
	if c.jobs[spec.ID] != nil || c.halted {
		c.strays++
		return
	}
	c.seq++
	j := &jobState{spec: spec, seq: c.seq, submitted: c.now, parts: make([]*part, spec.Partitions)}
	for i := range j.parts {
		j.parts[i] = &part{job: j, index: i}
	}
	for _, i := range spec.Done {
		if i >= 0 && i < len(j.parts) && j.parts[i].state != done {
			j.parts[i].state = done
			j.done++
		}
	}
	c.jobs[spec.ID] = j
	c.order.add(j)
	c.deadlines.add(spec.ID, spec.Deadline)
	c.joinIfDone(j)
}

func (c *Core) cancel(e Cancel) {
	if j := c.jobs[e.Job]; j != nil {
		c.finish(j, job.Cancelled, job.Stopped, e.Why)
	}
}

func (c *Core) raise(e Raise) {
	j := c.jobs[e.Job]
	if j == nil || !e.Class.Valid() || e.Class <= j.spec.Class {
		return
	}
	c.order.remove(j)
	j.spec.Class, j.fitting = e.Class, nil // critical work may use more memory
	c.order.add(j)
}

func (c *Core) joinIfDone(j *jobState) {
	if j.done == len(j.parts) && !j.joining {
		j.joining = true
		c.emit(Join{Job: j.spec.ID})
	}
}

func (c *Core) joined(e Joined) {
	j := c.jobs[e.Job]
	switch {
	case j == nil: // ended meanwhile
	case e.Failure == "":
		c.finish(j, job.Completed, "", "")
	default:
		c.finish(j, job.Failed, e.Failure, e.Text)
	}
}

// finish ends a job: what runs for it becomes stray, what waits is given up.
func (c *Core) finish(j *jobState, s job.State, f job.Failure, text string) {
	for _, p := range j.parts {
		if p.current != nil {
			c.stray(p.current)
		}
		if p.witness != nil {
			c.discard(p)
		}
		if p.state != queued && p.state != done {
			c.unhold(p)
		}
	}
	c.order.remove(j)
	delete(c.jobs, j.spec.ID)
	c.emit(Finish{Job: j.spec.ID, State: s, Failure: f, Text: text})
}

// stray makes the result of a running attempt unwanted and asks it to stop.
func (c *Core) stray(a *attempt) {
	if a.part.current == a {
		a.part.current = nil
	}
	if !a.stray {
		a.stray, a.limit = true, c.stopLimit(a)
		c.emit(Stop{Attempt: a.id})
	}
}

func (c *Core) halt() {
	c.halted = true
	for _, a := range c.running {
		if !a.stray {
			a.stray, a.limit = true, 0
			c.emit(Stop{Attempt: a.id})
		}
	}
	for _, p := range c.held {
		c.discard(p)
	}
}
