package main

import (
	"fmt"
	"time"

	"cuzk/proving"
)

// share shows how much of a stage is done, 0 to 1, by the rules of ui.go.
func (u *ui) share(what string, done float64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	every := 5 * time.Second
	if u.moving {
		every = 100 * time.Millisecond
	}
	now := time.Now()
	if u.meterAt.IsZero() && !u.moving {
		u.meterAt = now // short tasks say nothing
	}
	if now.Sub(u.meterAt) < every {
		return
	}
	u.meterAt = now
	line := fmt.Sprintf("cuzk: %s: %d%%", what, int(100*done))
	if !u.moving {
		fmt.Fprintln(u.err, line)
		return
	}
	u.clear()
	fmt.Fprint(u.err, line)
	u.meterLen = len(line)
}

// stages collects what was done, for a table at the end.
type stages struct {
	u     *ui
	head  string // put before a stage's name, for example the kind
	names []string
	list  []proving.Stage
}

// watch shows progress and collects ended stages.
func (s *stages) watch() proving.Watch {
	return proving.Watch{
		Progress: func(stage string, done float64) { s.u.share(s.head+stage, done) },
		Ended: func(st proving.Stage) {
			s.u.done()
			s.names, s.list = append(s.names, s.head+st.Name), append(s.list, st)
		},
	}
}

// table writes the stages as part of the result.
func (s *stages) table() error {
	rows := [][]string{{"STAGE", "TIME", "WHAT"}}
	for i, st := range s.list {
		rows = append(rows, []string{s.names[i], took(st.Took), st.Detail})
	}
	return s.u.table(rows)
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
