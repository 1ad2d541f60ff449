// Package telemetry turns the daemon's one stream of events into what people and
// programs watch: log lines, Prometheus metrics and the event log on disk.
//
// Sources: package event for the records; the Prometheus text format 0.0.4;
// sd-daemon(3) for the priorities of lines under systemd.
//
// Invariants:
//
//  1. A consumer never holds up the daemon: it has a buffer, and what it missed
//     is counted and said.
//  2. A job that ends has exactly one line at level info or above that tells its
//     outcome, with all its times.
//  3. No payload, proof or secret reaches a log or a label; labels have few
//     values (kinds, stages, devices, keys).
//  4. Counters only rise. The names of the Rust daemon's metrics are kept.
package telemetry

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"cuzk"
	"cuzk/engine"
	"cuzk/event"
)

// Source is what gauges are read from; [engine.Engine] is one.
type Source interface {
	Status(ctx context.Context) (engine.Status, error)
}

// Metrics is a registry of its own, with the daemon's metrics and those of the
// Go runtime and the process. It is a [Sink]: counters and histograms come from
// events, gauges from the engine at each scrape.
type Metrics struct {
	registry *prometheus.Registry

	duration, queue, keyWait *prometheus.HistogramVec // by kind
	stage, wait, load        *prometheus.HistogramVec
	failures, idle, jobs     *prometheus.CounterVec
	quarantined, keyFailed   *prometheus.CounterVec
	missed                   prometheus.Counter

	mu     sync.Mutex
	source Source
	idling map[string]event.Record // device to the last record about its idling
}

// Buckets of times in seconds: jobs wait up to hours, stages of small circuits
// take milliseconds.
var (
	jobBuckets   = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200}
	stageBuckets = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
)

// NewMetrics makes the metrics. Without a source, which [Metrics.Watch] may set
// later, there are no gauges.
func NewMetrics(s Source) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), source: s, idling: map[string]event.Record{}}
	m.duration = m.histogram("cuzk_proof_duration_seconds", "Time from the submission of a completed job to its end.", jobBuckets, "proof_kind")
	m.queue = m.histogram("cuzk_job_queue_seconds", "Time from submission to the first witness of a completed job.", jobBuckets, "proof_kind")
	m.keyWait = m.histogram("cuzk_job_key_wait_seconds", "Longest time that a partition of a completed job waited for its key.", jobBuckets, "proof_kind")
	m.stage = m.histogram("cuzk_stage_seconds", "Time that a stage took that did not fail.", stageBuckets, "stage", "proof_kind")
	m.wait = m.histogram("cuzk_device_wait_seconds", "Time that a proof waited for the exclusive use of its device.", stageBuckets, "device")
	m.load = m.histogram("cuzk_key_load_seconds", "Time that loading a key took.", jobBuckets, "circuit")
	m.failures = m.counter("cuzk_stage_failures_total", "Stages that failed, by class of failure.", "stage", "failure")
	m.idle = m.counter("cuzk_device_idle_seconds_total", "Time that a device in service did nothing, by reason.", "device", "reason")
	m.jobs = m.counter("cuzk_jobs_total", "What happened to requests: accepted, joined, refused, recovered, completed, failed, cancelled, timeout.", "event", "proof_kind")
	m.quarantined = m.counter("cuzk_device_left_service_total", "Times that a device left service, by its new state.", "device", "state")
	m.keyFailed = m.counter("cuzk_key_failures_total", "Keys that could not be loaded.", "circuit", "device")
	m.missed = prometheus.NewCounter(prometheus.CounterOpts{Name: "cuzk_events_missed_total", Help: "Events that came too fast for logs and metrics."})
	m.registry.MustRegister(buildInfo(), m.missed, &gauges{m}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// buildInfo is 1, with what the program was built from as labels.
func buildInfo() prometheus.Collector {
	b := cuzk.ThisBuild()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "cuzk_build_info", Help: "Always 1; the labels say what the program was built from.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit(), "go": b.Go}}, func() float64 { return 1 })
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// Watch sets where gauges are read from.
func (m *Metrics) Watch(s Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = s
}

// Text is all metrics in Prometheus text form.
func (m *Metrics) Text() (string, error) {
	families, err := m.registry.Gather()
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// Missed counts what was lost.
func (m *Metrics) Missed(n uint64) { m.missed.Add(float64(n)) }

// label is a kind's name as the inherited metrics write it.
func label(kind string) string { return strings.ReplaceAll(kind, "-", "_") }

// jobEvents are the values of the label event.
var jobEvents = map[event.Type]string{event.JobAccepted: "accepted", event.JobJoined: "joined", event.JobRefused: "refused", event.JobRecovered: "recovered"}

// Take counts a record.
func (m *Metrics) Take(r event.Record) {
	kind := label(r.Kind)
	switch r.Type {
	case event.JobAccepted, event.JobJoined, event.JobRefused, event.JobRecovered:
		m.jobs.WithLabelValues(jobEvents[r.Type], kind).Inc()
	case event.JobEnded:
		m.ended(&r, kind)
	case event.StageEnded:
		if r.Failure != "" {
			m.failures.WithLabelValues(string(r.Stage), r.Failure).Inc()
			return
		}
		m.stage.WithLabelValues(string(r.Stage), kind).Observe(r.Took.Seconds())
	case event.RegionIn:
		m.wait.WithLabelValues(r.Device).Observe(r.Wait.Seconds())
	case event.KeyReady:
		m.load.WithLabelValues(r.Key).Observe(r.Took.Seconds())
	case event.KeyFailed:
		m.keyFailed.WithLabelValues(r.Key, r.Device).Inc()
	case event.DeviceState:
		if r.Reason != "" {
			m.quarantined.WithLabelValues(r.Device, r.State).Inc()
		}
	case event.DeviceIdle:
		m.idleChanged(r)
	}
}

func (m *Metrics) ended(r *event.Record, kind string) {
	m.jobs.WithLabelValues(r.Outcome, kind).Inc()
	if r.Outcome == "completed" {
		m.duration.WithLabelValues(kind).Observe(r.Took.Seconds())
		m.queue.WithLabelValues(kind).Observe(r.Times.Queue.Seconds())
		m.keyWait.WithLabelValues(kind).Observe(r.Times.Key.Seconds())
	}
}

// idleChanged adds up the time until a device's idling ended or got another
// reason.
func (m *Metrics) idleChanged(r event.Record) {
	if old, ok := m.idling[r.Device]; ok && old.Reason != "" {
		m.idle.WithLabelValues(r.Device, old.Reason).Add(max(r.At.Sub(old.At).Seconds(), 0))
	}
	m.idling[r.Device] = r
}

// gauges reads the engine's state at each scrape.
type gauges struct{ m *Metrics }

// scrapeTimeout bounds how long a scrape waits for the engine.
const scrapeTimeout = 5 * time.Second

// Describe implements [prometheus.Collector].
func (g *gauges) Describe(c chan<- *prometheus.Desc) {
	for _, d := range descs {
		c <- d.desc
	}
}

// Collect implements [prometheus.Collector]. Without an answer of the engine
// there are no gauges, and the scrape shows that they are gone.
func (g *gauges) Collect(c chan<- prometheus.Metric) {
	g.m.mu.Lock()
	source := g.m.source
	g.m.mu.Unlock()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	s, err := source.Status(ctx)
	if err != nil {
		return
	}
	readGauges(&s, func(name string, v float64, labels ...string) {
		d := descs[name]
		c <- prometheus.MustNewConstMetric(d.desc, d.kind, v, labels...)
	})
}
