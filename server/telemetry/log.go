package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"cuzk/event"
)

// Log writes lines about the events of a hub until the context ends, see [Logs].
func Log(ctx context.Context, hub *event.Hub, log *slog.Logger) { Consume(ctx, hub, NewLogs(log)) }

// Logs writes a line for records that a person may want to read. Debug has every
// stage and every use of a device, info what happens to jobs, keys and devices.
type Logs struct {
	log  *slog.Logger
	last map[string]time.Time // of the last progress line of a key on a device
}

// NewLogs makes a sink that writes to the logger.
func NewLogs(log *slog.Logger) *Logs { return &Logs{log: log, last: map[string]time.Time{}} }

// progressEvery is how far progress lines of one key are apart.
const progressEvery = 5 * time.Second

// Missed says how much is not in the log.
func (l *Logs) Missed(n uint64) {
	l.log.Warn("log was too slow, records are missing", "records", n)
}

// Take writes the line of a record.
func (l *Logs) Take(r event.Record) {
	level, message, list := l.line(&r)
	if message == "" {
		return
	}
	out := slog.NewRecord(r.At, level, message, 0)
	out.AddAttrs(list...)
	ctx := context.Background()
	if h := l.log.Handler(); h.Enabled(ctx, level) {
		_ = h.Handle(ctx, out) // a log that cannot be written has nobody to tell
	}
}

func (l *Logs) line(r *event.Record) (slog.Level, string, []slog.Attr) {
	switch r.Type {
	case event.JobAccepted, event.JobJoined, event.JobRefused, event.JobRecovered, event.JobEnded:
		return jobLine(r)
	case event.StageBegan, event.StageEnded, event.RegionIn, event.RegionOut:
		return stageLine(r)
	case event.KeyLoading, event.KeyProgress, event.KeyReady, event.KeyFailed, event.KeyDropped:
		return l.keyLine(r)
	}
	return daemonLine(r)
}

// attrs collects attributes, leaving out empty ones.
type attrs []slog.Attr

func (a attrs) text(key, value string) attrs {
	if value == "" {
		return a
	}
	return append(a, slog.String(key, value))
}

func (a attrs) number(key string, value int64) attrs {
	if value == 0 {
		return a
	}
	return append(a, slog.Int64(key, value))
}

func (a attrs) took(key string, value time.Duration) attrs {
	if value == 0 {
		return a
	}
	return append(a, slog.Duration(key, value.Round(time.Millisecond)))
}

func (a attrs) partition(p event.Partition) attrs {
	if k, ok := p.Index(); ok {
		return append(a, slog.Int("partition", k))
	}
	return a
}

// jobAttrs name the job.
func jobAttrs(r *event.Record) attrs {
	return attrs{}.text("job", r.Job).text("request", r.Request).text("kind", r.Kind).text("class", r.Class)
}

func jobLine(r *event.Record) (slog.Level, string, []slog.Attr) {
	a := jobAttrs(r)
	switch r.Type {
	case event.JobAccepted:
		return slog.LevelInfo, "job accepted", a.number("partitions", int64(r.Partitions)).number("bytes", r.Bytes)
	case event.JobJoined:
		return slog.LevelInfo, "request joined a job", a
	case event.JobRefused:
		return slog.LevelWarn, "job refused", a.text("reason", r.Reason)
	case event.JobRecovered:
		return slog.LevelInfo, "job recovered", a.number("partitions", int64(r.Partitions)).number("done", r.Done)
	}
	return outcomeLine(r)
}

// outcomeLine is the one line about a job that ended.
func outcomeLine(r *event.Record) (slog.Level, string, []slog.Attr) {
	level := slog.LevelInfo
	switch r.Outcome {
	case "failed", "timeout":
		level = slog.LevelError
	case "cancelled":
		level = slog.LevelWarn
	}
	t := r.Times
	a := jobAttrs(r).text("outcome", r.Outcome).text("failure", r.Failure).text("reason", r.Reason)
	return level, "job ended", a.took("total", t.Total).took("queue", t.Queue).took("key", t.Key).
		took("synthesise", t.Synthesise).took("prove", t.Prove).took("check", t.Check)
}

