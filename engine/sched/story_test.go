package sched

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"cuzk/budget"
	"cuzk/job"
)

// TestStories plays the scripts of testdata/stories. A script is a story: each line of
// input is one event; the output repeats those that lead to commands, with the
// commands under them.
//
//	config host=64GiB making=2 cpu=fallback     a new core
//	kind porep parts=10 witness=1GiB ...        what jobs of a kind take
//	own porep gpu1 gpu-key=10GiB                what they take on one card
//	device gpu0 memory=80GiB                    AddDevice
//	submit j1 porep class=high                  Submit
//	made|proved|good|bad|fail j1/0              answers to make, prove, check
//	joined j1, freed j1/0, loaded K gpu0, dropped K gpu0, unloadable K gpu0
//	lose|break|return gpu0, reopened gpu0 [why not]
//	wait 5s                                     Tick, later
//	view, next                                  shows the state
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		s := &story{t: t, kinds: map[string]Job{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "play" {
				d.Fatalf(t, "unknown directive %s, want play", d.Cmd)
			}
			var out strings.Builder
			for _, line := range strings.Split(d.Input, "\n") {
				if got := s.line(line); len(got) > 0 {
					fmt.Fprintf(&out, "%s\n  %s\n", line, strings.Join(got, "\n  "))
				}
			}
			return out.String()
		})
	})
}

type story struct {
	t     *testing.T
	core  *Core
	now   Time
	kinds map[string]Job
	names map[int]string // attempt to "make j1/0"
	last  map[string]int // "make j1/0" to the latest attempt
}

type words struct {
	t    *testing.T
	pos  []string
	opts map[string]string
}

func (s *story) line(line string) []string {
	w := words{t: s.t, opts: map[string]string{}}
	for _, f := range strings.Fields(line) {
		if k, v, ok := strings.Cut(f, "="); ok {
			w.opts[k] = v
		} else {
			w.pos = append(w.pos, f)
		}
	}
	switch w.pos[0] {
	case "#":
		return nil
	case "config":
		s.config(w)
		return nil
	case "kind":
		s.kinds[w.pos[1]] = w.kind()
		return nil
	case "own":
		s.own(w)
		return nil
	case "wait":
		s.now += w.time(w.pos[1])
		return s.step(Tick{})
	case "view":
		return s.view()
	case "next":
		if at, ok := s.core.Next(); ok {
			return []string{fmt.Sprintf("in %v", at-s.now)}
		}
		return []string{"never"}
	case "admit":
		if err := s.core.Admit(s.job(w)); err != nil {
			return []string{"refused: " + err.Error()}
		}
		return []string{"yes"}
	}
	return s.step(s.event(w))
}

func (s *story) config(w words) {
	cfg := Config{Making: w.int("making", 2), Ahead: w.int("ahead", 0), Reserve: w.bytes("reserve"), MaxJobs: w.int("jobs", 0),
		CPU: CPUPolicy(w.text("cpu", "fallback")), AgeStep: w.dur("age"), MaxAttempts: w.int("tries", 4),
		HangFactor: w.int("hang", 0), HangFloor: w.dur("floor"), HangUnknown: w.dur("unknown"), StopLimit: w.dur("stop"), KeyIdle: w.dur("idle"), KeyHold: w.dur("hold")}
	s.core = New(cfg, budget.New(w.bytes("host"), w.bytes("pinned")))
	s.names, s.last, s.now = map[int]string{}, map[string]int{}, 0
}

// own sets what a kind takes on one card.
func (s *story) own(w words) {
	j := s.kinds[w.pos[1]]
	j.Work.Own = maps.Clone(j.Work.Own)
	if j.Work.Own == nil {
		j.Work.Own = map[string]Placement{}
	}
	j.Work.Own[w.pos[2]] = Placement{Able: w.text("able", "yes") == "yes", Key: budget.Need{Device: w.bytes("gpu-key"), Pinned: w.bytes("pinned-key")},
		Prove: budget.Need{Device: w.bytes("gpu-prove")}}
	s.kinds[w.pos[1]] = j
}

func (w words) kind() Job {
	return Job{Key: w.pos[1], Partitions: w.int("parts", 1), Class: job.Normal, Work: Work{
		Decoded: w.bytes("decoded"), Synth: w.bytes("synth"), Witness: w.bytes("witness"),
		CPU: Placement{Able: w.text("cpu", "yes") == "yes", Key: budget.Need{Host: w.bytes("cpu-key")},
			Prove: budget.Need{Host: w.bytes("cpu-prove")}},
		GPU: Placement{Able: w.text("gpu", "yes") == "yes", Key: budget.Need{Device: w.bytes("gpu-key"), Pinned: w.bytes("pinned-key")},
			Prove: budget.Need{Device: w.bytes("gpu-prove"), Host: w.bytes("gpu-host")}, AtOnce: w.int("at-once", 0)},
		Usual: Usual{Synthesise: w.dur("usual"), ProveCPU: w.dur("usual"), ProveGPU: w.dur("usual"), Check: w.dur("usual"), LoadKey: w.dur("usual")},
	}}
}

func (s *story) job(w words) Job {
	j, ok := s.kinds[w.pos[2]]
	if !ok {
		s.t.Fatalf("unknown kind %s", w.pos[2])
	}
	j.ID = w.pos[1]
	if c := w.text("class", ""); c != "" {
		j.Class, _ = job.ParseClass(c)
	}
	j.Partitions = w.int("parts", j.Partitions)
	if d := w.dur("deadline"); d > 0 {
		j.Deadline = s.now + d
	}
	for _, k := range strings.Split(w.text("done", ""), ",") {
		if n, err := strconv.Atoi(k); err == nil {
			j.Done = append(j.Done, n)
		}
	}
	return j
}

