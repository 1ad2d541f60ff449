package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// brokenStore fails writes while it is told to.
type brokenStore struct {
	job.Store
	broken atomic.Bool
}

func (b *brokenStore) err() error {
	if b.broken.Load() {
		return fmt.Errorf("write: %w", syscall.ENOSPC)
	}
	return nil
}

func (b *brokenStore) Create(ctx context.Context, j job.Job) (job.Job, bool, error) {
	if err := b.err(); err != nil {
		return job.Job{}, false, err
	}
	return b.Store.Create(ctx, j)
}

func (b *brokenStore) SavePartition(ctx context.Context, id string, k int, p []byte) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Store.SavePartition(ctx, id, k, p)
}

func (b *brokenStore) Finish(ctx context.Context, id string, s job.State, r job.Result) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Store.Finish(ctx, id, s, r)
}

func (b *brokenStore) Check(ctx context.Context) error {
	if err := b.err(); err != nil {
		return err
	}
	return b.Store.Check(ctx)
}

func TestFullDiskRefusesNewJobsAndFinishesRunningOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenStore{}
		r := start(t, gpus(1), func(c *engine.Config) { b.Store = c.Store; c.Store = b })
		id := r.submit("porep-c2", "", engine.Options{RequestID: "r"})
		time.Sleep(2 * time.Second)
		b.broken.Store(true)
		r.proved(id, "porep-c2", "", 10)
		r.proved(id, "porep-c2", "", 10) // from memory: the store has not got it
		_, err := r.Submit(t.Context(), request("porep-c2", "other"), engine.Options{})
		if !errors.Is(err, engine.ErrStore) || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("with a full disk: %v", err)
		}
		s, err := r.Status(t.Context())
		r.must(err)
		if s.Refusing == "" || s.Unsaved != 1 {
			t.Fatalf("status %q, %d unsaved", s.Refusing, s.Unsaved)
		}
		b.broken.Store(false)
		time.Sleep(2 * time.Second)
		r.proved(r.submit("porep-c2", "other", engine.Options{}), "porep-c2", "other", 10)
		if j, err := r.store.Get(t.Context(), id); err != nil || j.State != job.Completed {
			t.Fatalf("stored %v, %v", j.State, err)
		}
		if s, _ = r.Status(t.Context()); s.Refusing != "" || s.Unsaved != 0 || s.SpoolUsed != 0 {
			t.Fatalf("after healing: %q, %d unsaved, spool %d", s.Refusing, s.Unsaved, s.SpoolUsed)
		}
	})
}

func TestDeletedStoreIsNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		r.must(os.Remove(r.dir + "/jobs.db"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if _, err := r.Submit(t.Context(), request("porep-c2", ""), engine.Options{}); !errors.Is(err, engine.ErrStore) {
			t.Fatalf("accepted without a store: %v", err)
		}
	})
}

func TestTooLittleDiskIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), func(c *engine.Config) { c.Dir = t.TempDir(); c.MinFreeDisk = 1 << 62 })
		if _, err := r.Submit(t.Context(), request("porep-c2", ""), engine.Options{}); !errors.Is(err, engine.ErrDisk) {
			t.Fatalf("accepted: %v", err)
		}
	})
}

func TestFullSpoolRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		small, err := job.OpenSpool(t.TempDir(), 200, nil)
		r.must(err)
		r.stop()
		r.boot(gpus(1), func(c *engine.Config) { c.Spool = small })
		id := r.submit("porep-c2", "", engine.Options{})
		if _, err := r.Submit(t.Context(), request("porep-c2", "more"), engine.Options{}); !errors.Is(err, job.ErrSpool) {
			t.Fatalf("accepted: %v", err)
		}
		r.proved(id, "porep-c2", "", 10)
		r.proved(r.submit("porep-c2", "more", engine.Options{}), "porep-c2", "more", 10)
	})
}

func TestQueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), func(c *engine.Config) { c.Sched.MaxJobs = 2 })
		r.submit("porep-c2", "1", engine.Options{})
		r.submit("porep-c2", "2", engine.Options{})
		if _, err := r.Submit(t.Context(), request("porep-c2", "3"), engine.Options{}); !errors.Is(err, sched.ErrQueue) {
			t.Fatalf("accepted: %v", err)
		}
		r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
	})
}

