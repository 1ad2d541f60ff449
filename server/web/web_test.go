package web

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// fake is a source whose snapshots are set.
type fake struct {
	mu   sync.Mutex
	s    Snapshot
	err  error
	asks int
}

func (f *fake) Snapshot(context.Context) (Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asks++
	return f.s, f.err
}

func (f *fake) set(change func(*Snapshot)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(&f.s)
}

const gib = 1 << 30

// busy is a daemon at work: two devices, three jobs, one failure.
func busy() Snapshot {
	at := time.Now()
	s := Snapshot{At: at, Version: "0.1.0", Uptime: 27*time.Hour + 5*time.Minute,
		Memory: []Pool{{"host memory", 96 * gib, 240 * gib, 131 * gib}, {"pinned memory", 44 * gib, 120 * gib, 44 * gib}},
		Spool:  Pool{"payloads on disk", 153 << 20, 64 * gib, 0},
		Queues: []Queue{{"porep-c2", 14, 2, 212, 1, 0}, {"snap-update", 0, 0, 18, 0, 2}, {"window-post", 0, 1, 96, 0, 0}, {"winning-post", 0, 0, 7, 0, 0}},
		Keys: []Key{{"porep-32g", "GPU-8f2c7a10-4b1e-4f0c-9a66-0d2f6c1b7e55", "loaded", 44 * gib, 0, 1},
			{"wpost-32g", "GPU-1d9e5b73-77aa-4c52-b0f3-5e8a9c2d4f10", "loading", 60 * gib, 21 * gib, 0}, {"winning-32g", "", "warm", 170 << 20, 0, 0}, {"snap-32g", "", "cold", 33 * gib, 0, 0}},
		Devices: []Device{
			{ID: "GPU-8f2c7a10-4b1e-4f0c-9a66-0d2f6c1b7e55", Name: "NVIDIA H200", State: "in-service", Work: []string{"porep-c2 partition 4 of 06b1f2m8k0q4t7xv"}, Memory: Pool{"memory", 61 * gib, 140 * gib, 74 * gib}},
			{ID: "GPU-1d9e5b73-77aa-4c52-b0f3-5e8a9c2d4f10", Name: "NVIDIA H200", State: "in-service", Reason: "waiting for a key", Memory: Pool{"memory", 64 * gib, 140 * gib, 64 * gib}},
			{ID: "cpu", Name: "AMD EPYC 9654, 96 cores", State: "in-service", Reason: "standing by"}},
	}
	s.Jobs = []Job{job1("06b1f2m8k0q4t7xv", "porep-1000-4711", "porep-c2", "normal", 95, 10, 4), job1("06b1f2nc5s8w2y6z", "wdpost-1000-0-[12 200 7 41 9 88 130 2]", "window-post", "high", 12, 1, 0),
		job1("06b1f2pj7t9x3z8b", "porep-1000-4712", "porep-c2", "normal", 41, 10, -1)}
	s.Jobs[0].Parts[2].Tries = 1
	s.MoreJobs = 13
	s.History = []Ended{
		{At: at.Add(-40 * time.Second), ID: "06b1f2jx1r4v6w9c", Kind: "winning-post", Outcome: "completed", Total: 900 * time.Millisecond, Queue: 4 * time.Millisecond, Synthesise: 310 * time.Millisecond, Prove: 402 * time.Millisecond},
		{At: at.Add(-3 * time.Minute), ID: "06b1f2hd8n2p5s7t", Kind: "porep-c2", Outcome: "completed", Total: 71 * time.Second, Queue: 2 * time.Second, Synthesise: 190 * time.Second, Prove: 14 * time.Second},
		{At: at.Add(-9 * time.Minute), ID: "06b1f2ge4m6q8r1s", Kind: "porep-c2", Outcome: "failed", Failure: "bad-input", Reason: "phase-1 output: comm_d is all zeros; the request cannot be proved and need not be sent again", Total: 400 * time.Millisecond}}
	s.Faults = []Fault{{At: at.Add(-80 * time.Second), Job: "06b1f2m8k0q4t7xv", Kind: "porep-c2", Stage: "prove", Partition: 2, Device: "GPU-1d9e5b73-77aa-4c52-b0f3-5e8a9c2d4f10", Failure: "device", Reason: "out of device memory: 3.1 GiB were asked for; tried again on another device"}}
	for i := range 60 {
		s.Minutes = append(s.Minutes, Minute{Completed: (i*7 + i/5) % 9, Failed: i / 51 % 2})
	}
	return s
}

