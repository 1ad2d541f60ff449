package server

import (
	"net/http"
	"strings"
	"time"

	"cuzk/engine"
	"cuzk/engine/sched"
)

// JobView is a job in the admin listener's JSON.
type JobView struct {
	ID         string     `json:"id"`
	Request    string     `json:"request,omitempty"`
	Kind       string     `json:"kind"`
	Class      string     `json:"class"`
	State      string     `json:"state"` // pending, running, completed, failed, cancelled, timeout
	Submitted  time.Time  `json:"submitted"`
	Ended      *time.Time `json:"ended,omitempty"`
	Bytes      int64      `json:"bytes"`
	Failure    string     `json:"failure,omitempty"`
	Message    string     `json:"message,omitempty"`
	QueueMs    int64      `json:"queue_ms"`
	KeyMs      int64      `json:"key_ms"`
	SynthMs    int64      `json:"synth_ms"`
	ProveMs    int64      `json:"prove_ms"`
	TotalMs    int64      `json:"total_ms"`
	Partitions []PartView `json:"partitions,omitempty"` // while it lives
}

// PartView is a partition in the admin listener's JSON.
type PartView struct {
	Index   int    `json:"index"`
	State   string `json:"state"` // queued, making, ready, proving, checking, done
	Device  string `json:"device,omitempty"`
	Tries   int    `json:"tries,omitempty"` // failed ones
	SynthMs int64  `json:"synth_ms,omitempty"`
	ProveMs int64  `json:"prove_ms,omitempty"`
}

func jobView(j engine.JobStatus) JobView {
	t := j.Result.Times
	v := JobView{ID: j.ID, Request: j.RequestID, Kind: j.Kind, Class: j.Class.String(), State: string(j.State), Submitted: j.Submitted,
		Bytes: j.Size, Failure: string(j.Result.Failure), Message: j.Result.Message, QueueMs: t.Queue.Milliseconds(), KeyMs: t.Key.Milliseconds(),
		SynthMs: t.Synthesise.Milliseconds(), ProveMs: t.Prove.Milliseconds(), TotalMs: t.Total.Milliseconds()}
	switch {
	case j.State.Final():
		v.Ended = &j.Result.Ended
	case j.Begun:
		v.State = "running"
	default:
		v.State = "pending"
	}
	for i, p := range j.Partitions {
		v.Partitions = append(v.Partitions, PartView{Index: i, State: p.State, Device: p.Device, Tries: p.Tries,
			SynthMs: p.Synthesis.Milliseconds(), ProveMs: p.Prove.Milliseconds()})
	}
	return v
}

func jobViews(js []engine.JobStatus, err error) ([]JobView, error) {
	out := make([]JobView, 0, len(js))
	for _, j := range js {
		out = append(out, jobView(j))
	}
	return out, err
}

// The status page of the inherited daemon, for programs that read it. Names are
// kept; what has no meaning here is left out, and what was wrong there is right.
type oldStatus struct {
	UptimeSecs  float64        `json:"uptime_secs"`
	Memory      oldMemory      `json:"memory"`
	Synthesis   oldSynthesis   `json:"synthesis"`
	Pipelines   []oldPipeline  `json:"pipelines"`
	GPUWorkers  []oldWorker    `json:"gpu_workers"`
	Allocations oldAllocations `json:"allocations"`
	Counters    oldCounters    `json:"counters"`
}

type oldMemory struct {
	Total     int64 `json:"total_bytes"`
	Used      int64 `json:"used_bytes"`
	Available int64 `json:"available_bytes"`
}

type oldSynthesis struct {
	Active int `json:"active"`
}

type oldPipeline struct {
	JobID      string         `json:"job_id"`
	ProofKind  string         `json:"proof_kind"`
	StartedAgo float64        `json:"started_secs_ago"`
	Total      int            `json:"total_partitions"`
	Done       int            `json:"partitions_done"`
	Partitions []oldPartition `json:"partitions"`
}

type oldPartition struct {
	Index   int    `json:"index"`
	State   string `json:"state"`
	SynthMs int64  `json:"synth_ms"`
	GPUMs   int64  `json:"gpu_ms"`
}

