package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
)

// Fault is a way in which a device fails.
type Fault string

// The faults.
const (
	None   Fault = ""
	Break  Fault = "break"  // an error
	Lie    Fault = "lie"    // a proof that does not verify
	Hang   Fault = "hang"   // no answer, until stopped or until Release
	Deaf   Fault = "deaf"   // no answer until Release or Abandon, also when stopped
	Vanish Fault = "vanish" // engine.ErrDeviceLost
	Sticky Fault = "sticky" // engine.ErrDeviceBroken, for all that runs, until Reopen
	Panic  Fault = "panic"
)

// Device is a fake device. The exported fields are set before use.
type Device struct {
	sched.Device
	ProveTime time.Duration
	LoadTime  time.Duration
	KeyError  func(key string) error // of Load; nil for none
	OpenTime  time.Duration          // of Reopen
	OpenError func() error           // of Reopen; nil for none

	mu      sync.Mutex
	faults  []Fault // of the coming proofs
	broken  error   // what every call returns until Reopen
	opened  int     // times that it was reopened
	release chan struct{}
	keys    []string
	inside  int
	proofs  int
	region  chan struct{} // holds a token while the device is in exclusive use
}

// GPU makes a fake card that takes a time for each proof.
func GPU(id string, memory budget.Bytes, prove time.Duration) *Device {
	return &Device{Device: sched.Device{ID: id, Name: "Fake " + id, Class: sched.GPU, Slots: 1, Memory: memory}, ProveTime: prove}
}

// CPU makes a fake processor.
func CPU(prove time.Duration) *Device {
	return &Device{Device: sched.Device{ID: "cpu", Name: "Fake processor", Class: sched.CPU, Slots: 1}, ProveTime: prove}
}

// Next sets the faults of the coming proofs, one each.
func (d *Device) Next(f ...Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, f...)
}

// Release lets all proofs end that hang.
func (d *Device) Release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.release != nil {
		close(d.release)
		d.release = nil
	}
}

// Proofs counts the proofs that were asked for.
func (d *Device) Proofs() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proofs
}

// Keys lists the resident keys.
func (d *Device) Keys() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.keys)
}

// Opened counts how often the device was opened anew.
func (d *Device) Opened() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.opened
}

// Reopen implements [engine.Device]. Keys that were not dropped are an error.
func (d *Device) Reopen(ctx context.Context) error {
	if err := sleep(ctx, d.OpenTime); err != nil {
		return err
	}
	if d.OpenError != nil {
		if err := d.OpenError(); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.keys) > 0 || d.inside > 0 {
		return engine.Fail(job.Internal, fmt.Errorf("%s was opened anew with keys %v and %d proofs on it", d.ID, d.keys, d.inside))
	}
	d.opened++
	d.broken = nil
	return nil
}

// Abandon implements [engine.Device].
func (d *Device) Abandon(why error) {
	d.fail(why)
	d.Release()
}

func (d *Device) fail(why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = why
}

// Spec implements [engine.Device].
func (d *Device) Spec() sched.Device { return d.Device }

// Close implements [engine.Device].
func (d *Device) Close() { d.Release() }

// Load implements [engine.Device].
func (d *Device) Load(ctx context.Context, key string, progress func(done, total budget.Bytes)) error {
	for i := range 10 {
		if err := sleep(ctx, d.LoadTime/10); err != nil {
			return err
		}
		progress(budget.Bytes(i+1)*budget.MiB, 10*budget.MiB)
	}
	if d.KeyError != nil {
		if err := d.KeyError(key); err != nil {
			return err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	d.keys = append(d.keys, key)
	return nil
}

// Drop implements [engine.Device].
func (d *Device) Drop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.keys = slices.DeleteFunc(d.keys, func(k string) bool { return k == key })
}

// Prove implements [engine.Device].
func (d *Device) Prove(ctx context.Context, key string, w engine.Witness, enter engine.Enter) ([]byte, error) {
	fault, release, err := d.arrive(key)
	if err != nil {
		return nil, err
	}
	fw, ok := w.(*witness)
	if !ok {
		return nil, engine.Fail(job.Internal, errors.New("not a fake witness"))
	}
	wait := time.Now()
	select {
	case d.region <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-d.region }()
	leave := enter("prove", time.Since(wait))
	defer leave()
	if err := d.alone(+1); err != nil {
		return nil, err
	}
	defer func() { _ = d.alone(-1) }()
	return d.act(ctx, fault, release, fw)
}

// arrive checks the key and takes the next fault.
func (d *Device) arrive(key string) (Fault, chan struct{}, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.proofs++
	if d.broken != nil {
		return None, nil, d.broken
	}
	if !slices.Contains(d.keys, key) {
		return None, nil, engine.Fail(job.Internal, fmt.Errorf("key %s is not resident on %s", key, d.ID))
	}
	fault := None
	if len(d.faults) > 0 {
		fault, d.faults = d.faults[0], d.faults[1:]
	}
	if d.release == nil {
		d.release = make(chan struct{})
	}
	if d.region == nil {
		d.region = make(chan struct{}, 1)
	}
	return fault, d.release, nil
}

func (d *Device) alone(n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.inside += n; d.inside > 1 {
		return engine.Fail(job.Internal, fmt.Errorf("two proofs in the exclusive region of %s", d.ID))
	}
	return nil
}

func (d *Device) act(ctx context.Context, f Fault, release chan struct{}, w *witness) ([]byte, error) {
	switch f {
	case Hang:
		select {
		case <-release:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	case Deaf:
		<-release
		return nil, errors.New("answers too late")
	case Break:
		return nil, errors.New("told to break")
	case Vanish:
		return nil, engine.ErrDeviceLost
	case Sticky:
		d.fail(fmt.Errorf("%w: illegal address", engine.ErrDeviceBroken))
		return nil, fmt.Errorf("%w: illegal address", engine.ErrDeviceBroken)
	case Panic:
		panic("told to panic")
	}
	if err := sleep(ctx, max(d.ProveTime, w.prove)); err != nil {
		return nil, err
	}
	proof := slices.Clone(w.proof)
	if f == Lie {
		proof[100] ^= 1
	}
	return proof, nil
}