func stageLine(r *event.Record) (slog.Level, string, []slog.Attr) {
	a := jobAttrs(r).partition(r.Partition).number("attempt", int64(r.Attempt))
	a = a.text("stage", string(r.Stage)).text("region", r.Region).text("device", r.Device)
	switch {
	case r.Type == event.StageBegan:
		return slog.LevelDebug, "stage began", a
	case r.Type == event.RegionIn:
		return slog.LevelDebug, "region entered", a.took("wait", r.Wait)
	case r.Type == event.RegionOut:
		return slog.LevelDebug, "region left", a.took("took", r.Took)
	case r.Failure != "" && r.Failure != "cancelled":
		return slog.LevelWarn, "stage failed", a.text("failure", r.Failure).text("reason", r.Reason).took("took", r.Took)
	}
	return slog.LevelDebug, "stage ended", a.text("failure", r.Failure).took("took", r.Took).number("bytes", r.Bytes)
}

// keyLine speaks of a key when it begins to load and every few seconds until it
// is there.
func (l *Logs) keyLine(r *event.Record) (slog.Level, string, []slog.Attr) {
	id := r.Key + " " + r.Device
	a := attrs{}.text("key", r.Key).text("device", r.Device)
	switch r.Type {
	case event.KeyLoading:
		l.last[id] = r.At
		return slog.LevelInfo, "key is loading", a.number("bytes", r.Bytes)
	case event.KeyProgress:
		if r.At.Sub(l.last[id]) < progressEvery {
			return 0, "", nil
		}
		l.last[id] = r.At
		return slog.LevelInfo, "key is loading", append(a, loading(r)...)
	case event.KeyReady:
		return slog.LevelInfo, "key is ready", a.number("bytes", r.Bytes).took("took", r.Took)
	case event.KeyFailed:
		return slog.LevelError, "key cannot be loaded", a.text("reason", r.Reason)
	}
	return slog.LevelInfo, "key was dropped", a.number("bytes", r.Bytes)
}

// loading is how far a key is: percent, rate and time left.
func loading(r *event.Record) attrs {
	if r.Bytes <= 0 || r.Done <= 0 || r.Took <= 0 {
		return attrs{}.number("done", r.Done)
	}
	rate := float64(r.Done) / r.Took.Seconds()
	left := time.Duration(float64(max(r.Bytes-r.Done, 0)) / rate * float64(time.Second))
	return attrs{slog.Int64("percent", 100*r.Done/r.Bytes), slog.String("rate", fmt.Sprintf("%.2f GB/s", rate/1e9)),
		slog.Duration("left", left.Round(time.Second))}
}

func daemonLine(r *event.Record) (slog.Level, string, []slog.Attr) {
	a := attrs{}.text("device", r.Device).text("name", r.Name).text("state", r.State).text("reason", r.Reason)
	switch r.Type {
	case event.DeviceState:
		if r.State == "in-service" {
			return slog.LevelInfo, "device is in service", a
		}
		if r.State == "reopening" {
			return slog.LevelWarn, "device is opened anew", a
		}
		if r.State == "restarting" {
			return slog.LevelWarn, "device waits for a new process", a
		}
		return slog.LevelError, "device left service", a
	case event.DeviceIdle:
		return slog.LevelDebug, "device is idle", a
	case event.StoreFailed:
		return slog.LevelError, "job store cannot be written; new jobs are refused", a
	case event.StoreHealed:
		return slog.LevelInfo, "job store can be written again", a
	case event.DaemonStarted:
		return slog.LevelInfo, "daemon started", a
	case event.DaemonDraining:
		return slog.LevelInfo, "daemon drains", a
	case event.DaemonRestarts:
		return slog.LevelWarn, "daemon starts itself anew when what runs has ended; no job is lost", a
	case event.DaemonStopped:
		return slog.LevelInfo, "daemon stopped", a
	}
	return slog.LevelDebug, string(r.Type), a
}
