package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
)

type still engine.Status

func (s *still) Status(context.Context) (engine.Status, error) {
	if s == nil {
		return engine.Status{}, errors.New("away")
	}
	return engine.Status(*s), nil
}

func text(t *testing.T, m *Metrics) string {
	t.Helper()
	s, err := m.Text()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func want(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if !strings.Contains("\n"+text, "\n"+l+"\n") {
			t.Errorf("missing: %s", l)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestInheritedNames holds the names that scrapers of the Rust daemon use.
func TestInheritedNames(t *testing.T) {
	s := &still{Uptime: 90 * time.Second, Kinds: []engine.KindStatus{
		{Name: "porep-c2", Pending: 3, InProgress: 2, Totals: engine.Totals{Completed: 7, Failed: 1, TimedOut: 1, Cancelled: 5}}, {Name: "winning-post"}}}
	s.Devices = []sched.DeviceView{
		{Device: sched.Device{ID: "GPU-1", Name: "H200", Class: sched.GPU}, State: sched.InService, Pool: budget.Pool{Limit: 100, Used: 40, Peak: 60}},
		{Device: sched.Device{ID: "GPU-2", Class: sched.GPU}, State: sched.Quarantined},
		{Device: sched.Device{ID: "cpu", Class: sched.CPU}, State: sched.InService}}
	m := NewMetrics(s)
	m.Take(event.Record{Type: event.JobEnded, Kind: "porep-c2", Outcome: "completed", Took: 12 * time.Second})
	m.Take(event.Record{Type: event.JobEnded, Kind: "porep-c2", Outcome: "failed", Took: time.Hour})
	want(t, text(t, m), "cuzk_proofs_completed_total 7", "cuzk_proofs_failed_total 2", "cuzk_uptime_seconds 90", "cuzk_queue_depth 3",
		`cuzk_proofs_completed{proof_kind="porep_c2"} 7`, `cuzk_proofs_failed{proof_kind="porep_c2"} 2`,
		`cuzk_proof_duration_seconds_count{proof_kind="porep_c2"} 1`, `cuzk_proof_duration_seconds_sum{proof_kind="porep_c2"} 12`,
		"cuzk_running_jobs 2", "cuzk_gpu_workers 1",
		`cuzk_memory_used_bytes{pool="GPU-1"} 40`, `cuzk_device_in_service{device="GPU-2",name=""} 0`)
}

func TestEventsAreCounted(t *testing.T) {
	m := NewMetrics(nil)
	at := time.Unix(1000, 0)
	for _, r := range []event.Record{
		{Type: event.JobAccepted, Kind: "porep-c2"}, {Type: event.JobRefused, Kind: "porep-c2"},
		{Type: event.StageEnded, Kind: "porep-c2", Stage: event.Prove, Took: time.Second},
		{Type: event.StageEnded, Kind: "porep-c2", Stage: event.Check, Failure: "self-check", Took: time.Second},
		{Type: event.DeviceState, Device: "GPU-1", State: "quarantined", Reason: "lies"}, {Type: event.DeviceState, Device: "GPU-1", State: "in-service"},
		{Type: event.DeviceIdle, Device: "GPU-1", Reason: "nothing to do", At: at},
		{Type: event.DeviceIdle, Device: "GPU-1", At: at.Add(5 * time.Second)},
		{Type: event.DeviceIdle, Device: "GPU-1", Reason: "waiting for a key", At: at.Add(7 * time.Second)},
	} {
		m.Take(r)
	}
	m.Missed(3)
	got := text(t, m)
	want(t, got, `cuzk_jobs_total{event="accepted",proof_kind="porep_c2"} 1`, `cuzk_jobs_total{event="refused",proof_kind="porep_c2"} 1`,
		`cuzk_stage_seconds_count{proof_kind="porep_c2",stage="prove"} 1`, `cuzk_stage_failures_total{failure="self-check",stage="check"} 1`,
		`cuzk_device_left_service_total{device="GPU-1",state="quarantined"} 1`,
		`cuzk_device_idle_seconds_total{device="GPU-1",reason="nothing to do"} 5`, "cuzk_events_missed_total 3")
	if strings.Contains(got, "cuzk_uptime_seconds") {
		t.Error("gauges without a source")
	}
}

func TestGaugesGoWithTheEngine(t *testing.T) {
	m := NewMetrics((*still)(nil))
	if strings.Contains(text(t, m), "cuzk_uptime_seconds") {
		t.Error("gauges of an engine that does not answer")
	}
	m.Watch(&still{Uptime: time.Second})
	want(t, text(t, m), "cuzk_uptime_seconds 1")
}