type oldWorker struct {
	ID        int    `json:"worker_id"`
	Ordinal   int    `json:"gpu_ordinal"`
	State     string `json:"state"`
	Job       string `json:"current_job,omitempty"`
	Partition *int   `json:"current_partition,omitempty"`
}

type oldAllocations struct {
	SRS []oldKey `json:"srs"`
}

type oldKey struct {
	CircuitID string `json:"circuit_id"`
	Bytes     int64  `json:"bytes"`
	Evictable bool   `json:"evictable"`
}

type oldCounters struct {
	Completed       uint64            `json:"total_completed"`
	Failed          uint64            `json:"total_failed"`
	CompletedByKind map[string]uint64 `json:"completed_by_kind"`
	FailedByKind    map[string]uint64 `json:"failed_by_kind"`
	QueueDepth      int               `json:"queue_depth"`
}

// oldStates translates the states of partitions.
var oldStates = map[string]string{"queued": "pending", "making": "synthesizing", "ready": "synth_done", "proving": "gpu", "checking": "gpu", "done": "done"}

func (s *server) serveOldStatus(w http.ResponseWriter, r *http.Request) {
	st, err := s.engine.Status(r.Context())
	if err == nil {
		var js []engine.JobStatus
		if js, err = s.engine.Jobs(r.Context()); err == nil {
			reply(w, http.StatusOK, oldStatusOf(&st, js))
			return
		}
	}
	reply(w, http.StatusServiceUnavailable, map[string]string{"error": err.Error()})
}

func oldStatusOf(st *engine.Status, js []engine.JobStatus) oldStatus {
	v := oldStatus{UptimeSecs: st.Uptime.Seconds(), Pipelines: []oldPipeline{}, GPUWorkers: []oldWorker{},
		Memory:      oldMemory{int64(st.Host.Limit), int64(st.Host.Used), int64(st.Host.Free())},
		Allocations: oldAllocations{SRS: []oldKey{}}, Counters: oldCountersOf(st)}
	for _, j := range js {
		if !j.Begun {
			continue
		}
		p := oldPipelineOf(j)
		v.Pipelines = append(v.Pipelines, p)
		for _, k := range p.Partitions {
			if k.State == "synthesizing" {
				v.Synthesis.Active++
			}
		}
	}
	for i, d := range st.Devices {
		row := oldWorker{ID: i, Ordinal: i, State: "idle"}
		if len(d.Work) > 0 {
			row.State, row.Job, row.Partition = "proving", d.Work[0].Job, &d.Work[0].Partition
		} else if d.State != sched.InService {
			row.State = string(d.State)
		}
		v.GPUWorkers = append(v.GPUWorkers, row)
	}
	for _, k := range st.View.Keys {
		v.Allocations.SRS = append(v.Allocations.SRS, oldKey{k.Key, int64(k.Need.Host + k.Need.Pinned + k.Need.Device), k.Refs == 0})
	}
	return v
}

func oldPipelineOf(j engine.JobStatus) oldPipeline {
	p := oldPipeline{JobID: j.ID, ProofKind: j.Kind, StartedAgo: (j.Result.Times.Total - j.Result.Times.Queue).Seconds(), Total: len(j.Partitions)}
	for i, k := range j.Partitions {
		if k.State == "done" {
			p.Done++
		}
		p.Partitions = append(p.Partitions, oldPartition{i, oldStates[k.State], k.Synthesis.Milliseconds(), k.Prove.Milliseconds()})
	}
	return p
}

func oldCountersOf(st *engine.Status) oldCounters {
	c := oldCounters{CompletedByKind: map[string]uint64{}, FailedByKind: map[string]uint64{}}
	for _, k := range st.Kinds {
		name := strings.ReplaceAll(k.Name, "_", "-")
		c.Completed += k.Completed
		c.Failed += k.Failed + k.TimedOut
		c.CompletedByKind[name] = k.Completed
		c.FailedByKind[name] = k.Failed + k.TimedOut
		c.QueueDepth += k.Pending
	}
	return c
}
