package telemetry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cuzk/event"
)

var at = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

// story is one job from its request to its end, and things around it.
func story() []event.Record {
	const gpu = "GPU-aaaa"
	s := []event.Record{
		{Type: event.DaemonStarted},
		{Type: event.DeviceState, Device: gpu, Name: "H200", State: "in-service"},
		{Type: event.JobAccepted, Job: "j1", Request: "porep-1000-1", Kind: "porep-c2", Class: "normal", Partitions: 10, Bytes: 51e6},
		{Type: event.JobJoined, Job: "j1", Request: "porep-1000-1"},
		{Type: event.KeyLoading, Key: "porep-32g", Device: gpu, Bytes: 40e9},
		{Type: event.KeyProgress, Key: "porep-32g", Device: gpu, Done: 10e9, Bytes: 40e9, Took: 5 * time.Second},
		{Type: event.KeyReady, Key: "porep-32g", Device: gpu, Bytes: 40e9, Took: 20 * time.Second},
		{Type: event.StageBegan, Job: "j1", Kind: "porep-c2", Partition: event.At(0), Attempt: 1, Stage: event.Prove, Device: gpu},
		{Type: event.RegionIn, Device: gpu, Region: "prove", Job: "j1", Partition: event.At(0), Wait: 250 * time.Millisecond},
		{Type: event.RegionOut, Device: gpu, Region: "prove", Job: "j1", Partition: event.At(0), Took: 2 * time.Second},
		{Type: event.StageEnded, Job: "j1", Kind: "porep-c2", Partition: event.At(0), Attempt: 1, Stage: event.Prove, Device: gpu, Took: 3 * time.Second},
		{Type: event.StageEnded, Job: "j1", Kind: "porep-c2", Partition: event.At(1), Attempt: 2, Stage: event.Check, Failure: "self-check", Reason: "the proof does not verify"},
		{Type: event.DeviceState, Device: gpu, State: "quarantined", Reason: "made a bad proof"},
		{Type: event.JobEnded, Job: "j1", Request: "porep-1000-1", Kind: "porep-c2", Outcome: "completed", Took: 40 * time.Second,
			Times: event.Times{Queue: time.Second, Key: 2 * time.Second, Synthesise: 30 * time.Second, Prove: 20 * time.Second, Check: time.Second / 2, Total: 40 * time.Second}},
		{Type: event.JobRefused, Request: "wdpost-1", Kind: "window-post", Reason: "needs 80GiB of host memory, the limit is 64GiB"},
		{Type: event.JobEnded, Job: "j2", Kind: "snap-update", Outcome: "failed", Failure: "bad-input", Reason: "proof 3: too short", Times: event.Times{Total: time.Second}},
		{Type: event.JobEnded, Job: "j3", Kind: "snap-update", Outcome: "cancelled", Failure: "cancelled", Reason: "somebody asked for it"},
		{Type: event.StoreFailed, Reason: "disk full"},
	}
	for i := range s {
		s[i].Seq, s[i].At = uint64(i+1), at.Add(time.Duration(i)*time.Second)
	}
	return s
}

// lines logs the story in a format and level.
func lines(t *testing.T, format, level string) []string {
	t.Helper()
	var b bytes.Buffer
	h, err := NewHandler(&b, format, level, Place{})
	if err != nil {
		t.Fatal(err)
	}
	l := NewLogs(slog.New(h))
	for _, r := range story() {
		l.Take(r)
	}
	return strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
}

// TestLines is what an operator reads.
func TestLines(t *testing.T) {
	want := []string{
		`<6>msg="daemon started"`,
		`<6>msg="device is in service" device=GPU-aaaa name=H200 state=in-service`,
		`<6>msg="job accepted" job=j1 request=porep-1000-1 kind=porep-c2 class=normal partitions=10 bytes=51000000`,
		`<6>msg="request joined a job" job=j1 request=porep-1000-1`,
		`<6>msg="key is loading" key=porep-32g device=GPU-aaaa bytes=40000000000`,
		`<6>msg="key is ready" key=porep-32g device=GPU-aaaa bytes=40000000000 took=20s`,
		`<4>msg="stage failed" job=j1 kind=porep-c2 partition=1 attempt=2 stage=check failure=self-check reason="the proof does not verify"`,
		`<3>msg="device left service" device=GPU-aaaa state=quarantined reason="made a bad proof"`,
		`<6>msg="job ended" job=j1 request=porep-1000-1 kind=porep-c2 outcome=completed total=40s queue=1s key=2s synthesise=30s prove=20s check=500ms`,
		`<4>msg="job refused" request=wdpost-1 kind=window-post reason="needs 80GiB of host memory, the limit is 64GiB"`,
		`<3>msg="job ended" job=j2 kind=snap-update outcome=failed failure=bad-input reason="proof 3: too short" total=1s`,
		`<4>msg="job ended" job=j3 kind=snap-update outcome=cancelled failure=cancelled reason="somebody asked for it"`,
		`<3>msg="job store cannot be written; new jobs are refused" reason="disk full"`,
	}
	got := lines(t, Journald, "info")
	if len(got) != len(want) {
		t.Errorf("%d lines, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("line %d:\n got %s\nwant %s", i, got[i], want[i])
		}
	}
}

