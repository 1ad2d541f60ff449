package daemon

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"cuzk/backend"
	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/groth16"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// device implements [engine.Device] over a backend.
type device struct {
	spec    sched.Device
	backend backend.Backend
	accel   Accelerator // its functions; zero for the processor
	*proofs

	turn chan struct{} // held while the backend works on a proof

	mu     sync.Mutex
	loaded map[string]*loaded
}

// loaded is a key that the backend holds.
type loaded struct {
	id     srs.ID
	key    *srs.Key
	prover backend.Prover
	work   budget.Bytes // of host memory that a proof takes
}

// cpuDevice is the processor. It proves one partition at a time, with all cores.
func (p *proofs) cpuDevice(b *cpu.Backend) *device {
	return p.device(sched.Device{ID: "cpu", Name: fmt.Sprintf("%d cores", runtime.GOMAXPROCS(0)), Class: sched.CPU, Slots: 1}, Accelerator{Backend: b})
}

func (p *proofs) device(spec sched.Device, a Accelerator) *device {
	return &device{spec: spec, backend: a.Backend, accel: a, proofs: p, turn: make(chan struct{}, 1), loaded: map[string]*loaded{}}
}

// Spec implements [engine.Device].
func (d *device) Spec() sched.Device { return d.spec }

// Load implements [engine.Device].
func (d *device) Load(ctx context.Context, name string, progress func(done, total budget.Bytes)) error {
	id, err := kind.ParseCircuit(name)
	if err != nil {
		return engine.Fail(job.NoKey, err)
	}
	circuit, err := d.circuits.get(ctx, id)
	if err != nil {
		return engine.Fail(job.Internal, err)
	}
	key, err := d.keys.use(ctx, id, progress)
	if err != nil {
		return err
	}
	prover, err := d.backend.Load(ctx, circuit, key, inBytes(key, progress))
	if err != nil {
		return errors.Join(keyError(err, true), d.keys.drop(id))
	}
	l := &loaded{id: id, key: key, prover: prover}
	if d.spec.Class == sched.CPU {
		l.work = d.planner.work(id).CPU.Prove.Host
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.loaded[name] = l
	return nil
}

// inBytes reports the share of a key that is loaded in bytes of its file.
func inBytes(key *srs.Key, progress func(done, total budget.Bytes)) func(float64) {
	if progress == nil {
		return nil
	}
	return func(done float64) {
		progress(budget.Bytes(done*float64(key.Bytes())), budget.Bytes(key.Bytes()))
	}
}

// Drop implements [engine.Device].
func (d *device) Drop(name string) {
	d.mu.Lock()
	l := d.loaded[name]
	delete(d.loaded, name)
	d.mu.Unlock()
	if l == nil {
		return
	}
	held := budget.Bytes(l.prover.Bytes())
	if err := errors.Join(l.prover.Close(), d.keys.drop(l.id)); err != nil {
		d.keys.log.Warn("drop key", "key", name, "device", d.spec.ID, "reason", err.Error())
	}
	if d.spec.Class == sched.CPU {
		released(held)
	}
}

// Prove implements [engine.Device]: the sums, blinded and encoded. The check of
// the proof is the engine's next step.
func (d *device) Prove(ctx context.Context, name string, w engine.Witness, enter engine.Enter) ([]byte, error) {
	a, ok := w.(*witness)
	if !ok {
		return nil, engine.Fail(job.Internal, fmt.Errorf("a witness of type %T cannot be proved on %s", w, d.spec.ID))
	}
	leave, err := d.enter(ctx, enter)
	if err != nil {
		return nil, err
	}
	defer leave()
	l, err := d.current(ctx, name)
	if err != nil {
		return nil, err
	}
	defer released(l.work)
	sums, err := l.prover.Sums(ctx, []*r1cs.Assignment{a.values}, nil)
	if err != nil {
		return nil, keyError(err, true)
	}
	blinding, err := groth16.Random{Reader: rand.Reader}.Blind(1)
	if err != nil {
		return nil, engine.Fail(job.Internal, err)
	}
	return groth16.Combine(l.key.VK, &sums[0], &blinding[0]).Encode(), nil
}

// enter waits for the backend and notes its exclusive use.
func (d *device) enter(ctx context.Context, enter engine.Enter) (leave func(), err error) {
	start := time.Now()
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	left := enter("sums", time.Since(start))
	return func() {
		left()
		<-d.turn
	}, nil
}

// current is the loaded key. If its file was written to meanwhile, it is loaded
// anew, with all checks.
func (d *device) current(ctx context.Context, name string) (*loaded, error) {
	d.mu.Lock()
	l := d.loaded[name]
	d.mu.Unlock()
	if l != nil {
		err := l.key.Changed()
		if err == nil {
			return l, nil
		}
		d.keys.log.Warn("key file", "key", name, "reason", err.Error())
		d.Drop(name)
	}
	if err := d.Load(ctx, name, nil); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded[name], nil
}

// Reopen implements [engine.Device].
func (d *device) Reopen(ctx context.Context) error {
	if d.accel.Reopen == nil {
		return nil
	}
	return d.accel.Reopen(ctx)
}

// Abandon implements [engine.Device].
func (d *device) Abandon(why error) {
	if d.accel.Abandon != nil {
		d.accel.Abandon(why)
	}
}

// Close implements [engine.Device].
func (d *device) Close() {
	d.mu.Lock()
	names := make([]string, 0, len(d.loaded))
	for name := range d.loaded {
		names = append(names, name)
	}
	d.mu.Unlock()
	for _, name := range names {
		d.Drop(name)
	}
	if d.accel.Close != nil {
		if err := d.accel.Close(); err != nil {
			d.keys.log.Warn("close device", "device", d.spec.ID, "reason", err.Error())
		}
	}
}