// job1 makes a job whose partitions before at are done; -1: it waits.
func job1(id, request, kind, class string, age, parts, at int) Job {
	j := Job{ID: id, Request: request, Kind: kind, Class: class, Begun: at >= 0, Age: time.Duration(age) * time.Second}
	for k := range parts {
		p := Part{Index: k, State: "queued"}
		switch {
		case k < at:
			p.State, p.Synthesis, p.Prove = "done", 19*time.Second, 1400*time.Millisecond
		case k == at:
			p.State, p.Synthesis, p.Device = "proving", 19*time.Second, "GPU-8f2c7a10-4b1e-4f0c-9a66-0d2f6c1b7e55"
		case k < at+3 && at >= 0:
			p.State, p.Synthesis = "ready", 18*time.Second
		case k < at+5 && at >= 0:
			p.State = "making"
		}
		j.Parts = append(j.Parts, p)
	}
	return j
}

func body(t *testing.T, h http.Handler, path string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w, w.Body.String()
}

func TestPageShowsEverything(t *testing.T) {
	w, page := body(t, New(&fake{s: busy()}), "/")
	if w.Code != 200 || w.Header().Get("Content-Security-Policy") != policy {
		t.Fatalf("%d, %v", w.Code, w.Header())
	}
	for _, want := range []string{"1d 3h", "NVIDIA H200", "porep-c2 partition 4 of 06b1f2m8k0q4t7xv", "waiting for a key", "96.0 GiB of 240.0 GiB", "peak 131.0 GiB",
		"4 of 10, 1m 35s", "and 13 more that wait", "35%", "comm_d is all zeros", "out of device memory", "1m 11s", "402 ms",
		`title="partition 4: proving, on GPU-8f2c7a10-4b1e-4f0c-9a66-0d2f6c1b7e55, witness 19.0 s"`, `class="p done again"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	for path, want := range map[string]string{"/web/style.css": "text/css", "/web/app.js": "text/javascript"} {
		if w, _ := body(t, New(&fake{}), path); w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Header().Get("Content-Type"))
		}
	}
	for _, path := range []string{"/x", "/web/", "/web/page.html"} {
		if w, _ := body(t, New(&fake{}), path); w.Code != 404 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestNothingFromOutside looks at all that a browser gets.
func TestNothingFromOutside(t *testing.T) {
	h := New(&fake{s: busy()})
	outside := regexp.MustCompile(`(?i)(https?:)?//[a-z0-9]|@import|url\(|\sstyle=|<script>|\son[a-z]+=`)
	for _, path := range []string{"/", "/web/style.css", "/web/app.js"} {
		_, text := body(t, h, path)
		if path == "/web/app.js" {
			text = regexp.MustCompile(`(?m)^\s*//.*|\s//.*$`).ReplaceAllString(text, "")
		}
		if m := outside.FindString(text); m != "" {
			t.Errorf("%s: %q", path, m)
		}
	}
}

func TestTextIsNeverMarkup(t *testing.T) {
	const evil = `"><script>alert(1)</script>`
	s := busy()
	s.Jobs[0].Request, s.Jobs[0].ID, s.Jobs[0].Kind = evil, evil, evil
	s.History[0].Reason, s.Faults[0].Reason, s.Refusing = evil, evil, evil
	s.Devices[0].Name, s.Devices[0].State, s.Keys[0].ID = evil, evil, evil
	s.Jobs[0].Parts[0].State = evil
	_, page := body(t, New(&fake{s: s}), "/")
	if strings.Contains(page, "<script>alert") {
		t.Error("text became markup")
	}
	if html := failure(errors.New(evil)); strings.Contains(html, "<script>") {
		t.Error("an error became markup")
	}
}

func TestAlarms(t *testing.T) {
	_, page := body(t, New(&fake{s: Snapshot{Refusing: "the disk is full", Insecure: true}}), "/")
	for _, want := range []string{"no jobs are accepted: the disk is full", "INSECURE keys are permitted", "no device: nothing can be proved", "no jobs", "no job has ended yet"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q", want)
		}
	}
	if w, text := body(t, New(&fake{err: errors.New("the engine hangs")}), "/"); w.Code != 503 || !strings.Contains(text, "the engine hangs") {
		t.Errorf("%d %s", w.Code, text)
	}
}

