package sched

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"cuzk/budget"
	"cuzk/job"
)

// model is an engine that answers commands in any order and checks that each of
// them is allowed.
type model struct {
	t    *rapid.T
	core *Core
	now  Time

	open    map[int]Command      // attempts that wait for an answer
	made    map[int]bool         // witnesses in memory
	freeing []int                // witnesses that were dropped
	keys    map[[2]string]string // key and device: loading, loaded, dropping
	devices map[string]Device
	out     map[string]bool // devices out of service
	jobs    map[string]Job
	good    map[string]map[int]bool // partitions with a good check
	joins   []string
	ended   map[string]job.State
	busy    map[string]int // proofs on a device
	opening []string       // devices that are opened anew
	tape    []string       // what happened
}

func newModel(t *rapid.T) *model {
	m := &model{t: t, open: map[int]Command{}, made: map[int]bool{}, keys: map[[2]string]string{}, devices: map[string]Device{},
		out: map[string]bool{}, jobs: map[string]Job{}, good: map[string]map[int]bool{}, ended: map[string]job.State{}, busy: map[string]int{}}
	cfg := Config{
		Making: rapid.IntRange(1, 3).Draw(t, "making"), Ahead: rapid.IntRange(0, 4).Draw(t, "ahead"),
		Reserve: budget.Bytes(rapid.SampledFrom([]int{0, 5}).Draw(t, "reserve")), AgeStep: time.Minute,
		CPU:         rapid.SampledFrom([]CPUPolicy{CPUNever, CPUFallback, CPUAlways}).Draw(t, "cpu"),
		MaxAttempts: 4, HangFactor: 10, StopLimit: Time(rapid.SampledFrom([]int{0, 2}).Draw(t, "stop")) * time.Second, KeyIdle: Time(rapid.SampledFrom([]int{0, 30}).Draw(t, "idle")) * time.Second,
		KeyHold: Time(rapid.SampledFrom([]int{0, 20}).Draw(t, "hold")) * time.Second,
	}
	m.core = New(cfg, budget.New(100, 60))
	m.device(Device{ID: "cpu", Class: CPU})
	for i := range rapid.IntRange(0, 3).Draw(t, "gpus") {
		m.device(Device{ID: fmt.Sprintf("gpu%d", i), Class: GPU, Slots: rapid.IntRange(1, 2).Draw(t, "slots"),
			Memory: budget.Bytes(rapid.SampledFrom([]int{100, 100, 65}).Draw(t, "memory"))})
	}
	return m
}

func (m *model) device(d Device) {
	m.devices[d.ID] = d
	m.step(AddDevice{d})
}

func (m *model) step(ev Event) {
	cmds := m.core.Step(m.now, ev)
	m.tape = append(m.tape, fmt.Sprintf("%v %T%v", m.now, ev, ev))
	for _, c := range cmds {
		m.tape = append(m.tape, fmt.Sprintf("  %T%+v", c, c))
	}
	for _, c := range cmds {
		m.obey(c)
	}
	for _, p := range []budget.Pool{m.core.mem.Host(), m.core.mem.Pinned()} {
		if p.Used < 0 || p.Used > p.Limit {
			m.t.Fatalf("pool out of bounds: %+v", p)
		}
	}
	for _, id := range m.core.mem.Devices() {
		if p := m.core.mem.Device(id); p.Used < 0 || p.Used > p.Limit {
			m.t.Fatalf("device pool out of bounds: %+v", p)
		}
	}
	if m.core.strays != 0 {
		m.t.Fatalf("core did not know the answer %#v", ev)
	}
}

func (m *model) obey(c Command) {
	switch c := c.(type) {
	case Synthesise:
		m.live(c.Job)
		m.open[c.Attempt] = c
	case Prove:
		m.live(c.Job)
		if !m.made[c.Witness] || m.keys[[2]string{c.Key, c.Device}] != "loaded" || m.out[c.Device] {
			m.t.Fatalf("%#v without witness, key or device: %v", c, m.keys)
		}
		if m.busy[c.Device]++; m.busy[c.Device] > max(1, m.devices[c.Device].Slots) {
			m.t.Fatalf("%#v: device has no free slot", c)
		}
		m.open[c.Attempt] = c
		m.atOnce(c)
	case Check:
		m.live(c.Job)
		m.open[c.Attempt] = c
	case Stop:
		if m.open[c.Attempt] == nil {
			m.t.Fatalf("stop of %d, which does not run", c.Attempt)
		}
	default:
		m.obeyResource(c)
	}
}