func TestPreloadAndEvict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(2)
		for _, g := range d {
			g.LoadTime = 30 * time.Second
		}
		r := start(t, d, nil)
		began := time.Now()
		go func() {
			time.Sleep(16 * time.Second)
			if s, err := r.Status(t.Context()); err != nil || s.Loading[[2]string{"porep-32g", "gpu0"}] != 50 {
				t.Errorf("half-way, status says %v, %v", s.Loading, err)
			}
		}()
		already, err := r.Preload(t.Context(), "porep-32g")
		if err != nil || already || time.Since(began) != 30*time.Second {
			t.Fatalf("preload: already %v, %v, after %v", already, err, time.Since(began))
		}
		if already, err = r.Preload(t.Context(), "porep-32g"); err != nil || !already {
			t.Fatalf("again: already %v, %v", already, err)
		}
		if _, err = r.Preload(t.Context(), "porep-1g"); !errors.Is(err, engine.ErrNoKey) || !strings.Contains(err.Error(), "winning-32g") {
			t.Fatalf("unknown circuit: %v", err)
		}
		if _, err = r.Preload(t.Context(), "wpost-32g"); err == nil { // 45 and 57 GiB do not fit on 80
			t.Fatal("what does not fit was preloaded")
		}
		synctest.Wait()
		loaded, freed, err := r.Evict(t.Context(), "porep-32g")
		if err != nil || !loaded || freed != 90*budget.GiB {
			t.Fatalf("evict: %v, %v, %v", loaded, freed, err)
		}
		synctest.Wait()
		if len(d[0].Keys()) != 0 {
			t.Fatalf("resident: %v", d[0].Keys())
		}
		if loaded, freed, err = r.Evict(t.Context(), "porep-32g"); err != nil || loaded || freed != 0 {
			t.Fatalf("evict again: %v, %v, %v", loaded, freed, err)
		}
		if _, _, err = r.Evict(t.Context(), "nothing"); !errors.Is(err, engine.ErrNoKey) {
			t.Fatalf("unknown circuit: %v", err)
		}
		r.checkProgress()
	})
}

// checkProgress looks for the first line within a second and one each second or
// few: a load is never silent.
func (r *rig) checkProgress() {
	r.t.Helper()
	last, longest := time.Time{}, time.Duration(0)
	for _, rec := range r.hub.Recent() {
		if rec.Device != "gpu0" {
			continue
		}
		switch rec.Type {
		case event.KeyLoading:
			last = rec.At
		case event.KeyProgress, event.KeyReady:
			longest = max(longest, rec.At.Sub(last))
			last = rec.At
		}
	}
	if longest > 5*time.Second {
		r.t.Errorf("silent for %v while a key was loaded", longest)
	}
}

func TestMissingKeyFailsItsJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		d[0].KeyError = func(key string) error {
			if key == "porep-32g" {
				return engine.Fail(job.NoKey, errors.New("v28-x.params: no such file; fetch it with cuzk params fetch porep-32GiB"))
			}
			return nil
		}
		r := start(t, d, nil)
		j := r.ends(r.submit("porep-c2", "", engine.Options{}), job.Failed, job.NoKey)
		if !strings.Contains(j.Result.Message, "params fetch") {
			t.Fatal(j.Result.Message)
		}
		r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
		if _, err := r.Preload(t.Context(), "porep-32g"); err == nil {
			t.Fatal("a missing key was preloaded")
		}
	})
}

func TestKeyThatOneDeviceCannotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(2)
		d[0].KeyError = func(string) error { return errors.New("out of memory") }
		r := start(t, d, nil)
		r.proved(r.submit("porep-c2", "", engine.Options{}), "porep-c2", "", 10)
		if d[0].Proofs() != 0 || d[1].Proofs() != 10 {
			t.Fatalf("gpu0 proved %d, gpu1 %d", d[0].Proofs(), d[1].Proofs())
		}
	})
}

func TestOldResultsArePruned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), func(c *engine.Config) { c.KeepResults = time.Hour })
		id := r.submit("winning-post", "", engine.Options{RequestID: "r"})
		r.proved(id, "winning-post", "", 1)
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		if _, err := r.Wait(t.Context(), id); !errors.Is(err, job.ErrNotFound) {
			t.Fatalf("kept: %v", err)
		}
		if again := r.submit("winning-post", "", engine.Options{RequestID: "r"}); again == id {
			t.Fatal("a pruned job was joined")
		}
	})
}

func TestStatusTellsWhatHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		id := r.submit("porep-c2", "", engine.Options{Class: job.Low})
		time.Sleep(time.Millisecond)
		r.submit("snap-update", "", engine.Options{})
		time.Sleep(1499 * time.Millisecond)
		s, err := r.Status(t.Context())
		r.must(err)
		var text []string
		for _, k := range s.Kinds {
			text = append(text, fmt.Sprint(k.Name, " ", k.Pending, " ", k.InProgress))
		}
		if got := strings.Join(text, ", "); got != "porep-c2 0 1, snap-update 0 1, window-post 0 0, winning-post 0 0" {
			t.Error(got)
		}
		if len(s.Devices[1].Work) != 1 || s.Uptime != 1500*time.Millisecond || len(s.Known) != 4 {
			t.Errorf("devices %+v, up %v, keys %v", s.Devices, s.Uptime, s.Known)
		}
		js, err := r.Jobs(t.Context())
		r.must(err)
		if len(js) != 2 || js[0].ID != id || len(js[0].Partitions) != 10 || js[0].Partitions[0].State == "queued" || js[1].Kind != "snap-update" {
			t.Errorf("jobs %+v", js)
		}
		if recent, err := r.Recent(t.Context(), 10); err != nil || len(recent) != 2 {
			t.Errorf("recent %v, %v", recent, err)
		}
		r.must(r.Ping(t.Context()))
	})
}

// TestStormLosesNothing runs many callers with every kind of trouble at once.
func TestStormLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(3)
		rng := rand.New(rand.NewPCG(1, 2))
		faults := []fake.Fault{fake.None, fake.None, fake.None, fake.Break, fake.Lie, fake.Hang, fake.Deaf, fake.Vanish, fake.Sticky, fake.Panic}
		for range 200 {
			d[rng.IntN(3)].Next(faults[rng.IntN(len(faults))])
		}
		r := start(t, d, func(c *engine.Config) { c.Host = 16 * budget.GiB })
		ctx, cancel := context.WithCancel(t.Context())
		go r.returnDevices(ctx)
		var wg sync.WaitGroup
		for i := range 12 {
			wg.Go(func() { r.caller(i) })
		}
		wg.Wait()
		cancel()
		time.Sleep(time.Minute)
		s, err := r.Status(t.Context())
		r.must(err)
		if s.Live != 0 || s.Running != 0 || s.Strays != 0 || s.SpoolUsed != 0 {
			t.Errorf("left: %d jobs, %d attempts, %d strays, %d bytes", s.Live, s.Running, s.Strays, s.SpoolUsed)
		}
		r.checkEvents()
	})
}

// returnDevices is an operator who puts every device back after a while.
func (r *rig) returnDevices(ctx context.Context) {
	for ctx.Err() == nil {
		time.Sleep(30 * time.Second)
		for _, d := range r.cfg.Devices {
			_ = r.ReturnDevice(ctx, d.Spec().ID)
		}
	}
}

func (r *rig) caller(i int) {
	rng := rand.New(rand.NewPCG(uint64(i), 7))
	kinds := []string{"porep-c2", "snap-update", "window-post", "winning-post"}
	troubles := []string{"", "", "", "", "bad", "unsatisfied=0", "panic=0"}
	for n := range 6 {
		kind, orders := kinds[rng.IntN(4)], fmt.Sprint("parts=2 ", troubles[rng.IntN(len(troubles))], " n=", rng.IntN(4))
		a, err := r.Submit(r.t.Context(), request(kind, orders), engine.Options{RequestID: fmt.Sprint(n)})
		if err != nil {
			r.t.Error(err)
			return
		}
		if rng.IntN(5) == 0 {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			_, _ = r.Cancel(r.t.Context(), a.ID, "changed my mind")
		}
		j, err := r.Wait(r.t.Context(), a.ID)
		if err != nil || !j.State.Final() {
			r.t.Errorf("job %s: %v, %v", a.ID, j.State, err)
		}
		if j.State == job.Completed && !fake.Valid(request(kind, orders), 2, j.Result.Proof) {
			r.t.Errorf("job %s has a wrong proof", a.ID)
		}
	}
}

