package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend/fake"
	"cuzk/engine"
	"cuzk/job"
)

// TestRetriesAreJoinedWhileNewJobsAreRefused: whatever keeps new jobs out, the
// same request finds its job, running or completed, and its proof.
func TestRetriesAreJoinedWhileNewJobsAreRefused(t *testing.T) {
	again := func(change func(*rig, *engine.Config)) func(*rig, *brokenStore) {
		return func(r *rig, _ *brokenStore) {
			r.stop()
			r.boot(gpus(1), func(c *engine.Config) { change(r, c) })
		}
	}
	for name, refuse := range map[string]func(*rig, *brokenStore){
		"store": func(_ *rig, b *brokenStore) { b.broken.Store(true) },
		"drain": func(r *rig, _ *brokenStore) { time.Sleep(time.Second); go func() { _ = r.Drain(r.t.Context()) }() },
		"disk":  again(func(r *rig, c *engine.Config) { c.Dir, c.MinFreeDisk = r.dir, 1<<62 }),
		"queue": again(func(_ *rig, c *engine.Config) { c.Sched.MaxJobs = 1 }),
		"spool": again(func(r *rig, c *engine.Config) {
			var err error
			c.Spool, err = job.OpenSpool(filepath.Join(r.dir, "payloads"), 1, []job.Digest{request("porep-c2", "").Digest()})
			r.must(err)
		}),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &brokenStore{}
				r := start(t, gpus(1), func(c *engine.Config) { b.Store = c.Store; c.Store = b })
				done := r.submit("winning-post", "", engine.Options{RequestID: "done"})
				r.proved(done, "winning-post", "", 1)
				runs := r.submit("porep-c2", "", engine.Options{RequestID: "runs"})
				refuse(r, b)
				synctest.Wait()
				if _, err := r.Submit(t.Context(), request("snap-update", "new"), engine.Options{RequestID: "new"}); err == nil {
					t.Fatal("a new job was accepted")
				} else {
					t.Log(err)
				}
				r.rejoins("winning-post", "done", done)
				r.rejoins("porep-c2", "runs", runs)
				r.proved(runs, "porep-c2", "", 10)
				r.rejoins("porep-c2", "runs", runs) // its result may be in memory alone
				r.proved(runs, "porep-c2", "", 10)
			})
		})
	}
}

// rejoins sends a request again.
func (r *rig) rejoins(kind, id, want string) {
	r.t.Helper()
	a, err := r.Submit(r.t.Context(), request(kind, ""), engine.Options{RequestID: id})
	if err != nil || a.ID != want || !a.Joined {
		r.t.Errorf("request %s again: %+v, %v; its job is %s", id, a, err, want)
	}
}

// TestEveryRefusalOfABrokenStoreIsOne: the first caller, who finds out, too is
// told that it is the store, whatever the system says.
func TestEveryRefusalOfABrokenStoreIsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenStore{}
		r := start(t, gpus(1), func(c *engine.Config) { b.Store = c.Store; c.Store = b })
		b.broken.Store(true)
		for _, orders := range []string{"", "bad", "other"} {
			if _, err := r.Submit(t.Context(), request("porep-c2", orders), engine.Options{}); !errors.Is(err, engine.ErrStore) || !errors.Is(err, syscall.ENOSPC) && orders == "" {
				t.Errorf("%q: %v", orders, err)
			}
		}
		b.broken.Store(false)
		time.Sleep(11 * time.Second)
		r.proved(r.submit("porep-c2", "", engine.Options{}), "porep-c2", "", 10)
	})
}

// failingReads is a store that can be written and not be read.
type failingReads struct {
	job.Store
	finds atomic.Int32
}

func (f *failingReads) Find(context.Context, string, job.Digest) (job.Job, error) {
	f.finds.Add(1)
	return job.Job{}, syscall.EIO
}

func TestStoreThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &failingReads{}
		r := start(t, gpus(1), func(c *engine.Config) { f.Store = c.Store; c.Store = f })
		r.proved(r.submit("porep-c2", "", engine.Options{RequestID: "r"}), "porep-c2", "", 10)
		if f.finds.Load() != 1 {
			t.Errorf("asked %d times", f.finds.Load())
		}
	})
}

// TestSpoiltRowFailsItsJobOnly: a live job that the store cannot read is answered
// as failed, with the reason; the others go on.
func TestSpoiltRowFailsItsJobOnly(t *testing.T) {
	for _, set := range []string{"digest = 'x'", "class = 'urgent'", "deadline = x'00'"} {
		t.Run(set, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, nil, func(c *engine.Config) { c.Devices = append(c.Devices, fake.CPU(time.Second)) })
				spoilt := r.submit("porep-c2", "spoilt", engine.Options{RequestID: "spoilt"})
				fine := r.submit("porep-c2", "fine", engine.Options{RequestID: "fine"})
				r.stop()
				db, err := sql.Open("sqlite", "file:"+filepath.Join(r.dir, "jobs.db"))
				r.must(err)
				_, err = db.Exec(`update job set `+set+` where id = $1`, spoilt)
				r.must(err)
				r.must(db.Close())
				r.boot([]*fake.Device{fake.CPU(time.Second)}, nil)
				j := r.ends(spoilt, job.Failed, job.Storage)
				if !strings.Contains(j.Result.Message, "corrupt") {
					t.Error(j.Result.Message)
				}
				r.proved(fine, "porep-c2", "fine", 10)
				r.ends(spoilt, job.Failed, job.Storage) // also from the store
				r.proved(r.submit("porep-c2", "spoilt", engine.Options{RequestID: "spoilt"}), "porep-c2", "spoilt", 10)
			})
		})
	}
}