// atOnce: no copy of a key is used for more partitions than it can serve.
func (m *model) atOnce(c Prove) {
	n := 0
	for _, o := range m.open {
		if p, ok := o.(Prove); ok && p.Key == c.Key && p.Device == c.Device {
			n++
		}
	}
	w := kindWork(c.Key)
	if most := on(&w, &device{Device: m.devices[c.Device]}).AtOnce; most > 0 && n > most {
		m.t.Fatalf("%#v: the key serves %d at a time, %d run", c, most, n)
	}
}

func (m *model) obeyResource(c Command) {
	switch c := c.(type) {
	case DropWitness:
		m.dropWitness(c)
	case LoadKey:
		m.key(c.Key, c.Device, "", "loading")
	case DropKey:
		m.key(c.Key, c.Device, "loaded", "dropping")
	case Join:
		m.live(c.Job)
		m.joins = append(m.joins, c.Job)
	case Reopen:
		m.reopen(c.Device)
	case Abandon:
		if m.busy[c.Device] == 0 {
			m.t.Fatalf("%#v: nothing runs there", c)
		}
	case DeviceChanged:
		m.out[c.Device] = c.State != InService
	case Finish:
		m.live(c.Job)
		m.ended[c.Job] = c.State
		if n := len(m.good[c.Job]); c.State == job.Completed && n != m.jobs[c.Job].Partitions {
			m.t.Fatalf("job %s completed with %d good proofs", c.Job, n)
		}
	}
}

func (m *model) reopen(id string) {
	if m.busy[id] > 0 || slices.Contains(m.opening, id) {
		m.t.Fatalf("%s is opened anew with %d proofs on it, opening %v", id, m.busy[id], m.opening)
	}
	for k := range m.keys {
		if k[1] == id && m.keys[k] != "" {
			m.t.Fatalf("%s is opened anew with key %s on it", id, k[0])
		}
	}
	m.opening = append(m.opening, id)
}

func (m *model) live(id string) {
	if _, known := m.jobs[id]; !known || m.ended[id] != "" {
		m.t.Fatalf("command for job %s, known %v, ended %q", id, known, m.ended[id])
	}
}

func (m *model) dropWitness(c DropWitness) {
	if !m.made[c.Witness] {
		m.t.Fatalf("witness %d dropped, not in memory", c.Witness)
	}
	for _, o := range m.open {
		if p, ok := o.(Prove); ok && p.Witness == c.Witness {
			m.t.Fatalf("witness %d dropped while it is proved", c.Witness)
		}
	}
	delete(m.made, c.Witness)
	m.freeing = append(m.freeing, c.Witness)
}

func (m *model) key(key, dev, from, to string) {
	k := [2]string{key, dev}
	if m.keys[k] != from {
		m.t.Fatalf("key %v goes from %q to %q", k, m.keys[k], to)
	}
	for _, o := range m.open {
		if p, ok := o.(Prove); ok && to == "dropping" && p.Key == key && p.Device == dev {
			m.t.Fatalf("key %v dropped while in use", k)
		}
	}
	m.keys[k] = to
}

// outstanding lists what waits for an answer, in a fixed order.
func (m *model) outstanding() []any {
	var out []any
	for id := range m.open {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b any) int { return a.(int) - b.(int) })
	var ks [][2]string
	for k, s := range m.keys {
		if s == "loading" || s == "dropping" {
			ks = append(ks, k)
		}
	}
	slices.SortFunc(ks, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	for _, k := range ks {
		out = append(out, k)
	}
	for _, w := range m.freeing {
		out = append(out, DropWitness{Witness: w})
	}
	for _, j := range m.joins {
		out = append(out, Join{j})
	}
	for _, d := range m.opening {
		out = append(out, Reopen{d})
	}
	return out
}

