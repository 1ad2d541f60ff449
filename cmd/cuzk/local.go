package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cuzk/budget"
	"cuzk/client"
	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/server"
	"cuzk/server/telemetry"
	"cuzk/srs"
)

// local is a daemon within this process, with a client that is connected to it
// over gRPC.
type local struct {
	*client.Client
	addr   string
	events *event.Reader
	stop   func() error
}

// startLocal starts a daemon with insecure keys in a folder. Jobs that an
// interrupted run has left there are given up.
func startLocal(ctx context.Context, dir string) (*local, error) {
	memory, err := budget.Detect(os.DirFS("/"))
	if err != nil {
		return nil, err
	}
	hub := event.NewHub(0)
	d, err := daemon.Open(ctx, daemon.Options{StateDir: filepath.Join(dir, "state"), ParamsDir: dir, CircuitDir: filepath.Join(dir, "circuits"),
		Insecure: true, Host: memory.Bytes, KeepResults: time.Hour, Events: hub,
		Sched: sched.Config{MaxJobs: 100, Making: 1, CPU: sched.CPUAlways, MaxAttempts: 1}})
	if err != nil {
		return nil, daemonError(err)
	}
	left, err := d.Engine.Jobs(ctx)
	for _, j := range left {
		_, e := d.Engine.Cancel(ctx, j.ID, "left by an earlier run")
		err = errors.Join(err, e)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close(ctx))
	}
	events, _ := hub.Subscribe(1 << 12)
	return serveLocal(ctx, d, events)
}

// serveLocal connects the two over a port of this machine.
func serveLocal(ctx context.Context, d *daemon.Daemon, events *event.Reader) (*local, error) {
	serving, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ready, done := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		done <- d.Run(serving, server.Config{Listen: "127.0.0.1:0", Metrics: telemetry.NewMetrics(d.Engine), Ready: func(a server.Addresses) { ready <- a }})
	}()
	l := &local{events: events, stop: func() error { cancel(); return <-done }}
	select {
	case a := <-ready:
		l.addr = a.Listen.String()
	case err := <-done:
		cancel()
		return nil, err
	}
	var err error
	if l.Client, err = client.Dial(l.addr, client.Options{}); err != nil {
		return nil, errors.Join(err, l.stop())
	}
	return l, nil
}

// Close ends both.
func (l *local) Close() error {
	l.events.Close()
	return errors.Join(l.Client.Close(), l.stop())
}

// happened are the records until now.
func (l *local) happened() (out []event.Record) {
	for {
		select {
		case r := <-l.events.C():
			out = append(out, r)
		default:
			return out
		}
	}
}

// prove sends the requests of a circuit's proof under fresh ids and gives back
// their proofs, one after the other. w hears of the daemon's stages, from its
// events.
func (l *local) prove(ctx context.Context, id srs.ID, requests []*kind.Request, w proving.Watch) ([]byte, error) {
	var proof []byte
	for _, r := range requests {
		w.Report("proof", 0)
		l.happened()
		p, err := l.Prove(ctx, submitted(r, job.NewID(time.Now())))
		if err != nil {
			return nil, remoteError(err, l.addr)
		}
		proof = append(proof, p.Proof...)
		for _, s := range stagesOf(l.happened(), p.Job) {
			s.Detail = detail(s.Name, id, p.Proof)
			w.Ended(s)
		}
	}
	return proof, nil
}

// stagesOf are the stages that the records tell of one job, in the order of the
// flow.
func stagesOf(records []event.Record, id string) []proving.Stage {
	names := []string{"key", "vanilla proof", "witness", "proof"}
	sums := map[string]time.Duration{}
	for _, r := range records {
		switch {
		case r.Type == event.KeyReady:
			sums["key"] += r.Took
		case r.Type != event.StageEnded || r.Job != id:
		case r.Stage == event.Decode:
			sums["vanilla proof"] += r.Took
		case r.Stage == event.Synthesise:
			sums["witness"] += r.Took
		case r.Stage == event.Prove, r.Stage == event.Check:
			sums["proof"] += r.Took
		}
	}
	var out []proving.Stage
	for _, n := range names {
		if sums[n] > 0 {
			out = append(out, proving.Stage{Name: n, Took: sums[n]})
		}
	}
	return out
}

// detail is a word on a stage of the proof of a circuit.
func detail(stage string, id srs.ID, proof []byte) string {
	e, _ := kind.Lookup(id)
	switch stage {
	case "key":
		return fmt.Sprintf("INSECURE, %d MB, cpu", id.Shape().ParamsBytes()/1e6)
	case "vanilla proof":
		return "every path and commitment"
	case "witness":
		elements := e.Aux - e.Counts.Bits
		return fmt.Sprintf("%d bits, %d field elements, %d kB", e.Counts.Bits, elements, (e.Counts.Bits/8+32*(elements+e.Inputs))/1000)
	}
	return fmt.Sprintf("%d bytes, verified", len(proof))
}
