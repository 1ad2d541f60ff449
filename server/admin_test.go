package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/server"
)

// get reads a page of the admin listener.
func (d *daemon) get(method, path string, header ...string) (int, string) {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.ctx(), method, "http://"+d.at.Admin.String()+path, nil)
	d.must(err)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		} else {
			r.Header.Set(header[i], header[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(r)
	d.must(err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	d.must(err)
	return resp.StatusCode, string(raw)
}

func (d *daemon) read(path string, v any) {
	d.t.Helper()
	code, text := d.get("GET", path)
	if code != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, code, text)
	}
	d.must(json.Unmarshal([]byte(text), v))
}

type text string

func (m text) Text() (string, error) { return string(m), nil }

func TestAdminPages(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.Metrics = text("cuzk_uptime_seconds 1\n") })
	c := d.dial()
	id := prove(t, d.ctx(), c, porep(1000, 1, "")).JobId
	if code, body := d.get("GET", "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := d.get("GET", "/metrics"); code != 200 || body != "cuzk_uptime_seconds 1\n" {
		t.Errorf("metrics: %d %s", code, body)
	}
	if m, err := c.GetMetrics(d.ctx(), &cuzkv1.GetMetricsRequest{}); err != nil || m.GetPrometheusText() != "cuzk_uptime_seconds 1\n" {
		t.Errorf("GetMetrics: %v, %v", m, err)
	}
	var ready server.Ready
	d.read("/readyz", &ready)
	if !ready.Ready || ready.Devices != 3 || len(ready.Kinds) != 4 || len(ready.Kinds[0].Loaded) != 1 {
		t.Errorf("readyz: %+v", ready)
	}
	var st server.StatusView
	d.read("/api/status", &st)
	if len(st.Devices) != 3 || len(st.Keys) != 4 || st.Keys[0].Tier != "hot" || st.Kinds[0].Completed != 1 {
		t.Errorf("status: %+v", st)
	}
	var j server.JobView
	d.read("/api/jobs/"+id, &j)
	if j.ID != id || j.Request != "porep-1000-1" || j.State != "completed" || j.Ended == nil {
		t.Errorf("job: %+v", j)
	}
	var js []server.JobView
	d.read("/api/jobs/recent", &js)
	if len(js) != 1 || js[0].ID != id {
		t.Errorf("recent: %+v", js)
	}
	if code, _ := d.get("GET", "/api/jobs/nobody"); code != 404 {
		t.Errorf("unknown job: %d", code)
	}
	if code, _ := d.get("GET", "/"); code != 404 {
		t.Errorf("root without a page: %d", code)
	}
}

func TestInheritedStatusPageKeepsItsNames(t *testing.T) {
	d := boot(t, nil)
	m := porep(1000, 1, "")
	m.VanillaProof = []byte("fake: prove=1h")
	s, err := d.dial().SubmitProof(d.ctx(), m)
	d.must(err)
	for d.devices[0].Proofs()+d.devices[1].Proofs() == 0 {
		time.Sleep(time.Millisecond)
	}
	var v struct {
		Uptime float64 `json:"uptime_secs"`
		Memory struct {
			Total int64 `json:"total_bytes"`
			Used  int64 `json:"used_bytes"`
		}
		Pipelines []struct {
			ID         string `json:"job_id"`
			Kind       string `json:"proof_kind"`
			Total      int    `json:"total_partitions"`
			Partitions []struct{ State string }
		}
		Workers []struct {
			State string
			Job   string `json:"current_job"`
		} `json:"gpu_workers"`
		Allocations struct {
			SRS []struct {
				ID string `json:"circuit_id"`
			}
		}
		Counters struct {
			ByKind map[string]uint64 `json:"completed_by_kind"`
		}
	}
	d.read("/status", &v)
	if len(v.Pipelines) != 1 || v.Pipelines[0].ID != s.GetJobId() || v.Pipelines[0].Kind != "porep-c2" || v.Pipelines[0].Total != 10 {
		t.Fatalf("pipelines: %+v", v.Pipelines)
	}
	gpu := false
	for _, p := range v.Pipelines[0].Partitions {
		gpu = gpu || p.State == "gpu"
	}
	busy := 0
	for _, w := range v.Workers {
		if w.State == "proving" && w.Job == s.GetJobId() {
			busy++
		}
	}
	if !gpu || busy == 0 || len(v.Allocations.SRS) == 0 || v.Memory.Used == 0 || v.Counters.ByKind["porep-c2"] != 0 {
		t.Errorf("status: %+v", v)
	}
	if code, body := d.get("POST", "/api/jobs/"+s.GetJobId()+"/cancel"); code != 200 || !strings.Contains(body, "true") {
		t.Errorf("cancel: %d %s", code, body)
	}
}