// stateOf is a device's state and its reason.
func (r *rig) stateOf(id string) (sched.DeviceState, string) {
	r.t.Helper()
	synctest.Wait()
	s, err := r.Status(r.t.Context())
	r.must(err)
	for _, d := range s.Devices {
		if d.ID == id {
			return d.State, d.Reason
		}
	}
	r.t.Fatalf("no device %s", id)
	return "", ""
}

// TestBrokenDeviceIsOpenedAnew: all that a card with a broken context had is
// dropped, it is opened anew, its key loaded again, and the partition proved there,
// without the processor's help.
func TestBrokenDeviceIsOpenedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		d[0].OpenTime = 4 * time.Second
		r := start(t, d, nil)
		d[0].Next(fake.None, fake.Sticky)
		r.proved(r.submit("porep-c2", "parts=4", engine.Options{}), "porep-c2", "parts=4", 4)
		if d[0].Opened() != 1 || d[0].Proofs() != 5 || d[1].Proofs() != 0 || len(d[0].Keys()) != 1 {
			t.Errorf("opened %d times, %d proofs, %d on the processor, keys %v", d[0].Opened(), d[0].Proofs(), d[1].Proofs(), d[0].Keys())
		}
		var states []string
		for _, rec := range r.hub.Recent() {
			if rec.Type == event.DeviceState && rec.Device == "gpu0" {
				states = append(states, strings.TrimSuffix(rec.State+": "+rec.Reason, ": "))
			}
		}
		if got := strings.Join(states, ", "); got != "in-service, reopening: prove on gpu0: device must be opened anew: illegal address, in-service" {
			t.Error(got)
		}
		r.checkEvents()
	})
}

// TestDeviceThatCannotBeOpenedIsLost: its partition is proved elsewhere, and
// returning the device tells why it is not back.
func TestDeviceThatCannotBeOpenedIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		d[0].OpenError = func() error { return errors.New("self-test failed") }
		r := start(t, d, nil)
		d[0].Next(fake.Sticky)
		r.proved(r.submit("porep-c2", "parts=1", engine.Options{}), "porep-c2", "parts=1", 1)
		if s, why := r.stateOf("gpu0"); s != sched.Lost || !strings.Contains(why, "self-test failed") {
			t.Errorf("%s: %s", s, why)
		}
		if err := r.ReturnDevice(t.Context(), "gpu0"); err == nil || !strings.Contains(err.Error(), "device gpu0 is lost: open device anew: self-test failed") {
			t.Errorf("returned: %v", err)
		}
		d[0].OpenError = nil
		r.must(r.ReturnDevice(t.Context(), "gpu0"))
		r.proved(r.submit("porep-c2", "parts=1 n=2", engine.Options{}), "porep-c2", "parts=1 n=2", 1)
		if d[0].Proofs() != 2 {
			t.Errorf("%d proofs", d[0].Proofs())
		}
	})
}

// TestDeafDeviceIsGivenUp: a proof that hangs and does not stop when it is told to
// ends by giving up its device; nothing stays behind, and a returned device works.
func TestDeafDeviceIsGivenUp(t *testing.T) {
	for name, cancel := range map[string]bool{"hangs": false, "cancelled": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := gpus(1)
				r := start(t, d, nil)
				d[0].Next(fake.Deaf)
				id := r.submit("porep-c2", "parts=1", engine.Options{})
				if cancel {
					time.Sleep(2 * time.Second)
					_, err := r.Cancel(t.Context(), id, "asked for")
					r.must(err)
					time.Sleep(31 * time.Second)
				} else {
					r.proved(id, "porep-c2", "parts=1", 1)
					time.Sleep(time.Minute)
				}
				if s, why := r.stateOf("gpu0"); s != sched.Lost || !strings.Contains(why, "restarted") {
					t.Errorf("%s: %s", s, why)
				}
				s, err := r.Status(t.Context())
				r.must(err)
				if s.Running != 0 || s.Strays != 0 || len(d[0].Keys()) != 0 {
					t.Errorf("%d attempts run, %d strays, keys %v", s.Running, s.Strays, d[0].Keys())
				}
				r.must(r.ReturnDevice(t.Context(), "gpu0"))
				r.proved(r.submit("porep-c2", "parts=2", engine.Options{}), "porep-c2", "parts=2", 2)
				if d[0].Proofs() != 3 {
					t.Errorf("%d proofs", d[0].Proofs())
				}
				r.checkEvents()
			})
		})
	}
}
