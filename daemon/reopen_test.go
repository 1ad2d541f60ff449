package daemon

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/event"
	"cuzk/r1cs"
	"cuzk/srs"
)

// deviceStates are the states that a device went through.
func deviceStates(hub *event.Hub, id string) string {
	var out []string
	for _, r := range hub.Recent() {
		if r.Type == event.DeviceState && r.Device == id {
			out = append(out, r.State)
		}
	}
	return strings.Join(out, ", ")
}

// TestBrokenCard: a card whose context broke is opened anew, its key loaded again,
// and the partition proved on it.
func TestBrokenCard(t *testing.T) {
	needKey(t, "window-2KiB")
	o := options(t.TempDir())
	var proofs, opened atomic.Int32
	c := &card{Backend: cpu.New(cpu.Options{}), before: func(context.Context) error {
		if proofs.Add(1) == 1 {
			return fmt.Errorf("%w: illegal address", engine.ErrDeviceBroken)
		}
		return nil
	}}
	a := c.accelerator("GPU-frail", 2*budget.GiB)
	a.Reopen = func(context.Context) error { opened.Add(1); return nil }
	o.Accelerators, o.NoCPU = []Accelerator{a}, true
	r := serve(t, o)
	r.prove(t, "window-2KiB", "window-2KiB-V1_2-2of2")
	if proofs.Load() != 2 || opened.Load() != 1 || c.loads.Load() != 2 {
		t.Errorf("%d proofs, opened %d times, key loaded %d times", proofs.Load(), opened.Load(), c.loads.Load())
	}
	if got := deviceStates(o.Events, "GPU-frail"); got != "in-service, reopening, in-service" {
		t.Error(got)
	}
}

// TestDeafCard: a card that does not stop when its caller goes is given up, which
// ends the call that waits for it; the next proof comes from the processor.
func TestDeafCard(t *testing.T) {
	needKey(t, "window-2KiB")
	o := options(t.TempDir())
	o.Sched.StopLimit = 200 * time.Millisecond
	inside, given := make(chan struct{}), make(chan error, 1)
	c := &card{Backend: cpu.New(cpu.Options{}), before: func(context.Context) error {
		close(inside)
		return errors.Join(engine.ErrDeviceLost, <-given) // deaf to its context
	}}
	a := c.accelerator("GPU-deaf", 2*budget.GiB)
	a.Abandon = func(why error) { given <- why }
	o.Accelerators = []Accelerator{a}
	r := serve(t, o)
	sent, err := r.client.SubmitProof(t.Context(), curio(t, "window-2KiB-V1_2-2of2"))
	if err != nil {
		t.Fatal(err)
	}
	<-inside
	if _, err := r.Engine.Cancel(t.Context(), sent.GetJobId(), "caller has gone"); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		if st, err := r.Engine.Status(t.Context()); err != nil || st.Running == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := deviceStates(o.Events, "GPU-deaf"); got != "in-service, lost" {
		t.Error(got)
	}
	r.prove(t, "window-2KiB", "window-2KiB-V1-1of2")
}

// TestTwoPartitionsAtATime: where a key serves two proofs on a card, two are made
// at a time, each in a workspace of its own; where it serves one, the second waits.
func TestTwoPartitionsAtATime(t *testing.T) {
	needKey(t, "window-2KiB")
	for _, atOnce := range []int{1, 2} {
		t.Run(fmt.Sprint(atOnce), func(t *testing.T) {
			o := options(t.TempDir())
			var inside, most atomic.Int32
			met := make(chan struct{})
			c := &card{Backend: cpu.New(cpu.Options{}), before: func(ctx context.Context) error {
				defer inside.Add(-1)
				n := inside.Add(1)
				if most.Store(max(most.Load(), n)); n == 2 {
					close(met)
				}
				select {
				case <-met:
				case <-ctx.Done():
				case <-time.After(time.Duration(atOnce*atOnce*atOnce) * 500 * time.Millisecond):
				}
				return nil
			}}
			a := c.accelerator("GPU-wide", 2*budget.GiB)
			a.Slots = 2
			a.Need = func(srs.ID, r1cs.Counts, srs.Shape) budget.Placement {
				return budget.Placement{Able: true, Key: budget.Need{Device: budget.GiB}, AtOnce: atOnce}
			}
			o.Accelerators, o.NoCPU = []Accelerator{a}, true
			r := serve(t, o)
			var wg sync.WaitGroup
			for _, name := range []string{"window-2KiB-V1_2-2of2", "window-2KiB-V1-1of2"} {
				wg.Go(func() { r.prove(t, "window-2KiB", name) })
			}
			wg.Wait()
			if got := int(most.Load()); got != atOnce {
				t.Errorf("%d proofs at a time, want %d", got, atOnce)
			}
			held := map[string]bool{}
			for _, rec := range o.Events.Recent() {
				switch {
				case rec.Type == event.RegionIn:
					for other := range held {
						if event.Excludes(rec.Region, other) {
							t.Errorf("%s was entered while %s was held", rec.Region, other)
						}
					}
					held[rec.Region] = true
				case rec.Type == event.RegionOut:
					delete(held, rec.Region)
				}
			}
		})
	}
}
