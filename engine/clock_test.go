package engine_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/engine"
	"cuzk/job"
)

// TestClockStepsWhileRunning: the machine's clock is put forth and back by a day.
// Deadlines, times and the keeping of results go by the time that has passed.
func TestClockStepsWhileRunning(t *testing.T) {
	const day = 24 * time.Hour
	for name, by := range map[string][]time.Duration{"forth": {day}, "back": {-day}, "forth and back": {day, -day}, "back and forth": {-day, day, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var step atomic.Int64
				r := start(t, gpus(2), func(c *engine.Config) {
					c.Wall = func() time.Time { return time.Now().Add(time.Duration(step.Load())) }
					c.KeepResults, c.Sched.HangFactor = time.Hour, 0
				})
				old := r.submit("winning-post", "", engine.Options{RequestID: "old"})
				r.proved(old, "winning-post", "", 1)
				began := time.Now()
				late := r.submit("porep-c2", "parts=1 prove=1h", engine.Options{Deadline: began.Add(30 * time.Minute)})
				runs := r.submit("porep-c2", "prove=20s", engine.Options{Class: job.High})
				for _, d := range by {
					time.Sleep(5 * time.Second)
					step.Add(int64(d))
				}
				j := r.proved(runs, "porep-c2", "prove=20s", 10)
				if x := j.Result.Times; x.Total < 200*time.Second || x.Total > 300*time.Second || x.Queue > time.Minute || x.Queue < 0 {
					t.Errorf("times %+v", x)
				}
				j = r.ends(late, job.TimedOut, job.Overdue)
				if took := time.Since(began); took.Round(time.Second) != 30*time.Minute || j.Result.Times.Total.Round(time.Second) != 30*time.Minute {
					t.Errorf("ended after %v, times %+v", took, j.Result.Times)
				}
				if _, err := r.Wait(t.Context(), old); err != nil {
					t.Errorf("its result was kept for %v only: %v", time.Since(began), err)
				}
				if step.Load() < 0 {
					return // stamps of before look young for a day
				}
				time.Sleep(65 * time.Minute)
				if _, err := r.Wait(t.Context(), runs); !errors.Is(err, job.ErrNotFound) {
					t.Errorf("still there after %v: %v", time.Since(began), err)
				}
			})
		})
	}
}

// TestDeadlineOutlivesARestart: it goes on by the wall clock, which is all that
// there is.
func TestDeadlineOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), func(c *engine.Config) { c.Sched.HangFactor = 0 })
		began := time.Now()
		id := r.submit("porep-c2", "prove=1h", engine.Options{Deadline: began.Add(10 * time.Minute)})
		time.Sleep(time.Minute)
		r.stop()
		time.Sleep(time.Minute)
		r.boot(gpus(1), func(c *engine.Config) { c.Sched.HangFactor = 0 })
		j := r.ends(id, job.TimedOut, job.Overdue)
		if over := time.Since(began) - 10*time.Minute; over < 0 || over > time.Second || j.Result.Times.Total.Round(time.Second) != 10*time.Minute {
			t.Errorf("after %v, times %+v", time.Since(began), j.Result.Times)
		}
	})
}
