package sched

import (
	"fmt"
	"testing"

	"cuzk/budget"
	"cuzk/job"
)

// BenchmarkQueue runs n one-partition jobs, all submitted at first, through
// eight devices.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{100, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				drive(b, n)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/job")
		})
	}
}

func drive(b *testing.B, n int) {
	c := New(Config{Making: 4, Ahead: 64, CPU: CPUFallback, MaxAttempts: 3}, budget.New(64*budget.GiB, 0))
	var todo []Command
	step := func(ev Event) { todo = append(todo, c.Step(0, ev)...) }
	for i := range 8 {
		step(AddDevice{Device{ID: fmt.Sprintf("gpu%d", i), Class: GPU, Slots: 1, Memory: 80 * budget.GiB}})
	}
	w := Work{Witness: budget.MiB, GPU: Placement{Able: true, Key: budget.Need{Device: budget.GiB}, Prove: budget.Need{Device: budget.GiB}}}
	for i := range n {
		step(Submit{Job{ID: fmt.Sprint(i), Class: job.Normal, Key: "k", Partitions: 1, Work: w}})
	}
	ended := 0
	for len(todo) > 0 {
		cmd := todo[0]
		todo = todo[1:]
		switch cmd := cmd.(type) {
		case Synthesise:
			step(Synthesised{Attempt: cmd.Attempt})
		case Prove:
			step(Proved{cmd.Attempt})
		case Check:
			step(Checked{Attempt: cmd.Attempt, Good: true})
		case DropWitness:
			step(WitnessFreed{cmd.Witness})
		case LoadKey:
			step(KeyLoaded{cmd.Key, cmd.Device})
		case Join:
			step(Joined{Job: cmd.Job})
		case Finish:
			ended++
		}
	}
	if ended != n {
		b.Fatalf("%d of %d jobs ended", ended, n)
	}
}
