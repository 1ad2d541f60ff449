package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
)

type described struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// descs are the metrics that are read from the engine. The first seven are
// those of the Rust daemon.
var descs = table(
	def{"cuzk_uptime_seconds", "Time since the daemon started.", gauge, nil},
	def{"cuzk_proofs_completed_total", "Jobs that ended with a checked proof.", counter, nil},
	def{"cuzk_proofs_failed_total", "Jobs that failed or ran out of time.", counter, nil},
	def{"cuzk_proofs_completed", "Jobs that ended with a checked proof, by kind.", counter, []string{"proof_kind"}},
	def{"cuzk_proofs_failed", "Jobs that failed or ran out of time, by kind.", counter, []string{"proof_kind"}},
	def{"cuzk_queue_depth", "Jobs that have not begun.", gauge, nil},
	def{"cuzk_running_jobs", "Jobs that have begun and not ended.", gauge, nil},
	def{"cuzk_gpu_workers", "GPUs in service.", gauge, nil},
	def{"cuzk_jobs_pending", "Jobs that have not begun, by kind.", gauge, []string{"proof_kind"}},
	def{"cuzk_jobs_in_progress", "Jobs that have begun and not ended, by kind.", gauge, []string{"proof_kind"}},
	def{"cuzk_device_in_service", "1 if the device gets work.", gauge, []string{"device", "name"}},
	def{"cuzk_device_proofs", "Proofs that the device makes now.", gauge, []string{"device"}},
	def{"cuzk_memory_used_bytes", "Memory that the ledger has given out.", gauge, []string{"pool"}},
	def{"cuzk_memory_limit_bytes", "Memory that may be used.", gauge, []string{"pool"}},
	def{"cuzk_memory_peak_bytes", "The most that was given out at a time.", gauge, []string{"pool"}},
	def{"cuzk_key_loaded_bytes", "Memory of a resident key.", gauge, []string{"circuit", "device"}},
	def{"cuzk_key_users", "Proofs that use a resident key.", gauge, []string{"circuit", "device"}},
	def{"cuzk_spool_bytes", "Payloads of live jobs on disk.", gauge, nil},
	def{"cuzk_results_unsaved", "Results that the job store has not taken yet.", gauge, nil},
	def{"cuzk_accepting", "1 if new jobs are accepted.", gauge, nil},
)

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

type def struct {
	name, help string
	kind       prometheus.ValueType
	labels     []string
}

func table(defs ...def) map[string]described {
	out := map[string]described{}
	for _, d := range defs {
		out[d.name] = described{prometheus.NewDesc(d.name, d.help, d.labels, nil), d.kind}
	}
	return out
}

type setter func(name string, v float64, labels ...string)

func readGauges(s *engine.Status, set setter) {
	set("cuzk_uptime_seconds", s.Uptime.Seconds())
	set("cuzk_spool_bytes", float64(s.SpoolUsed))
	set("cuzk_results_unsaved", float64(s.Unsaved))
	set("cuzk_accepting", one(s.Refusing == ""))
	collectKinds(s, set)
	collectPool("host", s.Host, set)
	collectPool("pinned", s.Pinned, set)
	collectDevices(s, set)
	for _, k := range s.View.Keys {
		if k.State == "loaded" {
			set("cuzk_key_loaded_bytes", float64(k.Need.Host+k.Need.Pinned+k.Need.Device), k.Key, k.Device)
			set("cuzk_key_users", float64(k.Refs), k.Key, k.Device)
		}
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

func collectKinds(s *engine.Status, set setter) {
	var sum engine.KindStatus
	for _, k := range s.Kinds {
		name := label(k.Name)
		set("cuzk_proofs_completed", float64(k.Completed), name)
		set("cuzk_proofs_failed", float64(k.Failed+k.TimedOut), name)
		set("cuzk_jobs_pending", float64(k.Pending), name)
		set("cuzk_jobs_in_progress", float64(k.InProgress), name)
		sum.Completed += k.Completed
		sum.Failed += k.Failed + k.TimedOut
		sum.Pending += k.Pending
		sum.InProgress += k.InProgress
	}
	set("cuzk_proofs_completed_total", float64(sum.Completed))
	set("cuzk_proofs_failed_total", float64(sum.Failed))
	set("cuzk_queue_depth", float64(sum.Pending))
	set("cuzk_running_jobs", float64(sum.InProgress))
}

func collectPool(name string, p budget.Pool, set setter) {
	set("cuzk_memory_used_bytes", float64(p.Used), name)
	set("cuzk_memory_limit_bytes", float64(p.Limit), name)
	set("cuzk_memory_peak_bytes", float64(p.Peak), name)
}

func collectDevices(s *engine.Status, set setter) {
	gpus := 0
	for _, d := range s.Devices {
		up := d.State == sched.InService
		if d.Class == sched.GPU {
			collectPool(d.ID, d.Pool, set)
			if up {
				gpus++
			}
		}
		set("cuzk_device_in_service", one(up), d.ID, d.Name)
		set("cuzk_device_proofs", float64(len(d.Work)), d.ID)
	}
	set("cuzk_gpu_workers", float64(gpus))
}
