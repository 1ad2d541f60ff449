package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
	"cuzk/job/sqlstore"
)

// rig is an engine with fakes on a state directory.
type rig struct {
	*engine.Engine
	t     *testing.T
	dir   string
	cfg   engine.Config
	kinds []*fake.Kind
	store *sqlstore.Store
	hub   *event.Hub
}

// start makes an engine with the devices on a new state directory. change may
// alter its configuration.
func start(t *testing.T, devices []*fake.Device, change func(*engine.Config)) *rig {
	r := &rig{t: t, dir: t.TempDir()}
	r.boot(devices, change)
	return r
}

func (r *rig) boot(devices []*fake.Device, change func(*engine.Config)) {
	r.t.Helper()
	r.kinds = fake.Kinds(time.Second)
	r.hub = event.NewHub(100000)
	r.cfg = engine.Config{
		Sched: sched.Config{Making: 2, CPU: sched.CPUFallback, MaxAttempts: 3, HangFactor: 10, HangFloor: 5 * time.Second, HangUnknown: 5 * time.Minute, StopLimit: 30 * time.Second, AgeStep: time.Hour},
		Host:  64 * budget.GiB, Kinds: fake.Engines(r.kinds), Keys: fake.Keys(r.kinds), Events: r.hub,
	}
	for _, d := range devices {
		r.cfg.Devices = append(r.cfg.Devices, d)
	}
	var err error
	r.store, err = sqlstore.Open(r.t.Context(), filepath.Join(r.dir, "jobs.db"))
	r.must(err)
	r.cfg.Store = r.store
	live, err := r.store.Live(r.t.Context())
	r.must(err)
	var keep []job.Digest
	for _, j := range live {
		keep = append(keep, j.Digest)
	}
	r.cfg.Spool, err = job.OpenSpool(filepath.Join(r.dir, "payloads"), 0, keep)
	r.must(err)
	if change != nil {
		change(&r.cfg)
	}
	r.Engine, err = engine.New(r.t.Context(), r.cfg)
	r.must(err)
	r.t.Cleanup(func() { r.stop() })
}

// stop ends the engine and its store, once.
func (r *rig) stop() {
	if r.Engine == nil {
		return
	}
	for _, d := range r.cfg.Devices {
		d.(*fake.Device).Release()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r.must(r.Close(ctx))
	r.must(r.store.Close())
	r.Engine = nil
	for _, k := range r.kinds {
		if k.Opened.Load() != 0 || k.Witnesses.Load() != 0 {
			r.t.Errorf("%s: %d requests and %d witnesses left behind", k.ID, k.Opened.Load(), k.Witnesses.Load())
		}
	}
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func request(kind, orders string) *job.Request {
	return &job.Request{Kind: kind, SectorSize: 32 << 30, VanillaProof: []byte("fake: " + orders)}
}

func (r *rig) submit(kind, orders string, o engine.Options) string {
	r.t.Helper()
	a, err := r.Submit(r.t.Context(), request(kind, orders), o)
	r.must(err)
	return a.ID
}

func (r *rig) wait(id string) job.Job {
	r.t.Helper()
	j, err := r.Wait(r.t.Context(), id)
	r.must(err)
	return j
}

// ends waits for a job and checks how it ended.
func (r *rig) ends(id string, s job.State, f job.Failure) job.Job {
	r.t.Helper()
	j := r.wait(id)
	if j.State != s || j.Result.Failure != f {
		r.t.Fatalf("job ended %s %s: %s, want %s %s", j.State, j.Result.Failure, j.Result.Message, s, f)
	}
	return j
}

func (r *rig) proved(id, kind, orders string, parts int) job.Job {
	r.t.Helper()
	j := r.ends(id, job.Completed, "")
	if !fake.Valid(request(kind, orders), parts, j.Result.Proof) {
		r.t.Fatalf("proof of %d bytes is not the one of the request", len(j.Result.Proof))
	}
	return j
}

func gpus(n int) []*fake.Device {
	var out []*fake.Device
	for i := range n {
		out = append(out, fake.GPU(fmt.Sprintf("gpu%d", i), 80*budget.GiB, time.Second))
	}
	return append(out, fake.CPU(20*time.Second))
}

func TestEveryKindIsProved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(2), nil)
		parts := map[string]int{"porep-c2": 10, "snap-update": 16, "window-post": 1, "winning-post": 1}
		ids := map[string]string{}
		for kind := range parts {
			ids[kind] = r.submit(kind, "", engine.Options{RequestID: kind})
		}
		for kind, n := range parts {
			j := r.proved(ids[kind], kind, "", n)
			tm := j.Result.Times
			if tm.Prove < time.Duration(n)*time.Second || tm.Synthesise <= 0 || tm.Total < tm.Queue {
				t.Errorf("%s: times %+v", kind, tm)
			}
		}
		r.checkEvents()
	})
}

