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

	renewing chan int // holds a token while no key is loaded in the place of another

	mu     sync.Mutex
	loaded map[string]*loaded
}

// loaded is a key that the backend holds.
type loaded struct {
	id     srs.ID
	key    *srs.Key
	prover backend.Prover
	work   budget.Bytes // of host memory that a proof takes
	spaces chan int     // workspaces that are not in use, by number
}

// cpuDevice is the processor. It proves one partition at a time, with all cores.
func (p *proofs) cpuDevice(b *cpu.Backend) *device {
	return p.device(sched.Device{ID: "cpu", Name: fmt.Sprintf("%d cores", runtime.GOMAXPROCS(0)), Class: sched.CPU, Slots: 1}, Accelerator{Backend: b})
}

func (p *proofs) device(spec sched.Device, a Accelerator) *device {
	d := &device{spec: spec, backend: a.Backend, accel: a, proofs: p, renewing: make(chan int, 1), loaded: map[string]*loaded{}}
	d.renewing <- 0
	return d
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
	l := &loaded{id: id, key: key, prover: prover, spaces: make(chan int, d.workspaces(id))}
	for k := range cap(l.spaces) {
		l.spaces <- k
	}
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
	l, leave, err := d.enter(ctx, name, enter)
	if err != nil {
		return nil, err
	}
	defer leave()
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

// enter waits for a workspace of a key and notes its exclusive use.
func (d *device) enter(ctx context.Context, name string, enter engine.Enter) (l *loaded, leave func(), err error) {
	start := time.Now()
	l, space, err := d.take(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	left := enter(d.region(name, space), time.Since(start))
	return l, func() {
		left()
		l.spaces <- space
	}, nil
}

// region names what a proof has for itself: the device, or one of its workspaces
// where several proofs are made at a time.
func (d *device) region(name string, space int) string {
	if d.spec.Slots <= 1 {
		return "sums"
	}
	return fmt.Sprintf("%s#%d", name, space)
}

// take waits for a workspace of the loaded key. If the key's file was written to
// meanwhile, it is loaded anew, with all checks.
func (d *device) take(ctx context.Context, name string) (*loaded, int, error) {
	for {
		l := d.find(name)
		if l == nil {
			if err := d.renew(ctx, name, nil); err != nil {
				return nil, 0, err
			}
			continue
		}
		space, err := receive(ctx, l.spaces)
		if err != nil {
			return nil, 0, err
		}
		if d.find(name) != l {
			l.spaces <- space // for others who wait for what is no longer there
			continue
		}
		changed := l.key.Changed()
		if changed == nil {
			return l, space, nil
		}
		l.spaces <- space
		d.keys.log.Warn("key file", "key", name, "reason", changed.Error())
		if err := d.renew(ctx, name, l); err != nil {
			return nil, 0, err
		}
	}
}

// renew loads a key in the place of old, which may be nil, when nobody uses that
// any more; or does nothing, if somebody else has.
func (d *device) renew(ctx context.Context, name string, old *loaded) error {
	if _, err := receive(ctx, d.renewing); err != nil {
		return err
	}
	defer func() { d.renewing <- 0 }()
	if d.find(name) != old {
		return nil
	}
	if old != nil {
		all, err := old.gather(ctx)
		defer old.free(all) // for those who wait there: they look again
		if err != nil {
			return err
		}
		d.Drop(name)
	}
	return d.Load(ctx, name, nil)
}

// gather takes all workspaces, so that nobody uses one; those taken before an
// error, too.
func (l *loaded) gather(ctx context.Context) (all []int, err error) {
	for range cap(l.spaces) {
		space, err := receive(ctx, l.spaces)
		if err != nil {
			return all, err
		}
		all = append(all, space)
	}
	return all, nil
}

func (l *loaded) free(spaces []int) {
	for _, k := range spaces {
		l.spaces <- k
	}
}

func receive(ctx context.Context, c <-chan int) (int, error) {
	select {
	case v := <-c:
		return v, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

func (d *device) find(name string) *loaded {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.loaded[name]
}

// workspaces is how many proofs can be made at a time with a key.
func (d *device) workspaces(id srs.ID) int {
	slots := max(d.spec.Slots, 1)
	if n := d.planner.own(d.spec.ID, id).AtOnce; n > 0 {
		return min(n, slots)
	}
	return slots
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