func (s *story) event(w words) Event {
	arg := func(i int) string {
		if i < len(w.pos) {
			return w.pos[i]
		}
		s.t.Fatalf("too few words: %v", w.pos)
		return ""
	}
	switch w.pos[0] {
	case "submit":
		return Submit{s.job(w)}
	case "cancel":
		return Cancel{Job: arg(1), Why: "asked for"}
	case "raise":
		c, _ := job.ParseClass(arg(2))
		return Raise{arg(1), c}
	case "made":
		return Synthesised{Attempt: s.attempt(w, "make"), Bytes: w.bytes("bytes")}
	case "proved":
		return Proved{s.attempt(w, "prove")}
	case "good", "bad":
		return Checked{Attempt: s.attempt(w, "check"), Good: w.pos[0] == "good", Text: "pairing differs"}
	case "fail":
		return AttemptFailed{Attempt: s.attempt(w, arg(2)), Failure: job.Failure(w.text("as", "device")), Text: "it broke"}
	case "joined":
		return Joined{Job: arg(1)}
	case "freed":
		return WitnessFreed{s.attempt(w, "make")}
	case "device":
		return AddDevice{Device{ID: arg(1), Class: DeviceClass(w.text("class", "gpu")), Slots: w.int("slots", 1), Memory: w.bytes("memory"), Lost: w.text("lost", "")}}
	case "lose":
		return LoseDevice{arg(1), "fell off the bus"}
	case "break":
		return BreakDevice{arg(1), "illegal address"}
	case "return":
		return ReturnDevice{arg(1)}
	case "settle":
		return Settle{Device: w.text("device", ""), Why: "illegal address"}
	case "reopened":
		return Reopened{Device: arg(1), Why: strings.Join(w.pos[2:], " ")}
	case "loaded":
		return KeyLoaded{arg(1), arg(2)}
	case "unloadable":
		return KeyFailed{Key: arg(1), Device: arg(2), Everywhere: w.text("everywhere", "no") == "yes", Failure: job.NoMemory, Text: "cannot load"}
	case "dropped":
		return KeyDropped{arg(1), arg(2)}
	case "preload":
		return Preload{arg(1), s.kinds[arg(1)].Work}
	case "evict":
		return Evict{arg(1)}
	case "drain":
		return Drain{}
	case "halt":
		return Halt{}
	}
	s.t.Fatalf("unknown event %v", w.pos)
	return nil
}

func (s *story) attempt(w words, verb string) int {
	if n := w.int("attempt", 0); n > 0 {
		return n
	}
	id, ok := s.last[verb+" "+w.pos[1]]
	if !ok {
		s.t.Fatalf("no %s of %s is running", verb, w.pos[1])
	}
	return id
}

func (s *story) step(ev Event) []string {
	var out []string
	for _, c := range s.core.Step(s.now, ev) {
		out = append(out, s.tell(c))
	}
	return out
}

func (s *story) note(id int, verb, jobID string, part int) string {
	key := fmt.Sprintf("%s %s/%d", verb, jobID, part)
	s.names[id], s.last[key] = key, id
	return key
}

func (s *story) tell(c Command) string {
	switch c := c.(type) {
	case Synthesise:
		return s.note(c.Attempt, "make", c.Job, c.Partition)
	case Prove:
		return s.note(c.Attempt, "prove", c.Job, c.Partition) + " on " + c.Device
	case Check:
		return s.note(c.Attempt, "check", c.Job, c.Partition)
	case Stop:
		return "stop " + s.names[c.Attempt]
	case DropWitness:
		return "free the witness of " + strings.TrimPrefix(s.names[c.Witness], "make ")
	case Forget:
		return "forget the request of " + c.Job
	case Reopen:
		return "reopen " + c.Device
	case Abandon:
		return "abandon " + c.Device
	case LoadKey:
		return "load " + c.Key + " on " + c.Device
	case DropKey:
		return "drop " + c.Key + " from " + c.Device
	case Join:
		return "join " + c.Job
	case Finish:
		return strings.TrimRight(fmt.Sprintf("%s %s %s: %s", c.State, c.Job, c.Failure, c.Text), ": ")
	case DeviceChanged:
		return strings.TrimRight(fmt.Sprintf("device %s is %s: %s", c.Device, c.State, c.Reason), ": ")
	}
	return fmt.Sprintf("%#v", c)
}

func (s *story) view() []string {
	v := s.core.View()
	out := []string{fmt.Sprintf("host %v of %v, live %d, running %d", v.Host.Used, v.Host.Limit, v.Live, v.Running)}
	for _, d := range v.Devices {
		l := fmt.Sprintf("%s %s %v of %v", d.ID, d.State, d.Pool.Used, d.Pool.Limit)
		for _, r := range d.Work {
			l += fmt.Sprintf(", proving %s/%d", r.Job, r.Partition)
		}
		out = append(out, strings.TrimRight(l+": "+d.Reason, ": "))
	}
	for _, k := range v.Keys {
		out = append(out, fmt.Sprintf("%s on %s: %s, in use by %d", k.Key, k.Device, k.State, k.Refs))
	}
	return out
}

func (w words) text(k, def string) string {
	if v, ok := w.opts[k]; ok {
		return v
	}
	return def
}

func (w words) int(k string, def int) int {
	v, err := strconv.Atoi(w.text(k, strconv.Itoa(def)))
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w words) bytes(k string) budget.Bytes {
	v, err := budget.ParseBytes(w.text(k, "0"))
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w words) time(s string) Time {
	v, err := time.ParseDuration(s)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

func (w words) dur(k string) Time { return w.time(w.text(k, "0s")) }