// checkEvents holds the stream of events to its promises.
func (r *rig) checkEvents() {
	r.t.Helper()
	synctest.Wait()
	open, inside, ended := map[string]int{}, map[string]string{}, map[string]int{}
	for _, rec := range r.hub.Recent() {
		k := fmt.Sprint(rec.Job, rec.Partition, rec.Attempt, rec.Stage, rec.Device)
		switch rec.Type {
		case event.StageBegan:
			open[k]++
		case event.StageEnded:
			open[k]--
		case event.RegionIn:
			if inside[rec.Device] != "" {
				r.t.Errorf("%s entered %s, %s is inside", k, rec.Device, inside[rec.Device])
			}
			inside[rec.Device] = k
		case event.RegionOut:
			inside[rec.Device] = ""
		case event.JobEnded:
			ended[rec.Job]++
		}
	}
	for k, n := range open {
		if n != 0 {
			r.t.Errorf("stage %s has %d beginnings without end", k, n)
		}
	}
	for id, n := range ended {
		if n != 1 {
			r.t.Errorf("job %s ended %d times", id, n)
		}
	}
}

func TestSameRequestIsOneJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		o := engine.Options{RequestID: "wdpost-1000-0-[1 2 3]"}
		first := r.submit("window-post", "a", o)
		a, err := r.Submit(t.Context(), request("window-post", "a"), o)
		r.must(err)
		if a.ID != first || !a.Joined {
			t.Fatalf("%+v did not join %s", a, first)
		}
		other := r.submit("window-post", "b", o) // another partition under the same id
		if other == first {
			t.Fatal("other content joined")
		}
		r.proved(first, "window-post", "a", 1)
		r.proved(other, "window-post", "b", 1)
		again := r.submit("window-post", "a", o)
		if again != first {
			t.Fatalf("a finished proof was made again as %s", again)
		}
		r.proved(again, "window-post", "a", 1)
	})
}

func TestJoinRaisesTheClass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		id := r.submit("porep-c2", "", engine.Options{RequestID: "r", Class: job.Low})
		r.submit("porep-c2", "", engine.Options{RequestID: "r", Class: job.High})
		synctest.Wait()
		if s, err := r.Job(t.Context(), id); err != nil || s.Class != job.High {
			t.Fatalf("class %v, %v", s.Class, err)
		}
		if j, err := r.store.Get(t.Context(), id); err != nil || j.Class != job.High {
			t.Fatalf("stored class %v, %v", j.Class, err)
		}
	})
}

func TestRequestsThatMustFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		for orders, want := range map[string]job.Failure{
			"bad": job.BadInput, "unsatisfied=3": job.Unsatisfied, "panic=0": job.Panicked, "parts=0": job.BadInput,
		} {
			j := r.ends(r.submit("porep-c2", orders, engine.Options{RequestID: "r"}), job.Failed, want)
			if j.Result.Message == "" || strings.Contains(j.Result.Message, "\n") {
				t.Errorf("%s: message %q", orders, j.Result.Message)
			}
		}
		r.ends(r.submit("porep-c2", "bad", engine.Options{RequestID: "r"}), job.Failed, job.BadInput)
		if _, err := r.Submit(t.Context(), request("unknown", ""), engine.Options{}); !errors.Is(err, engine.ErrKind) {
			t.Fatalf("unknown kind: %v", err)
		}
		if used, _ := r.cfg.Spool.Usage(); used != 0 {
			t.Fatalf("%d bytes of payloads stay", used)
		}
		r.checkEvents()
	})
}

func TestWhatNeverFitsIsRefusedWithNumbers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small := fake.GPU("gpu0", 16*budget.GiB, time.Second)
		r := start(t, []*fake.Device{small}, nil)
		_, err := r.Submit(t.Context(), request("porep-c2", ""), engine.Options{})
		var imp *budget.Impossible
		if !errors.As(err, &imp) || imp.Limit != 16*budget.GiB || imp.Need != 57*budget.GiB {
			t.Fatalf("got %v", err)
		}
		r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
	})
}

func TestLyingDeviceIsFoundAndReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(2)
		r := start(t, d, nil)
		d[0].Next(fake.Lie)
		r.proved(r.submit("porep-c2", "", engine.Options{}), "porep-c2", "", 10)
		s, err := r.Status(t.Context())
		r.must(err)
		if s.Devices[1].ID != "gpu0" || s.Devices[1].State != sched.Quarantined || !strings.Contains(s.Devices[1].Reason, "bad proof") {
			t.Fatalf("devices %+v", s.Devices)
		}
		r.must(r.ReturnDevice(t.Context(), "gpu0"))
		if s, _ = r.Status(t.Context()); s.Devices[1].State != sched.InService {
			t.Fatalf("device was not returned: %+v", s.Devices[1])
		}
		if err := r.ReturnDevice(t.Context(), "gpu7"); !errors.Is(err, engine.ErrDevice) {
			t.Fatalf("unknown device: %v", err)
		}
	})
}

func TestFaultyDevicesDoNotLoseJobs(t *testing.T) {
	for _, f := range []fake.Fault{fake.Break, fake.Lie, fake.Hang, fake.Deaf, fake.Vanish, fake.Sticky, fake.Panic} {
		t.Run(string(f), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := gpus(1)
				r := start(t, d, nil)
				r.proved(r.submit("porep-c2", "parts=2", engine.Options{}), "porep-c2", "parts=2", 2) // learns usual times
				d[0].Next(f)
				r.proved(r.submit("porep-c2", "parts=3", engine.Options{}), "porep-c2", "parts=3", 3)
				d[0].Release()
				time.Sleep(time.Minute)
				s, err := r.Status(t.Context())
				r.must(err)
				if s.Running != 0 || s.Strays != 0 {
					t.Fatalf("%d attempts still run, %d strays", s.Running, s.Strays)
				}
				r.checkEvents()
			})
		})
	}
}

func TestCancelAtEveryStage(t *testing.T) {
	for name, after := range map[string]time.Duration{"queue": 0, "witness": 100 * time.Millisecond, "proof": 500 * time.Millisecond, "check": 1255 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, gpus(1), nil)
				r.must(func() error { _, err := r.Preload(t.Context(), "porep-32g"); return err }())
				id := r.submit("porep-c2", "parts=1", engine.Options{RequestID: "r"})
				time.Sleep(after)
				began := time.Now()
				if was, err := r.Cancel(t.Context(), id, "asked for"); err != nil || !was {
					t.Fatalf("cancelled %v, %v", was, err)
				}
				r.ends(id, job.Cancelled, job.Stopped)
				if time.Since(began) > time.Millisecond {
					t.Fatalf("took %v", time.Since(began))
				}
				if was, err := r.Cancel(t.Context(), id, "again"); err != nil || was {
					t.Fatalf("cancelled twice: %v, %v", was, err)
				}
				r.proved(r.submit("porep-c2", "parts=1", engine.Options{RequestID: "r"}), "porep-c2", "parts=1", 1)
				r.checkEvents()
			})
		})
	}
}

