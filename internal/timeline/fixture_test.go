package timeline

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"cuzk/event"
)

var rewrite = flag.Bool("rewrite", false, "write the fixture")

const (
	gpuA = "GPU-aaaaaaaa-0000-0000-0000-000000000000"
	gpuB = "GPU-bbbbbbbb-0000-0000-0000-000000000000"
)

// recorder writes event logs.
type recorder struct {
	buf bytes.Buffer
	seq uint64
}

var midnight = time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)

// at writes a record with the next number at the given second.
func (r *recorder) at(second float64, rec event.Record) *recorder {
	r.seq++
	rec.Seq = r.seq
	rec.At = midnight.Add(time.Duration(second * float64(time.Second)))
	raw, err := json.Marshal(rec)
	if err != nil {
		panic(err)
	}
	r.buf.Write(append(raw, '\n'))
	return r
}

func (r *recorder) restart() { r.seq = 0 }

func in(device, job string, k int) event.Record {
	return event.Record{Type: event.RegionIn, Device: device, Region: "prove", Job: job, Partition: event.At(k)}
}

func out(device, job string, k int) event.Record {
	r := in(device, job, k)
	r.Type = event.RegionOut
	return r
}

func stage(t event.Type, s event.Stage, job string, k int, device string) event.Record {
	return event.Record{Type: t, Stage: s, Job: job, Kind: "porep-c2", Partition: event.At(k), Attempt: 1, Device: device}
}

// sample is a run of one job of two partitions on two devices, in which every
// reason for idle time occurs:
//
//	 0 start          1 job accepted      2-6 witness 0, 6-8 witness 1
//	 4-7 key to A     7 memory is full    8-10 proof 0 on A
//	12-15 proof 1 on A                    16 job ends, 20 stop
func sampleRun() *recorder {
	r := &recorder{}
	r.at(0, event.Record{Type: event.DaemonStarted})
	r.at(0, event.Record{Type: event.DeviceState, Device: gpuA, Name: "H200", State: "in service"})
	r.at(0, event.Record{Type: event.DeviceIdle, Device: gpuA, Reason: NoWork})
	r.at(1, event.Record{Type: event.JobAccepted, Job: "j1", Request: "porep-1000-1", Kind: "porep-c2", Class: "normal", Partitions: 2})
	r.at(2, stage(event.StageBegan, event.Synthesise, "j1", 0, ""))
	r.at(2, event.Record{Type: event.DeviceIdle, Device: gpuA, Reason: NoWitness})
	r.at(4, event.Record{Type: event.KeyLoading, Key: "porep-32g", Device: gpuA, Bytes: 47e9})
	r.at(6, stage(event.StageEnded, event.Synthesise, "j1", 0, ""))
	r.at(6, event.Record{Type: event.DeviceIdle, Device: gpuA, Reason: NoKey})
	r.at(6, stage(event.StageBegan, event.Synthesise, "j1", 1, ""))
	r.at(7, event.Record{Type: event.KeyReady, Key: "porep-32g", Device: gpuA})
	r.at(7, event.Record{Type: event.DeviceIdle, Device: gpuA, Reason: NoMemory})
	r.at(8, stage(event.StageBegan, event.Prove, "j1", 0, gpuA))
	r.at(8, in(gpuA, "j1", 0))
	r.at(8, stage(event.StageEnded, event.Synthesise, "j1", 1, ""))
	r.at(10, out(gpuA, "j1", 0))
	r.at(11, stage(event.StageEnded, event.Prove, "j1", 0, gpuA))
	r.at(12, stage(event.StageBegan, event.Prove, "j1", 1, gpuA))
	r.at(12, in(gpuA, "j1", 1))
	r.at(15, out(gpuA, "j1", 1))
	r.at(15, stage(event.StageEnded, event.Prove, "j1", 1, gpuA))
	r.at(16, event.Record{Type: event.JobEnded, Job: "j1", Outcome: "completed"})
	r.at(20, event.Record{Type: event.DaemonStopped})
	return r
}

// TestFixtureIsWhatTheEncoderWrites keeps the file that the command's scripts
// read.
func TestFixtureIsWhatTheEncoderWrites(t *testing.T) {
	want := sampleRun().buf.Bytes()
	if *rewrite {
		if err := os.WriteFile("testdata/run.jsonl", want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("testdata/run.jsonl")
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("testdata/run.jsonl is stale (%v): go test ./internal/timeline -rewrite", err)
	}
}

// read reads a log that must be readable.
func read(t *testing.T, text string, o Options) *Log {
	t.Helper()
	l, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}