// answer answers one outstanding thing; how 0 means well.
func (m *model) answer(what any, how int) {
	switch x := what.(type) {
	case int:
		m.answerAttempt(x, how)
	case [2]string:
		m.answerKey(x, how)
	case DropWitness:
		m.freeing = slices.DeleteFunc(m.freeing, func(w int) bool { return w == x.Witness })
		m.step(WitnessFreed{x.Witness})
	case Join:
		m.joins = slices.DeleteFunc(m.joins, func(j string) bool { return j == x.Job })
		m.step(Joined{Job: x.Job})
	case Reopen:
		m.opening = slices.DeleteFunc(m.opening, func(d string) bool { return d == x.Device })
		m.step(Reopened{x.Device, []string{"", "self-test failed"}[min(how, 1)]})
	}
}

func (m *model) answerKey(k [2]string, how int) {
	switch {
	case m.keys[k] == "dropping":
		delete(m.keys, k)
		m.step(KeyDropped{k[0], k[1]})
	case how == 0:
		m.keys[k] = "loaded"
		m.step(KeyLoaded{k[0], k[1]})
	default:
		delete(m.keys, k)
		m.step(KeyFailed{Key: k[0], Device: k[1], Everywhere: how == 3, Failure: job.NoMemory, Text: "no"})
	}
}

var failures = []job.Failure{"", job.DeviceFault, job.NoMemory, job.BadInput}

func (m *model) answerAttempt(id, how int) {
	c := m.open[id]
	delete(m.open, id)
	if p, ok := c.(Prove); ok {
		m.busy[p.Device]--
	}
	if how > 0 {
		if _, ok := c.(Check); ok && how < 3 {
			m.step(Checked{Attempt: id, Text: "bad"})
			return
		}
		m.step(AttemptFailed{Attempt: id, Failure: failures[how], Text: "no"})
		return
	}
	switch c := c.(type) {
	case Synthesise:
		m.made[id] = true
		m.step(Synthesised{Attempt: id})
	case Prove:
		m.step(Proved{id})
	case Check:
		if m.good[c.Job] == nil {
			m.good[c.Job] = map[int]bool{}
		}
		if m.ended[c.Job] == "" { // a late answer changes nothing
			m.good[c.Job][c.Partition] = true
		}
		m.step(Checked{Attempt: id, Good: true})
	}
}

