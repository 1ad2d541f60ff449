package sched

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestSettleStartsNothing: after any history, what runs ends and nothing begins: no
// witness, proof or key; jobs are taken in; a halt then leaves nothing behind.
func TestSettleStartsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			m.act()
		}
		m.step(Settle{})
		began := len(m.tape)
		for n := 0; !m.core.Settled(); n++ {
			if open := m.outstanding(); len(open) == 0 || n > 10000 {
				t.Fatalf("it does not settle: %+v\n%s", m.core.View(), strings.Join(m.tape, "\n"))
			} else {
				m.answer(open[n%len(open)], 0)
			}
		}
		for _, line := range m.tape[began:] {
			for _, start := range []string{"  sched.Synthesise{", "  sched.Prove{", "  sched.LoadKey{", "  sched.Reopen{"} {
				if strings.HasPrefix(line, start) {
					t.Fatalf("it begins %s\n%s", line, strings.Join(m.tape[began:], "\n"))
				}
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
