package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"cuzk/backend/cpu"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/internal/atomicfile"
	"cuzk/job"
	"cuzk/job/sqlstore"
	"cuzk/kind"
	"cuzk/server"
)

// Daemon is an engine with its state directory. End it with Run or Close.
type Daemon struct {
	Engine *engine.Engine

	opt     Options
	lock    *job.Lock
	store   *sqlstore.Store
	devices []engine.Device
}

// Open takes the state directory and starts the engine: jobs that were accepted
// before go on at once. The error wraps [job.ErrLocked] if another daemon has the
// directory, [job.ErrNewer] or [job.ErrCorrupt] if its store cannot be used.
func Open(ctx context.Context, o Options) (*Daemon, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CircuitDir == "" {
		o.CircuitDir = filepath.Join(o.StateDir, "circuits")
	}
	d := &Daemon{opt: o}
	if err := d.start(ctx); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

func (d *Daemon) start(ctx context.Context) (err error) {
	if d.lock, err = job.LockDir(d.opt.StateDir); err != nil {
		return err
	}
	if d.store, err = sqlstore.Open(ctx, filepath.Join(d.opt.StateDir, "jobs.db")); err != nil {
		return err
	}
	spool, err := d.spool(ctx)
	if err != nil {
		return err
	}
	d.sweep(spool)
	o := &d.opt
	cfg := engine.Config{Sched: o.Sched, Host: o.Host, Pinned: o.Pinned, Store: d.store, Spool: spool,
		Dir: o.StateDir, MinFreeDisk: o.MinFreeDisk, KeepResults: o.KeepResults, StartAnew: o.StartAnew, Events: o.Events}
	if err := d.assemble(&cfg); err != nil {
		return err
	}
	d.Engine, err = engine.New(ctx, cfg)
	return err
}

// spool opens the payloads, keeping those of live jobs.
func (d *Daemon) spool(ctx context.Context) (*job.Spool, error) {
	live, err := d.store.Live(ctx)
	if err != nil {
		return nil, fmt.Errorf("read unfinished jobs: %w", err)
	}
	var keep []job.Digest
	for _, j := range live {
		if !j.Digest.IsZero() { // else it could not be read
			keep = append(keep, j.Digest)
		}
	}
	return job.OpenSpool(filepath.Join(d.opt.StateDir, "spool"), int64(d.opt.SpoolLimit), keep)
}

// sweep removes half-written files of a daemon that was killed. What cannot be
// removed is only told.
func (d *Daemon) sweep(spool *job.Spool) {
	err := errors.Join(spool.Left(), atomicfile.Sweep(d.opt.StateDir))
	if own := filepath.Join(d.opt.StateDir, "circuits"); d.opt.CircuitDir == own { // else others may be writing there
		err = errors.Join(err, atomicfile.Sweep(own))
	}
	if err != nil {
		d.opt.Log.Warn("state directory", "reason", err.Error())
	}
}

// assemble makes kinds, devices and keys.
func (d *Daemon) assemble(cfg *engine.Config) error {
	o := &d.opt
	if o.Insecure {
		o.Log.Warn("INSECURE keys are permitted: proofs made with them convince nobody")
	}
	b := cpu.New(cpu.Options{})
	plan := &planner{cpu: b, accel: o.Accelerators}
	if o.NoCPU {
		plan.cpu = nil
	}
	p := &proofs{circuits: newCircuits(o.CircuitDir, o.Log), planner: plan, keys: newKeys(*o, plan, o.StateDir)}
	for _, a := range o.Accelerators {
		a.Device.Class = sched.GPU
		d.devices = append(d.devices, p.device(a.Device, a))
	}
	if !o.NoCPU {
		d.devices = append(d.devices, p.cpuDevice(b))
	}
	d.devices = append(d.devices, o.Devices...)
	cfg.Devices, cfg.Keys, cfg.Kinds = d.devices, p.keys, replaced(p.kinds(), o.Kinds)
	for _, name := range o.Preload {
		id, err := kind.ParseCircuit(name)
		if err != nil {
			return fmt.Errorf("preload: %w", err)
		}
		cfg.Preload = append(cfg.Preload, kind.WireID(id))
	}
	return nil
}

// replaced puts kinds in the place of those of the same name, the others behind.
func replaced(kinds, by []engine.Kind) []engine.Kind {
	at := map[string]int{}
	for i, k := range kinds {
		at[k.Name()] = i
	}
	for _, k := range by {
		if i, ok := at[k.Name()]; ok {
			kinds[i] = k
			continue
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// Run serves until the context is done, drains and closes everything.
func (d *Daemon) Run(ctx context.Context, cfg server.Config) error {
	return d.ended(server.Run(ctx, cfg, d.Engine))
}

// Close ends the engine without waiting for jobs: they go on at the next start.
// Workers are waited for until the context is done.
func (d *Daemon) Close(ctx context.Context) error { return d.ended(d.Engine.Close(ctx)) }

// ended closes what the engine used. After an error workers may still be
// running, and the devices and mapped keys are left to the end of the process.
func (d *Daemon) ended(err error) error {
	if err != nil {
		d.devices = nil
	}
	return errors.Join(err, d.close())
}

// close gives back what the engine leaves to us.
func (d *Daemon) close() (err error) {
	for _, dev := range d.devices {
		dev.Close()
	}
	if d.store != nil {
		err = d.store.Close()
	}
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}
