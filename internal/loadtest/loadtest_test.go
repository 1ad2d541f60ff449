package loadtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/client"
)

// stub is a daemon with one device that takes a second a proof. Its faults are
// those that a measurement must find.
type stub struct {
	mu      sync.Mutex
	device  chan struct{}       // has a place for one
	jobs    map[string]*stubJob // by request id, which is the job's
	lies    bool                // proofs are wrong
	forgets bool                // jobs of killed clients fail
	lenient bool                // half a payload is proved
	stuck   bool                // cancelled jobs have proofs
	away    bool
	unfair  bool // critical jobs wait like others
}

type stubJob struct {
	done      chan struct{}
	cancelled bool
	waited    time.Duration
	failed    string
}

const payload = "0123456789"

func (s *stub) job(m *cuzkv1.SubmitProofRequest) *stubJob {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j := s.jobs[m.RequestId]; j != nil {
		if s.forgets {
			return &stubJob{done: closed(), failed: "storage: the payload is gone"}
		}
		return j
	}
	j := &stubJob{done: make(chan struct{})}
	s.jobs[m.RequestId] = j
	if len(m.VanillaProofs[0]) < len(payload) && !s.lenient {
		j.failed = "bad-input: too short"
		close(j.done)
		return j
	}
	go s.work(j, m.Priority == classCritical && !s.unfair)
	return j
}

// end is called with the lock held.
func (j *stubJob) end() {
	select {
	case <-j.done:
	default:
		close(j.done)
	}
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (s *stub) work(j *stubJob, first bool) {
	start := time.Now()
	if !first {
		s.device <- struct{}{}
		defer func() { <-s.device }()
	}
	s.mu.Lock()
	j.waited = time.Since(start)
	dead := j.cancelled && !s.stuck
	s.mu.Unlock()
	if !dead {
		time.Sleep(time.Second)
		s.mu.Lock()
		defer s.mu.Unlock()
		j.end()
	}
}

func (s *stub) answer(ctx context.Context, id string, j *stubJob) (client.Result, error) {
	select {
	case <-j.done:
	case <-ctx.Done():
		return client.Result{}, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case j.failed != "":
		class, text, _ := strings.Cut(j.failed, ": ")
		return client.Result{}, &client.Failed{Job: id, Status: cuzkv1.AwaitProofResponse_FAILED, Class: class, Message: text}
	case j.cancelled && !s.stuck:
		return client.Result{}, &client.Failed{Job: id, Status: cuzkv1.AwaitProofResponse_CANCELLED}
	}
	proof := []byte("good")
	if s.lies {
		proof = []byte("evil")
	}
	return client.Result{Job: id, Proof: proof, Queue: j.waited, Prove: time.Second, Total: j.waited + time.Second}, nil
}

func (s *stub) Prove(ctx context.Context, m *cuzkv1.SubmitProofRequest) (client.Result, error) {
	return s.answer(ctx, m.RequestId, s.job(m))
}

func (s *stub) Submit(_ context.Context, m *cuzkv1.SubmitProofRequest) (string, error) {
	s.job(m)
	return m.RequestId, nil
}

func (s *stub) Await(ctx context.Context, id string, _ time.Duration) (client.Result, error) {
	s.mu.Lock()
	j := s.jobs[id]
	s.mu.Unlock()
	return s.answer(ctx, id, j)
}

func (s *stub) Cancel(_ context.Context, id string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[id]
	select {
	case <-j.done:
		return false, nil
	default:
	}
	j.cancelled = true
	if !s.stuck {
		j.end()
	}
	return true, nil
}

func (s *stub) Status(context.Context) error {
	if s.away {
		return errors.New("nobody is there")
	}
	time.Sleep(3 * time.Millisecond)
	return nil
}

func (s *stub) Metrics(context.Context) (string, error) {
	return "# HELP x\nprocess_resident_memory_bytes 1.048576e+06\ncuzk_build_info{commit=\"abc\",version=\"1.2\"} 1\n", nil
}

// hung is a connection to a stub that can break.
type hung struct {
	*stub
	ctx context.Context
}

func (h hung) Prove(_ context.Context, m *cuzkv1.SubmitProofRequest) (client.Result, error) {
	return h.stub.Prove(h.ctx, m)
}

func (s *stub) dial() (Daemon, func(), error) {
	ctx, hangUp := context.WithCancel(context.Background())
	return hung{s, ctx}, hangUp, nil
}

func config(s *stub) Config {
	s.jobs, s.device = map[string]*stubJob{}, make(chan struct{}, 1)
	return Config{Daemon: s, Look: 100 * time.Millisecond, Cases: []Case{{Name: "winning-2KiB", Partitions: 1,
		Request: &cuzkv1.SubmitProofRequest{VanillaProofs: [][]byte{[]byte(payload)}},
		Check: func(p []byte) error {
			if string(p) != "good" {
				return fmt.Errorf("proof %q", p)
			}
			return nil
		}}}}
}

func TestBatchCountsAndTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(&stub{})
		c.Count, c.Concurrency = 6, 2
		r, err := Batch(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Counts != (Counts{Sent: 7, Proved: 7, Verified: 7}) {
			t.Errorf("%+v", r.Counts)
		}
		if r.Wall < 6 || r.Wall > 6.1 || int(r.PerHour) < 3540 || int(r.PerHour) > 3600 || len(r.Rows) != 1 || len(r.First) != 1 {
			t.Errorf("%+v", r)
		}
		if q := r.Rows[0].Total; q.N != 6 || q.Min != 1 || q.Max != 2 || q.Median != 2 {
			t.Errorf("total %+v", q)
		}
		if r.Status.N < 30 || r.Status.Median != 0.003 || r.Memory.Most != 1<<20 {
			t.Errorf("status %+v, memory %+v", r.Status, r.Memory)
		}
	})
}

