package engine_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend/fake"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// spoilt makes a card that breaks in its second proof and cannot be opened by this
// process any more.
func spoilt(d *fake.Device) {
	d.OpenError = func() error { return fmt.Errorf("%w: illegal address", engine.ErrProcess) }
	d.Next(fake.None, fake.Sticky)
}

// TestProcessIsReplaced: the device waits for the new process; jobs are still taken;
// what runs elsewhere ends and is kept, nothing begins but a critical job; the next
// engine makes only what is missing, and each job ends once.
func TestProcessIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(2)
		spoilt(d[0])
		d[1].ProveTime = 30 * time.Second
		asked := make(chan string, 9)
		r := start(t, d, func(c *engine.Config) {
			c.StartAnew = func(device string, why error) error { asked <- fmt.Sprint(device, ": ", why); return nil }
		})
		id := r.submit("porep-c2", "parts=6", engine.Options{RequestID: "r"})
		if why := <-asked; !strings.Contains(why, "gpu0: open device anew: only a new process can open the device: illegal address") {
			t.Error(why)
		}
		began := time.Now()
		critical := r.submit("winning-post", "", engine.Options{})
		r.must(r.Settle(t.Context()))
		if took := time.Since(began); took < 10*time.Second || took > 62*time.Second {
			t.Errorf("settled after %v", took)
		}
		r.proved(critical, "winning-post", "", 1)
		late := r.submit("snap-update", "parts=2", engine.Options{RequestID: "late"})
		time.Sleep(time.Minute)
		if s, why := r.stateOf("gpu0"); s != sched.Restarting || d[0].Proofs() != 2 || d[1].Proofs() != 2 || d[2].Proofs() != 0 {
			t.Errorf("%s: %s, proofs %d, %d and %d", s, why, d[0].Proofs(), d[1].Proofs(), d[2].Proofs())
		}
		r.restartIsTold("gpu0")
		r.stop()
		d = gpus(2)
		r.boot(d, nil)
		r.proved(late, "snap-update", "parts=2", 2)
		r.proved(id, "porep-c2", "parts=6", 6)
		if n := d[0].Proofs() + d[1].Proofs(); n != 6 { // four of the six, and the late ones
			t.Errorf("%d proofs after the restart", n)
		}
		if again := r.submit("porep-c2", "parts=6", engine.Options{RequestID: "r"}); again != id {
			t.Errorf("a retry made job %s", again)
		}
	})
}

// restartIsTold looks for the one record.
func (r *rig) restartIsTold(device string) {
	r.t.Helper()
	n := 0
	for _, rec := range r.hub.Recent() {
		if rec.Type == event.DaemonRestarts && rec.Device == device && strings.Contains(rec.Reason, "illegal address") {
			n++
		}
	}
	if n != 1 {
		r.t.Errorf("%d records of a restart", n)
	}
}

// TestProcessIsNotReplaced: where there must be no restart the device is lost, with
// both reasons, and its partitions are proved elsewhere.
func TestProcessIsNotReplaced(t *testing.T) {
	for name, ask := range map[string]func(string, error) error{"refused": func(string, error) error { return errors.New("too often") }, "not asked": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := gpus(1)
				spoilt(d[0])
				r := start(t, d, func(c *engine.Config) { c.StartAnew = ask })
				r.proved(r.submit("porep-c2", "parts=3", engine.Options{}), "porep-c2", "parts=3", 3)
				s, why := r.stateOf("gpu0")
				if s != sched.Lost || !strings.Contains(why, "illegal address") || ask != nil && !strings.Contains(why, "too often") {
					t.Errorf("%s: %s", s, why)
				}
				r.checkEvents()
			})
		})
	}
}

// TestSettleIsBounded: what hangs is not waited for longer than is permitted.
func TestSettleIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		d[0].Next(fake.Hang)
		r := start(t, d, nil)
		id := r.submit("porep-c2", "parts=1", engine.Options{})
		time.Sleep(10 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Settle(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("settled: %v", err)
		}
		r.stop()
		r.boot(gpus(1), nil)
		r.ends(id, job.Completed, "")
	})
}
