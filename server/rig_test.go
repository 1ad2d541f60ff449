package server_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
	"cuzk/job/sqlstore"
	"cuzk/server"
)

// daemon is a server over an engine with fakes.
type daemon struct {
	t       testing.TB
	dir     string
	decode  time.Duration // of a PoRep
	unit    time.Duration // of the fakes
	devices []*fake.Device
	cfg     server.Config
	at      server.Addresses
	quit    context.CancelFunc
	ended   chan error
	store   job.Store
}

// boot starts a daemon; change may alter it before.
func boot(t testing.TB, change func(*daemon)) *daemon {
	d := &daemon{t: t, dir: t.TempDir(), unit: 20 * time.Millisecond}
	for i := range 2 {
		d.devices = append(d.devices, fake.GPU(fmt.Sprintf("GPU-%d", i), 80*budget.GiB, d.unit))
	}
	d.devices = append(d.devices, fake.CPU(d.unit))
	d.cfg = server.Config{Listen: "127.0.0.1:0", Admin: "127.0.0.1:0", DrainTimeout: 5 * time.Second, Events: event.NewHub(10000)}
	if change != nil {
		change(d)
	}
	d.start()
	t.Cleanup(d.stop)
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	ctx, quit := context.WithCancel(context.Background())
	d.quit, d.ended = quit, make(chan error, 1)
	ready := make(chan server.Addresses, 1)
	d.cfg.Ready = func(a server.Addresses) { ready <- a }
	e := d.engine()
	go func() { d.ended <- errors.Join(server.Run(ctx, d.cfg, e), d.store.Close()) }()
	select {
	case d.at = <-ready:
	case err := <-d.ended:
		d.t.Fatalf("did not start: %v", err)
	}
}

func (d *daemon) engine() *engine.Engine {
	d.t.Helper()
	ctx := context.Background()
	store, err := sqlstore.Open(ctx, filepath.Join(d.dir, "jobs.db"))
	d.must(err)
	live, err := store.Live(ctx)
	d.must(err)
	var keep []job.Digest
	for _, j := range live {
		keep = append(keep, j.Digest)
	}
	spool, err := job.OpenSpool(filepath.Join(d.dir, "payloads"), 0, keep)
	d.must(err)
	kinds := fake.Kinds(d.unit)
	kinds[0].Decode = d.decode
	cfg := engine.Config{Host: 64 * budget.GiB, Pinned: 8 * budget.GiB, Kinds: fake.Engines(kinds), Keys: fake.Keys(kinds), Events: d.cfg.Events,
		Sched: sched.Config{Making: 2, Ahead: 64, CPU: sched.CPUFallback, MaxAttempts: 3}, Store: store, Spool: spool}
	for _, x := range d.devices {
		cfg.Devices = append(cfg.Devices, x)
	}
	d.store = store
	e, err := engine.New(ctx, cfg)
	d.must(err)
	return e
}

// stop ends the daemon as SIGTERM does, once.
func (d *daemon) stop() {
	if d.quit == nil {
		return
	}
	d.quit()
	d.quit = nil
	for _, x := range d.devices {
		x.Release()
	}
	if err := <-d.ended; err != nil {
		d.t.Error(err)
	}
}

func (d *daemon) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// dial connects as Curio does: plaintext, 256 MiB both ways.
func (d *daemon) dial(opts ...grpc.DialOption) cuzkv1.ProvingEngineClient {
	d.t.Helper()
	opts = append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20), grpc.MaxCallSendMsgSize(256<<20))}, opts...)
	conn, err := grpc.NewClient("dns:///"+d.at.Listen.String(), opts...)
	d.must(err)
	d.t.Cleanup(func() { conn.Close() })
	return cuzkv1.NewProvingEngineClient(conn)
}

func (d *daemon) ctx() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute) // as Curio's ProveTimeout
	d.t.Cleanup(cancel)
	return ctx
}

// conn is a bare connection.
func (d *daemon) conn() *grpc.ClientConn {
	d.t.Helper()
	conn, err := grpc.NewClient("dns:///"+d.at.Listen.String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	d.must(err)
	d.t.Cleanup(func() { conn.Close() })
	return conn
}