// TestCancelWhileTheKeyIsLoaded: the job ends at once, the load goes on, and the
// key is there for the next.
func TestCancelWhileTheKeyIsLoaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		d[0].LoadTime = time.Minute
		r := start(t, d, nil)
		id := r.submit("porep-c2", "parts=1", engine.Options{})
		time.Sleep(30 * time.Second)
		if was, err := r.Cancel(t.Context(), id, "asked for"); err != nil || !was {
			t.Fatalf("cancelled %v, %v", was, err)
		}
		r.ends(id, job.Cancelled, job.Stopped)
		began := time.Now()
		r.proved(r.submit("porep-c2", "parts=1", engine.Options{}), "porep-c2", "parts=1", 1)
		if took := time.Since(began); took > 35*time.Second {
			t.Errorf("the key was loaded again: %v", took)
		}
		r.checkEvents()
	})
}

// TestCancelBeforeAJobIsRecalled: it is cancelled while its payload is being read
// after a restart.
func TestCancelBeforeAJobIsRecalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		first := r.submit("porep-c2", "first", engine.Options{})
		second := r.submit("porep-c2", "second", engine.Options{})
		r.stop()
		r.boot(gpus(1), func(c *engine.Config) { c.Kinds[0].(*fake.Kind).Decode = time.Minute })
		if was, err := r.Cancel(t.Context(), second, "asked for"); err != nil || !was {
			t.Fatalf("cancelled %v, %v", was, err)
		}
		r.ends(second, job.Cancelled, job.Stopped)
		r.proved(first, "porep-c2", "first", 10)
		if used, _ := r.cfg.Spool.Usage(); used != 0 {
			t.Errorf("%d bytes of payloads stay", used)
		}
	})
}

func TestCancelUnknownJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, nil)
		if _, err := r.Cancel(t.Context(), "nobody", ""); !errors.Is(err, job.ErrNotFound) {
			t.Fatal(err)
		}
		if _, err := r.Wait(t.Context(), "nobody"); !errors.Is(err, job.ErrNotFound) {
			t.Fatal(err)
		}
	})
}

func TestDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		id := r.submit("porep-c2", "", engine.Options{Deadline: time.Now().Add(5 * time.Second)})
		j := r.ends(id, job.TimedOut, job.Overdue)
		if j.Result.Times.Total != 5*time.Second || !strings.Contains(j.Result.Message, "of 10 partitions") {
			t.Fatalf("after %v: %s", j.Result.Times.Total, j.Result.Message)
		}
	})
}

func TestAbandonedJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		id := r.submit("porep-c2", "", engine.Options{})
		ctx, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		go func() { _, _ = r.Wait(t.Context(), id) }()
		if _, err := r.Wait(ctx, id); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		r.Abandon(id) // another waits
		r.proved(id, "porep-c2", "", 10)
		id = r.submit("porep-c2", "again", engine.Options{})
		r.Abandon(id)
		r.ends(id, job.Cancelled, job.Stopped)
	})
}

func TestCriticalWaitsForOnePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		for _, key := range []string{"porep-32g", "winning-32g"} {
			_, err := r.Preload(t.Context(), key)
			r.must(err)
		}
		for i := range 20 {
			r.submit("porep-c2", fmt.Sprint("n=", i), engine.Options{})
		}
		time.Sleep(30 * time.Second) // all queues are full
		j := r.proved(r.submit("winning-post", "", engine.Options{}), "winning-post", "", 1)
		// Its own 20 ms, one second of its proof, 10 ms of check, and at most one partition.
		if got := j.Result.Times.Total; got > 2040*time.Millisecond {
			t.Fatalf("took %v", got)
		}
	})
}

func TestRestartGoesOnWithMissingPartitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := gpus(1)
		r := start(t, d, nil)
		id := r.submit("porep-c2", "", engine.Options{RequestID: "r"})
		other := r.submit("winning-post", "", engine.Options{RequestID: "w"})
		r.proved(other, "winning-post", "", 1)
		time.Sleep(5500 * time.Millisecond)
		waited := make(chan error)
		go func() { _, err := r.Engine.Wait(t.Context(), id); waited <- err }()
		synctest.Wait()
		old := r.Engine
		r.stop()
		if err := <-waited; !errors.Is(err, engine.ErrStopping) {
			t.Fatalf("waiter got %v", err)
		}
		if _, err := old.Submit(t.Context(), request("porep-c2", ""), engine.Options{}); !errors.Is(err, engine.ErrStopping) {
			t.Fatalf("submit to a closed engine: %v", err)
		}
		before := d[0].Proofs()
		d = gpus(1)
		r.boot(d, nil)
		again := r.submit("porep-c2", "", engine.Options{RequestID: "r"})
		if again != id {
			t.Fatalf("a retry after the restart made job %s", again)
		}
		r.proved(id, "porep-c2", "", 10)
		if got := before + d[0].Proofs(); got > 12 { // 11 needed, one was cut off
			t.Fatalf("%d proofs were made", got)
		}
		r.proved(r.submit("winning-post", "", engine.Options{RequestID: "w"}), "winning-post", "", 1)
	})
}

func TestSpoiledPayloadFailsItsJobOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, nil, func(c *engine.Config) { c.Devices = append(c.Devices, fake.CPU(time.Second)) })
		spoiled := r.submit("porep-c2", "spoiled", engine.Options{})
		lost := r.submit("porep-c2", "lost", engine.Options{})
		fine := r.submit("porep-c2", "fine", engine.Options{})
		r.stop()
		path := func(orders string) string {
			return filepath.Join(r.dir, "payloads", request("porep-c2", orders).Digest().String())
		}
		raw, err := os.ReadFile(path("spoiled"))
		r.must(err)
		raw[len(raw)-1] ^= 1
		r.must(os.WriteFile(path("spoiled"), raw, 0o600))
		r.must(os.Remove(path("lost")))
		r.boot([]*fake.Device{fake.CPU(time.Second)}, nil)
		r.ends(spoiled, job.Failed, job.Storage)
		r.ends(lost, job.Failed, job.Storage)
		r.proved(fine, "porep-c2", "fine", 10)
	})
}

func TestRecalledJobsCanBeCancelledAndRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), nil)
		big := r.submit("porep-c2", "", engine.Options{Deadline: time.Now().Add(time.Hour)})
		r.stop()
		r.boot([]*fake.Device{fake.GPU("gpu0", budget.GiB, time.Second)}, nil)
		j := r.ends(big, job.Failed, job.NoMemory)
		if !strings.Contains(j.Result.Message, "the limit is 1GiB") {
			t.Fatal(j.Result.Message)
		}
	})
}

func TestDrainFinishesWhatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, gpus(1), func(c *engine.Config) { c.Sched.Making = 1; c.Sched.Ahead = 1 })
		first := r.submit("porep-c2", "first", engine.Options{})
		second := r.submit("porep-c2", "second", engine.Options{})
		go func() { _, _ = r.Wait(t.Context(), first) }()
		time.Sleep(time.Second)
		r.must(r.Drain(t.Context()))
		r.proved(first, "porep-c2", "first", 10)
		if _, err := r.Submit(t.Context(), request("porep-c2", "late"), engine.Options{}); !errors.Is(err, engine.ErrStopping) {
			t.Fatalf("accepted while draining: %v", err)
		}
		r.stop()
		r.boot(gpus(1), nil)
		r.proved(second, "porep-c2", "second", 10)
	})
}