func TestAdminRefusesOtherSites(t *testing.T) {
	d := boot(t, nil)
	if code, _ := d.get("GET", "/api/status", "Host", "evil.example:9821"); code != 403 {
		t.Errorf("foreign name: %d", code)
	}
	if code, _ := d.get("GET", "/api/status", "Host", "localhost:9821"); code != 200 {
		t.Errorf("localhost: %d", code)
	}
	if code, _ := d.get("POST", "/api/jobs/x/cancel", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"); code != 403 {
		t.Errorf("another site's page: %d", code)
	}
	if code, _ := d.get("GET", "/api/jobs/x/cancel"); code == 200 {
		t.Errorf("cancel by GET: %d", code)
	}
}

func TestQuarantineShowsAndEnds(t *testing.T) {
	d := boot(t, nil)
	d.devices[0].Next(fake.Lie)
	d.devices[1].Next(fake.Lie)
	c := d.dial()
	m := porep(1000, 1, "")
	prove(t, d.ctx(), c, m)
	var out int
	var st server.StatusView
	d.read("/api/status", &st)
	for _, x := range st.Devices {
		if x.State == "quarantined" {
			out++
			if code, body := d.get("POST", "/api/devices/"+x.ID+"/return"); code != 200 {
				t.Errorf("return: %d %s", code, body)
			}
		}
	}
	if out == 0 {
		t.Fatalf("no device is quarantined: %+v", st.Devices)
	}
	d.read("/api/status", &st)
	for _, x := range st.Devices {
		if x.State != "in-service" {
			t.Errorf("%s is %s", x.ID, x.State)
		}
	}
	if code, _ := d.get("POST", "/api/devices/GPU-9/return"); code != 404 {
		t.Errorf("unknown device: %d", code)
	}
}

func TestEventsAreStreamed(t *testing.T) {
	d := boot(t, nil)
	ctx, cancel := context.WithCancel(d.ctx())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "GET", "http://"+d.at.Admin.String()+"/api/events", nil)
	d.must(err)
	resp, err := http.DefaultClient.Do(r)
	d.must(err)
	defer resp.Body.Close()
	_, err = d.dial().SubmitProof(d.ctx(), winning(1))
	d.must(err)
	sc := bufio.NewScanner(resp.Body)
	for sc.Scan() {
		if strings.HasPrefix(sc.Text(), "data: {") && strings.Contains(sc.Text(), `"type":"job.ended"`) {
			return
		}
	}
	t.Fatalf("no event of the job's end: %v", sc.Err())
}

func TestMetricsMayBeMissing(t *testing.T) {
	d := boot(t, nil)
	if code, _ := d.get("GET", "/metrics"); code != 404 {
		t.Errorf("metrics: %d", code)
	}
	if _, err := d.dial().GetMetrics(d.ctx(), &cuzkv1.GetMetricsRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("GetMetrics: %v", err)
	}
}

func TestReadinessSaysWhyNot(t *testing.T) {
	d := boot(t, nil)
	for _, x := range d.devices {
		x.Next(fake.Vanish)
	}
	m := winning(1)
	_, err := d.dial().SubmitProof(d.ctx(), m)
	d.must(err)
	for range 2000 {
		if code, body := d.get("GET", "/readyz"); code == 503 {
			if !strings.Contains(body, "no device is in service") {
				t.Fatal(body)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("ready without devices")
}
