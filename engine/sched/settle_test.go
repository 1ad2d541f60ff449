package sched

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"cuzk/job"
)

var named = regexp.MustCompile(`^  sched\.(Synthesise|Prove|LoadKey)\{.*?(?:Job|Key):(\w+)`)

// urgent are the critical jobs that live, and their keys.
func (m *model) urgent() map[string]bool {
	out := map[string]bool{}
	for id, j := range m.core.jobs {
		if j.spec.Class == job.Critical { // it may have been raised
			out[id], out[j.spec.Key] = true, true
		}
	}
	return out
}

// TestSettleStartsNothing: after any history, what runs ends and nothing begins but
// for critical jobs: no witness, proof or key; a halt then leaves nothing behind.
func TestSettleStartsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.act()
		}
		m.step(Settle{})
		began, urgent := len(m.tape), m.urgent()
		for n := 0; !m.core.Settled(); n++ {
			if open := m.outstanding(); len(open) == 0 || n > 10000 {
				t.Fatalf("it does not settle: %+v\n%s", m.core.View(), strings.Join(m.tape, "\n"))
			} else {
				m.answer(open[n%len(open)], 0)
			}
		}
		for _, line := range m.tape[began:] {
			if found := named.FindStringSubmatch(line); found != nil && !urgent[found[2]] {
				t.Fatalf("it begins %s\n%s", line, strings.Join(m.tape[began:], "\n"))
			}
		}
		for _, d := range m.core.View().Devices {
			if d.State == InService && len(d.Work) == 0 && d.Reason != IdleRestart {
				t.Fatalf("%s is idle: %s", d.ID, d.Reason)
			}
		}
		m.step(Halt{})
		for open := m.outstanding(); len(open) > 0; open = m.outstanding() {
			m.joins = nil
			if open = m.outstanding(); len(open) > 0 {
				m.answer(open[0], 0)
			}
		}
		m.checkEmpty()
	})
}