func (m *model) submit() {
	t := m.t
	j := Job{ID: fmt.Sprintf("j%d", len(m.jobs)), Class: job.Class(rapid.IntRange(1, 4).Draw(t, "class")),
		Partitions: rapid.IntRange(1, 4).Draw(t, "parts"), Key: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")}
	j.Work = kindWork(j.Key)
	if rapid.IntRange(0, 9).Draw(t, "hurry") == 0 {
		j.Deadline = m.now + time.Minute
	}
	if m.core.Admit(j) != nil {
		return
	}
	m.jobs[j.ID] = j
	m.step(Submit{j})
}

// kindWork are three kinds on a machine of 100 host and 100 device bytes: two
// whose keys do not fit together, and a small one that is pinned.
func kindWork(key string) Work {
	u := Usual{Synthesise: time.Second, ProveCPU: time.Second, ProveGPU: time.Second, Check: time.Second, LoadKey: time.Second}
	switch key {
	case "a":
		return Work{Decoded: 5, Synth: 10, Witness: 15, Usual: u,
			CPU: Placement{Able: true, Key: budget.Need{Host: 40}, Prove: budget.Need{Host: 20}},
			GPU: Placement{Able: true, Key: budget.Need{Device: 60}, Prove: budget.Need{Device: 40, Host: 5}}}
	case "b":
		return Work{Witness: 30, Usual: u,
			CPU: Placement{Able: true, Key: budget.Need{Host: 30}, Prove: budget.Need{Host: 30}},
			GPU: Placement{Able: true, Key: budget.Need{Device: 50, Pinned: 20}, Prove: budget.Need{Device: 20, Pinned: 10}}}
	}
	return Work{Synth: 1, Witness: 1, Usual: u,
		CPU: Placement{Able: true, Key: budget.Need{Host: 2}, Prove: budget.Need{Host: 2}},
		GPU: Placement{Able: true, Key: budget.Need{Device: 10}, Prove: budget.Need{Device: 10}, AtOnce: 1},
		Own: map[string]Placement{"gpu2": {Able: true, Key: budget.Need{Device: 40}, AtOnce: 2}}}
}

func (m *model) act() {
	t := m.t
	m.now += Time(rapid.IntRange(0, 3000).Draw(t, "ms")) * time.Millisecond
	switch rapid.IntRange(0, 19).Draw(t, "act") {
	case 0, 1, 2:
		m.submit()
	case 3:
		if len(m.jobs) > 0 {
			m.step(Cancel{Job: fmt.Sprintf("j%d", rapid.IntRange(0, len(m.jobs)-1).Draw(t, "job")), Why: "test"})
		}
	case 4:
		m.step(Tick{})
	case 5:
		if rapid.Bool().Draw(t, "break") {
			m.step(BreakDevice{m.pick(), "illegal address"})
			return
		}
		m.step(LoseDevice{m.pick(), "gone"})
	case 6:
		m.step(ReturnDevice{m.pick()})
	case 7:
		k := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
		m.step(Preload{k, kindWork(k)})
	case 8:
		m.step(Evict{rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")})
	case 9:
		if len(m.jobs) > 0 {
			m.step(Raise{fmt.Sprintf("j%d", rapid.IntRange(0, len(m.jobs)-1).Draw(t, "job")), job.Class(rapid.IntRange(1, 4).Draw(t, "class"))})
		}
	default:
		if open := m.outstanding(); len(open) > 0 {
			how := max(0, rapid.IntRange(-12, 3).Draw(t, "how"))
			m.answer(open[rapid.IntRange(0, len(open)-1).Draw(t, "which")], how)
		}
	}
}

func (m *model) pick() string {
	var ids []string
	for id := range m.devices {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return rapid.SampledFrom(ids).Draw(m.t, "device")
}

// returnAll puts all devices back that are out, and tells whether any was.
func (m *model) returnAll() (any bool) {
	for id := range m.devices {
		if m.out[id] {
			m.step(ReturnDevice{id})
			any = true
		}
	}
	return any
}

// settle answers everything well until nothing is left to do.
func (m *model) settle() {
	m.returnAll()
	for i := range 10000 {
		open := m.outstanding()
		if len(open) == 0 && len(m.ended) == len(m.jobs) {
			return
		}
		if len(open) == 0 {
			at, ok := m.core.Next()
			if !ok && m.returnAll() { // one was lost since
				continue
			}
			if !ok {
				break
			}
			m.now = at
			m.step(Tick{})
			continue
		}
		m.answer(open[i%len(open)], 0)
	}
	m.t.Fatalf("%d of %d jobs ended, nothing happens any more: %+v\n%s", len(m.ended), len(m.jobs), m.core.View(),
		strings.Join(m.tape[len(m.tape)-min(40, len(m.tape)):], "\n"))
}

func (m *model) checkEmpty() {
	var host budget.Bytes
	for _, k := range m.core.View().Keys {
		host += k.Need.Host + k.Need.Pinned
	}
	if !m.core.Quiet() || m.core.mem.Host().Used != host || len(m.made) != 0 {
		m.t.Fatalf("not empty at the end: host %v, keys %v, witnesses %v", m.core.mem.Host().Used, host, m.made)
	}
}

func TestAnyHistoryEndsEveryJobOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			m.act()
		}
		m.settle()
		m.checkEmpty()
	})
}

func TestHaltLeavesNothingBehind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.act()
		}
		ended := len(m.ended)
		m.step(Halt{})
		for open := m.outstanding(); len(open) > 0; open = m.outstanding() {
			m.joins = nil // a halted engine joins no more
			if len(m.outstanding()) > 0 {
				m.answer(m.outstanding()[0], 0)
			}
		}
		if len(m.ended) != ended {
			t.Fatalf("a halt ended jobs\n%s", strings.Join(m.tape[max(0, len(m.tape)-25):], "\n"))
		}
		m.checkEmpty()
	})
}
