package loadtest

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Memory is what the daemon's process held resident, in bytes; 0 if it does not
// tell.
type Memory struct {
	Before int64 `json:"before_bytes"`
	Most   int64 `json:"most_bytes"` // of one look a second
	After  int64 `json:"after_bytes"`
}

// look asks for the status all the time and notes how long the answers take.
func (r *run) look(ctx context.Context) {
	for r.cfg.Look > 0 && ctx.Err() == nil {
		start := time.Now()
		err := r.cfg.Daemon.Status(ctx)
		took := time.Since(start)
		if ctx.Err() != nil {
			return
		}
		r.mu.Lock()
		if r.looked = append(r.looked, took); err != nil {
			r.unseen++
		}
		r.mu.Unlock()
		select {
		case <-time.After(r.cfg.Look):
		case <-ctx.Done():
		}
	}
}

// weigh asks for the daemon's memory once a second, at the beginning and at the
// end.
func (r *run) weigh(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	now := r.resident(ctx)
	r.note(func(m *Memory) { m.Before = now })
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		now = r.resident(last)
		cancel()
		r.note(func(m *Memory) { m.After = now })
	}
}

func (r *run) note(f func(*Memory)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := &r.memory
	f(m)
	m.Most = max(m.Most, m.Before, m.After)
}

func (r *run) resident(ctx context.Context) int64 {
	text, err := r.cfg.Daemon.Metrics(ctx)
	if err != nil {
		return 0
	}
	n, _ := Metric(text, "process_resident_memory_bytes")
	return int64(n)
}

// Metric is the value of the first series of a name in Prometheus' text form.
func Metric(text, name string) (float64, bool) {
	for l := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(l, name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		f := strings.Fields(rest[strings.LastIndex(rest, "}")+1:])
		if len(f) == 0 {
			continue
		}
		n, err := strconv.ParseFloat(f[0], 64)
		return n, err == nil
	}
	return 0, false
}

var buildLabel = regexp.MustCompile(`[{,](version|commit)="([^"]*)"`)

// Program is the version and the commit that the metrics tell; empty if they do
// not.
func Program(text string) (version, commit string) {
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "cuzk_build_info{") {
			continue
		}
		for _, m := range buildLabel.FindAllStringSubmatch(l, -1) {
			if m[1] == "version" {
				version = m[2]
			} else {
				commit = m[2]
			}
		}
	}
	return version, commit
}
