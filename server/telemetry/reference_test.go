package telemetry

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
)

var rewrite = flag.Bool("rewrite", false, "write docs/metrics.md")

// everything is the text of metrics after at least one record of each sort, from
// an engine of which every part is there.
func everything(t *testing.T) string {
	t.Helper()
	s := &still{Uptime: time.Minute, Kinds: []engine.KindStatus{{Name: "porep-c2"}}}
	s.Devices = []sched.DeviceView{{Device: sched.Device{ID: "GPU-1", Class: sched.GPU}, Pool: budget.Pool{Limit: 1}}}
	s.View.Keys = []sched.KeyView{{Key: "porep-32g", Device: "GPU-1", State: "loaded"}}
	m := NewMetrics(s)
	for _, r := range story() {
		m.Take(r)
	}
	m.Take(event.Record{Type: event.KeyFailed, Key: "snap-32g", Device: "GPU-1"})
	m.Take(event.Record{Type: event.DeviceIdle, At: at, Device: "cpu", Reason: "x"})
	m.Take(event.Record{Type: event.DeviceIdle, At: at, Device: "cpu"})
	return text(t, m)
}

var (
	helpLine = regexp.MustCompile(`(?m)^# HELP (cuzk_\S+) (.*)\n# TYPE \S+ (\S+)\n(.*)$`)
	labelIn  = regexp.MustCompile(`[{,]([a-z_]+)="`)
)

// reference is the page about all metrics, made of what is served.
func reference(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# Metrics\n\nMade from what the program serves (`go test ./server/telemetry -rewrite`); do not edit.\n\n" +
		"`/metrics` on the admin listener serves them in Prometheus' text format, with those of the Go runtime (`go_...`) and of the process (`process_...`). " +
		"The call `GetMetrics` returns the same text. A histogram `NAME` has the series `NAME_bucket`, `NAME_sum` and `NAME_count`; times are in seconds.\n\n" +
		"| name | type | labels | meaning |\n|---|---|---|---|\n")
	for _, m := range helpLine.FindAllStringSubmatch(everything(t), -1) {
		var labels []string
		for _, l := range labelIn.FindAllStringSubmatch(m[4], -1) {
			if l[1] != "le" && !slices.Contains(labels, "`"+l[1]+"`") {
				labels = append(labels, "`"+l[1]+"`")
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m[1], m[3], strings.Join(labels, ", "), m[2])
	}
	b.WriteString("\nValues of `proof_kind` are those of the Rust daemon: `porep_c2`, `snap_update`, `window_post`, `winning_post`; so are the names " +
		"`cuzk_proofs_completed_total`, `cuzk_proofs_failed_total`, `cuzk_uptime_seconds`, `cuzk_queue_depth`, `cuzk_proofs_completed`, `cuzk_proofs_failed`, " +
		"`cuzk_proof_duration_seconds`, `cuzk_running_jobs` and `cuzk_gpu_workers`. `device` is a UUID, or `cpu`; `pool` is `host`, `pinned` (a part of host) or a device. " +
		"`failure` is the class that a failed reply carries.\n")
	return b.String()
}

func TestReferencePage(t *testing.T) {
	const path = "../../docs/metrics.md"
	page := reference(t)
	if *rewrite {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != page {
		t.Errorf("%s is stale (%v): go test ./server/telemetry -rewrite", path, err)
	}
	for name := range descs {
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("%s is not served", name)
		}
	}
}