func TestBatchSaysWhoIsNotThere(t *testing.T) {
	if _, err := Batch(t.Context(), config(&stub{away: true})); err == nil || err.Error() != "nobody is there" {
		t.Errorf("got %v", err)
	}
	if _, err := Batch(t.Context(), Config{Daemon: &stub{}}); err == nil {
		t.Error("measured nothing")
	}
}

func TestWrongProofIsAProblem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := config(&stub{lies: true})
		c.Count = 2
		r, err := Batch(t.Context(), c)
		if err != nil || r.Counts.Problems != 3 || r.Counts.Verified != 0 || !strings.Contains(r.Problems[0], `does not verify: proof "evil"`) {
			t.Errorf("%v, %+v", err, r)
		}
	})
}

// TestStressFindsWhatIsLost: a daemon without faults has no problems, each fault
// is found.
func TestStressFindsWhatIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		daemon *stub
		want   string // in the first problem
	}{
		"good":    {&stub{}, ""},
		"lies":    {&stub{lies: true}, "does not verify"},
		"forgets": {&stub{forgets: true}, "whose client was killed"},
		"lenient": {&stub{lenient: true}, "half a payload was not refused"},
		"stuck":   {&stub{stuck: true}, "the daemon said that it was running: true; then <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := c.daemon
				r, err := Stress(t.Context(), func() Config { c := config(s); c.Concurrency = 4; return c }(),
					Faults{For: time.Minute, Seed: 1, Cancel: 15, Wrong: 15, Kill: 15, Dial: s.dial})
				if err != nil {
					t.Fatal(err)
				}
				n := r.Counts
				if n.Sent != n.Proved+n.Failed+n.Cancelled+n.Wrong {
					t.Errorf("does not add up: %+v", n)
				}
				if c.want == "" && (n.Problems > 0 || n.Cancelled == 0 || n.Wrong == 0 || n.Left == 0 || n.Verified != n.Proved) {
					t.Errorf("%+v, %v", n, r.Problems)
				}
				if c.want != "" && (n.Problems == 0 || !strings.Contains(r.Problems[0], c.want)) {
					t.Errorf("%+v, %v", n, r.Problems)
				}
			})
		})
	}
}

func TestQueueComparesWaits(t *testing.T) {
	for _, unfair := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &stub{unfair: unfair}
			c := config(s)
			r, err := Queue(t.Context(), c, Jam{Fill: 10, Critical: c.Cases[0], Probes: 2, Every: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			k := r.Critical
			if k.Passed == 0 || k.Within == unfair || k.Partition != 1 || unfair == (k.Worst < 2) {
				t.Errorf("unfair %v: %+v", unfair, k)
			}
			if n := r.Counts; n.Sent != n.Proved || len(r.Rows) != 2 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestQuantiles(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i)*time.Second)
	}
	if q := Quantile(times); q != (Quantiles{100, 50, 90, 99, 1, 100}) {
		t.Errorf("%+v", q)
	}
	if q := Quantile(times[:1]); q != (Quantiles{1, 100, 100, 100, 100, 100}) {
		t.Errorf("%+v", q)
	}
	if q := Quantile(nil); q != (Quantiles{}) {
		t.Errorf("%+v", q)
	}
}

func TestMetricsAreRead(t *testing.T) {
	const text = "# TYPE a gauge\na_total 1\na{x=\"y z\"} 2.5 1700000000\nb\nc x\n" +
		"cuzk_build_info{commit=\"abc\",go=\"go1\",version=\"1.2.3\"} 1\n"
	if n, ok := Metric(text, "a"); !ok || n != 2.5 {
		t.Errorf("%v, %v", n, ok)
	}
	for _, name := range []string{"b", "c", "d"} {
		if n, ok := Metric(text, name); ok {
			t.Errorf("%s is %v", name, n)
		}
	}
	if v, c := Program(text); v != "1.2.3" || c != "abc" {
		t.Errorf("%s, %s", v, c)
	}
	if v, c := Program("cuzk_build_info 1\n"); v != "" || c != "" {
		t.Errorf("%s, %s", v, c)
	}
}

func FuzzMetric(f *testing.F) {
	f.Add("process_resident_memory_bytes 1e6\n")
	f.Add("process_resident_memory_bytes{a=\"}\"} 1\ncuzk_build_info{version=\"\"} 1")
	f.Fuzz(func(_ *testing.T, text string) {
		Metric(text, "process_resident_memory_bytes")
		Program(text)
	})
}