// messages reads the stream.
func messages(t *testing.T, r *http.Response, n int) []map[string]string {
	t.Helper()
	var out []map[string]string
	lines := bufio.NewScanner(r.Body)
	lines.Buffer(nil, 1<<20)
	for len(out) < n && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			var m map[string]string
			if err := json.Unmarshal([]byte(data), &m); err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

func TestStreamSendsWhatChanges(t *testing.T) {
	f := &fake{s: busy()}
	server := httptest.NewServer(New(f))
	defer server.Close()
	r, err := http.Get(server.URL + "/web/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	first := messages(t, r, 1)[0]
	if len(first) != len(sections) || !strings.Contains(first["jobs"], "06b1f2m8k0q4t7xv") || r.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("first message has %d sections", len(first))
	}
	f.set(func(s *Snapshot) { s.Devices = s.Devices[:1] })
	second := messages(t, r, 1)[0]
	if len(second) != 1 || strings.Contains(second["devices"], "waiting for a key") {
		t.Errorf("second message has %v", second)
	}
}

// TestManyReadersCostOneLook: within a second the source is asked once.
func TestManyReadersCostOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{s: busy()}
		h := New(f)
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var readers sync.WaitGroup
		refused := 0
		var mu sync.Mutex
		for range maxReaders + 5 {
			readers.Go(func() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequest("GET", "/web/stream", nil).WithContext(ctx))
				mu.Lock()
				defer mu.Unlock()
				if w.Code == http.StatusServiceUnavailable {
					refused++
				}
			})
		}
		readers.Wait()
		if f.asks != 4 || refused != 5 {
			t.Errorf("%d looks, %d refused", f.asks, refused)
		}
	})
}

func TestStreamHasABeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		New(&fake{s: Snapshot{}}).ServeHTTP(w, httptest.NewRequest("GET", "/web/stream", nil).WithContext(ctx))
		if n := strings.Count(w.Body.String(), "data: "); n != 3 { // all, and two beats
			t.Errorf("%d messages", n)
		}
	})
}

// fakeEngine answers as an engine does.
type fakeEngine struct {
	status engine.Status
	jobs   []engine.JobStatus
	err    error
}

func (f fakeEngine) Status(context.Context) (engine.Status, error)    { return f.status, f.err }
func (f fakeEngine) Jobs(context.Context) ([]engine.JobStatus, error) { return f.jobs, f.err }

