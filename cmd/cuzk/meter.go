package main

import (
	"fmt"
	"time"

	"cuzk/proving"
)

// meter is what a long task shows of itself. A goroutine writes it from time to
// time, so that a task shows signs of life while it has nothing new to say.
type meter struct {
	what  string    // task, and stage of it
	state string    // how much of it is done; may be empty
	since time.Time // when what began
	stop  chan struct{}
}

// share shows how much of a task is done, 0 to 1.
func (u *ui) share(what string, done float64) {
	state := ""
	if done > 0 {
		state = fmt.Sprintf("%d%%", int(100*done))
	}
	u.show(what, state)
}

// progress shows how many bytes of a task are done.
func (u *ui) progress(what string, done, total int64) {
	u.show(what, fmt.Sprintf("%s of %s, %d%%", bytes(done), bytes(total), 100*done/max(total, 1)))
}

// show sets the meter and starts it.
func (u *ui) show(what, state string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.meter.stop == nil {
		u.meter.stop = make(chan struct{})
		go u.run(u.meter.stop)
	}
	if what != u.meter.what {
		u.meter.what, u.meter.since = what, time.Now()
	}
	u.meter.state = state
}

// run writes the meter until stop is closed.
func (u *ui) run(stop chan struct{}) {
	every := 5 * time.Second
	if u.moving {
		every = 200 * time.Millisecond
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			u.draw(stop)
		}
	}
}

// draw writes the meter unless it was stopped meanwhile.
func (u *ui) draw(stop chan struct{}) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.meter.stop != stop {
		return
	}
	line := "cuzk: " + u.meter.what
	if u.meter.state != "" {
		line += ", " + u.meter.state
	}
	line += fmt.Sprintf(", %d s", int(time.Since(u.meter.since).Seconds()))
	if !u.moving {
		fmt.Fprintln(u.err, line)
		return
	}
	u.clear()
	fmt.Fprint(u.err, line)
	u.meterLen = len(line)
}

// done takes the meter away at the end of a task.
func (u *ui) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	if u.meter.stop != nil {
		close(u.meter.stop)
	}
	u.meter = meter{}
}

// stages collects what was done, for a table at the end.
type stages struct {
	u     *ui
	group string // what the next stages belong to, such as a kind; may be empty
	list  []stage
}

type stage struct {
	group string
	proving.Stage
}

// watch shows progress and collects ended stages.
func (s *stages) watch() proving.Watch {
	return proving.Watch{
		Progress: func(name string, done float64) { s.u.share(s.named(name), done) },
		Ended: func(st proving.Stage) {
			s.u.done()
			s.list = append(s.list, stage{s.group, st})
		},
	}
}

func (s *stages) named(stage string) string {
	if s.group == "" {
		return stage
	}
	return s.group + ", " + stage
}

// total is the time of all stages.
func (s *stages) total() (sum time.Duration) {
	for _, st := range s.list {
		sum += st.Took
	}
	return sum
}

// table writes the stages as part of the result.
func (s *stages) table() error {
	rows := [][]string{{"PROOF", "STAGE", "TIME", "WHAT"}}
	for _, st := range s.list {
		rows = append(rows, []string{st.group, st.Name, took(st.Took), st.Detail})
	}
	rows = append(rows, []string{"total", "", took(s.total()), ""})
	return s.u.table(rows)
}

// stageLine is a stage in JSON.
type stageLine struct {
	Stage   string  `json:"stage"`
	Seconds float64 `json:"seconds"`
	What    string  `json:"what"`
}

// lines are the stages of a group.
func (s *stages) lines(group string) []stageLine {
	var out []stageLine
	for _, st := range s.list {
		if st.group == group {
			out = append(out, stageLine{st.Name, st.Took.Seconds(), st.Detail})
		}
	}
	return out
}

// took writes a duration with three digits.
func took(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3g ms", 1e3*d.Seconds())
	}
	return fmt.Sprintf("%.3g µs", 1e6*d.Seconds())
}
