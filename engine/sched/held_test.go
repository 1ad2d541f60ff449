package sched

import (
	"fmt"
	"testing"

	"cuzk/budget"
	"cuzk/job"
)

// BenchmarkHeld is one decision while n finished witnesses wait for eight busy
// devices.
func BenchmarkHeld(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			c := New(Config{Making: 4, CPU: CPUFallback, MaxAttempts: 3, KeyHold: 300e9, AgeStep: 1800e9}, budget.New(1024*budget.GiB, 0))
			now := Time(0)
			var proofs []int
			var step func(ev Event)
			step = func(ev Event) {
				for _, cmd := range c.Step(now, ev) {
					switch cmd := cmd.(type) {
					case Synthesise:
						step(Synthesised{Attempt: cmd.Attempt})
					case LoadKey:
						step(KeyLoaded{cmd.Key, cmd.Device})
					case Prove:
						proofs = append(proofs, cmd.Attempt)
					case Check:
						step(Checked{Attempt: cmd.Attempt, Good: true})
					case DropWitness:
						step(WitnessFreed{cmd.Witness})
					case Join:
						step(Joined{Job: cmd.Job})
					}
				}
			}
			for i := range 8 {
				step(AddDevice{Device{ID: fmt.Sprintf("gpu%d", i), Class: GPU, Slots: 1, Memory: 140 * budget.GiB}})
			}
			w := Work{Witness: 68 * budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: 83 * budget.GiB}}}
			for i := 0; len(c.held) < n; i++ {
				step(Submit{Job{ID: fmt.Sprint(i), Class: job.Normal, Key: "porep", Partitions: 10, Work: w}})
			}
			b.ResetTimer()
			for b.Loop() {
				now += 1e6
				step(Tick{})
			}
		})
	}
}
