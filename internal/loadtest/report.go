package loadtest

import (
	"slices"
	"time"
)

// Report is a measurement, in JSON as it stands. Times are in seconds.
type Report struct {
	Mode        string    `json:"mode"`
	Concurrency int       `json:"concurrency"`
	Wall        float64   `json:"wall_seconds"`
	PerHour     float64   `json:"proofs_per_hour"`     // of requests, warm-up left out
	PartsHour   float64   `json:"partitions_per_hour"` // Groth16 proofs
	First       []First   `json:"first"`
	Rows        []Row     `json:"rows"`
	Counts      Counts    `json:"counts"`
	Status      Quantiles `json:"get_status"`
	Unseen      int       `json:"get_status_failed"`
	Memory      Memory    `json:"memory"`
	Critical    *Critical `json:"critical,omitempty"` // of Queue
	Problems    []string  `json:"problems"`           // the first of Counts.Problems
}

// First is the first proof of a circuit, which may have to load its key.
type First struct {
	Name string  `json:"name"`
	Wall float64 `json:"wall_seconds"`
	Key  float64 `json:"key_seconds"`
}

// Counts is how requests ended. Sent is the sum of Proved, Failed, Cancelled and
// Wrong; Left are those of them that were first given up by a client that went
// away.
type Counts struct {
	Sent      int `json:"sent"`
	Proved    int `json:"proved"`
	Verified  int `json:"verified"` // of Proved, with a verifying key
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled"`
	Wrong     int `json:"wrong_input_refused"`
	Left      int `json:"clients_killed"`
	Refused   int `json:"refused_for_now"` // and sent again
	Problems  int `json:"problems"`
}

// Row is the proofs of one circuit, or of one class of a queue.
type Row struct {
	Name      string    `json:"name"`
	Queue     Quantiles `json:"queue_wait"`
	Key       Quantiles `json:"key"`
	Synthesis Quantiles `json:"synthesis"` // sum over partitions
	Prove     Quantiles `json:"proving"`   // sum over partitions
	Total     Quantiles `json:"total"`
	Client    Quantiles `json:"client"` // what the client saw, the wire included
}

// Quantiles sums up times, in seconds.
type Quantiles struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	P90    float64 `json:"p90"`
	P99    float64 `json:"p99"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Quantile sums up times. A quantile is the least of the times that at least so
// many are not above.
func Quantile(times []time.Duration) Quantiles {
	if len(times) == 0 {
		return Quantiles{}
	}
	s := slices.Sorted(slices.Values(times))
	at := func(percent int) float64 { return s[max((len(s)*percent+99)/100, 1)-1].Seconds() }
	return Quantiles{N: len(s), Median: at(50), P90: at(90), P99: at(99), Min: s[0].Seconds(), Max: s[len(s)-1].Seconds()}
}

// report sums up what the workers, which have ended, have noted.
func (r *run) report(mode string, wall time.Duration) *Report {
	r.counts.Sent = r.sent
	p := &Report{Mode: mode, Concurrency: r.cfg.Concurrency, Wall: wall.Seconds(), First: r.warm, Rows: []Row{}, Counts: r.counts,
		Status: Quantile(r.looked), Unseen: r.unseen, Memory: r.memory, Problems: append([]string{}, r.problems...)}
	n, parts := 0, 0
	for _, name := range r.rows {
		all := r.samples[name]
		n += len(all)
		for _, s := range all {
			parts += s.partitions
		}
		p.Rows = append(p.Rows, rowOf(name, all))
	}
	p.PerHour = float64(n) / wall.Hours()
	p.PartsHour = float64(parts) / wall.Hours()
	return p
}

func rowOf(name string, all []sample) Row {
	of := func(f func(sample) time.Duration) Quantiles {
		times := make([]time.Duration, len(all))
		for i, s := range all {
			times[i] = f(s)
		}
		return Quantile(times)
	}
	return Row{Name: name,
		Queue:     of(func(s sample) time.Duration { return s.Queue }),
		Key:       of(func(s sample) time.Duration { return s.Key }),
		Synthesis: of(func(s sample) time.Duration { return s.Synthesis }),
		Prove:     of(func(s sample) time.Duration { return s.Result.Prove }),
		Total:     of(func(s sample) time.Duration { return s.Total }),
		Client:    of(func(s sample) time.Duration { return s.wall })}
}