func TestEveryJobHasOneOutcomeLine(t *testing.T) {
	seen := map[string]int{}
	for _, line := range lines(t, JSON, "info") {
		var v struct {
			Msg, Job, Outcome string
			Time              time.Time
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil || v.Time.Before(at) {
			t.Fatalf("%s: %v", line, err)
		}
		if v.Outcome != "" {
			seen[v.Job]++
		}
	}
	if fmt.Sprint(seen) != "map[j1:1 j2:1 j3:1]" {
		t.Error(seen)
	}
}

func TestLevelsAndFormats(t *testing.T) {
	if n := len(lines(t, Text, "debug")); n != len(story())-1 { // one line of progress is too early
		t.Errorf("%d lines at debug", n)
	}
	if n := len(lines(t, Text, "error")); n != 3 {
		t.Errorf("%d lines at error", n)
	}
	for place, want := range map[Place]string{{Terminal: true, Journal: true}: "time=", {Journal: true}: "<6>", {}: "{"} {
		var b bytes.Buffer
		h, err := NewHandler(&b, Auto, "info", place)
		if err != nil {
			t.Fatal(err)
		}
		slog.New(h).With("a", 1).WithGroup("g").Info("hello", "time", 7)
		if !strings.HasPrefix(b.String(), want) || !strings.Contains(b.String(), "7") {
			t.Errorf("%+v: %s", place, b.String())
		}
	}
	for _, bad := range [][2]string{{"xml", "info"}, {"text", "loud"}} {
		if _, err := NewHandler(io.Discard, bad[0], bad[1], Place{}); err == nil {
			t.Errorf("%v accepted", bad)
		}
	}
}

func TestKeyProgressSaysRateAndTimeLeft(t *testing.T) {
	var b bytes.Buffer
	h, _ := NewHandler(&b, Journald, "info", Place{})
	l := NewLogs(slog.New(h))
	for s := range 12 {
		l.Take(event.Record{Type: event.KeyProgress, At: at.Add(time.Duration(s) * time.Second), Key: "k", Device: "d",
			Done: int64(s) * 2e9, Bytes: 40e9, Took: time.Duration(s) * time.Second})
	}
	want := "<6>msg=\"key is loading\" key=k device=d\n<6>msg=\"key is loading\" key=k device=d percent=25 rate=\"2.00 GB/s\" left=15s\n" +
		"<6>msg=\"key is loading\" key=k device=d percent=50 rate=\"2.00 GB/s\" left=10s\n"
	if b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

func TestEventLogTurnsOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	f, err := OpenFile(path, 2_000, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 60 {
		f.Take(event.Record{Seq: uint64(i + 1), At: at, Type: event.JobJoined, Job: "j"})
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	old, err1 := os.ReadFile(path + ".1")
	now, err2 := os.ReadFile(path)
	if err1 != nil || err2 != nil || len(old) > 2_000 || len(now) > 2_000 || len(old) < 1_000 {
		t.Fatalf("%v, %v: %d and %d bytes", err1, err2, len(old), len(now))
	}
	var last uint64
	for _, line := range strings.Split(strings.TrimSpace(string(old)+string(now)), "\n") {
		var r event.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil || last > 0 && r.Seq != last+1 {
			t.Fatalf("%s after %d: %v", line, last, err)
		}
		last = r.Seq
	}
	if last != 60 {
		t.Errorf("last record %d", last)
	}
	// It goes on where it was.
	f, err = OpenFile(path, 1<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f.Take(event.Record{Seq: 61, At: at, Type: event.JobJoined})
	if more, _ := os.ReadFile(path); !bytes.HasPrefix(more, now) || len(more) == len(now) {
		t.Error("the log was not gone on with")
	}
	_ = f.Close()
}

func TestEventLogThatCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if _, err := OpenFile(filepath.Join(dir, "x"), 10, nil); err == nil {
		t.Fatal("opened below a directory that is not there")
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	f, err := OpenFile(filepath.Join(dir, "x"), 200, slog.New(slog.NewTextHandler(&b, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		f.Take(event.Record{Seq: 1, At: at, Type: event.JobJoined, Job: strings.Repeat("j", 100)})
	}
	if n := strings.Count(b.String(), "event log cannot be written"); n != 1 {
		t.Errorf("said %d times: %s", n, b.String())
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.Take(event.Record{Seq: 2, At: at, Type: event.JobJoined})
	if raw, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || !bytes.Contains(raw, []byte(`"seq":2`)) {
		t.Errorf("%s, %v", raw, err)
	}
	_ = f.Close()
}

// collect keeps what it is given.
type collect struct {
	seqs   []uint64
	missed uint64
	block  chan struct{}
}

func (c *collect) Take(r event.Record) {
	if c.block != nil {
		<-c.block
	}
	c.seqs = append(c.seqs, r.Seq)
}

func (c *collect) Missed(n uint64) { c.missed += n }

func TestConsume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := event.NewHub(10)
		hub.Publish(event.Record{Type: event.DaemonStarted})
		ctx, cancel := context.WithCancel(t.Context())
		c := &collect{}
		done := make(chan struct{})
		go func() { defer close(done); Consume(ctx, hub, c) }()
		synctest.Wait()
		hub.Publish(event.Record{Type: event.JobJoined})
		cancel()
		<-done
		if fmt.Sprint(c.seqs) != "[1 2]" {
			t.Errorf("got %v", c.seqs)
		}
	})
}

func TestSlowSinkIsToldWhatItMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hub := event.NewHub(0)
		ctx, cancel := context.WithCancel(t.Context())
		c := &collect{block: make(chan struct{})}
		done := make(chan struct{})
		go func() { defer close(done); Consume(ctx, hub, c) }()
		synctest.Wait()
		for range buffer + 101 {
			hub.Publish(event.Record{Type: event.JobJoined})
			synctest.Wait()
		}
		close(c.block)
		synctest.Wait()
		cancel()
		<-done
		if len(c.seqs) != buffer+1 || c.missed != 100 {
			t.Errorf("%d records, %d missed", len(c.seqs), c.missed)
		}
	})
}