func TestLive(t *testing.T) {
	var e fakeEngine
	e.status.Uptime, e.status.SpoolLimit = time.Minute, 100
	e.status.Host = budget.Pool{Limit: 10, Used: 3, Peak: 5}
	e.status.Devices = []sched.DeviceView{{Device: sched.Device{ID: "gpu0", Name: "card"}, State: sched.InService, Work: []sched.Running{{Job: "a", Partition: 3}}}}
	e.status.KindOf = map[string]string{"a": "porep-c2"}
	e.status.Known = []engine.Key{{ID: "porep-32g", Bytes: 44, Tier: "cold"}, {ID: "snap-32g", Bytes: 33, Tier: "missing"}}
	e.status.View.Keys = []sched.KeyView{{Key: "porep-32g", Device: "gpu0", State: "loading"}}
	e.status.Kinds = []engine.KindStatus{{Name: "porep-c2", Pending: 1, Totals: engine.Totals{Failed: 1, TimedOut: 2}}}
	for i := range maxJobs + 7 {
		e.jobs = append(e.jobs, engine.JobStatus{Job: job.Job{ID: fmt.Sprintf("j%03d", i), Class: job.Normal}, Begun: i == maxJobs,
			Partitions: []engine.Partition{{PartView: sched.PartView{State: "done", Tries: 1}, Prove: time.Second}}})
	}
	l := NewLive(e, About{Version: "v"})
	now := time.Now()
	l.Take(event.Record{Type: event.KeyProgress, Key: "porep-32g", Device: "gpu0", Done: 11, Bytes: 44})
	l.Take(event.Record{Type: event.JobEnded, At: now, Job: "x", Outcome: "completed"})
	l.Take(event.Record{Type: event.JobEnded, At: now, Job: "y", Outcome: "failed", Failure: "device", Reason: "gone"})
	l.Take(event.Record{Type: event.StageEnded, At: now, Job: "y", Partition: event.At(0), Stage: event.Prove, Failure: "device", Reason: "gone"})
	l.Take(event.Record{Type: event.StageEnded, At: now, Job: "y", Stage: event.Prove, Failure: "cancelled"})
	for range maxHistory {
		l.Take(event.Record{Type: event.JobEnded, At: now.Add(-2 * time.Hour), Outcome: "completed"})
	}
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Jobs) != maxJobs || s.MoreJobs != 7 || s.Jobs[0].ID != "j060" || s.Jobs[0].Done() != 1 || s.Jobs[0].Parts[0].Tries != 1 {
		t.Errorf("%d jobs, %d more, first %+v", len(s.Jobs), s.MoreJobs, s.Jobs[0])
	}
	if d := s.Devices[0]; d.Work[0] != "porep-c2 partition 3 of a" || d.Name != "card" {
		t.Errorf("%+v", d)
	}
	if len(s.Keys) != 2 || s.Keys[0] != (Key{ID: "porep-32g", Device: "gpu0", State: "loading", Bytes: 44, Done: 11}) || s.Keys[1].State != "missing" {
		t.Errorf("%+v", s.Keys)
	}
	if len(s.History) != maxHistory || len(s.Faults) != 1 || s.Faults[0].Partition != 0 || s.Queues[0].Failed != 3 {
		t.Errorf("%d ended, faults %+v, queues %+v", len(s.History), s.Faults, s.Queues)
	}
	if m := s.Minutes; len(m) != minutes || m[minutes-1].Completed+m[minutes-2].Completed != 1 || m[minutes-1].Failed+m[minutes-2].Failed != 1 {
		t.Errorf("last minutes %+v", m[minutes-2:])
	}
	if w, _ := body(t, New(l), "/"); w.Code != 200 {
		t.Errorf("page: %d", w.Code)
	}
	e.err = engine.ErrStopping
	if _, err := NewLive(e, About{}).Snapshot(t.Context()); !errors.Is(err, engine.ErrStopping) {
		t.Errorf("got %v", err)
	}
}

func TestTimesForPeople(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "0s", 7 * time.Second: "7s", 200 * time.Second: "3m 20s", 7500 * time.Second: "2h 5m", 97 * time.Hour: "4d 1h"} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{0: "", 402 * time.Millisecond: "402 ms", 1400 * time.Millisecond: "1.4 s", 71 * time.Second: "1m 11s"} {
		if got := span(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
}
