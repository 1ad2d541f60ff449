package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// attempt is a worker that has not answered.
type attempt struct {
	live   *live
	part   int
	stage  event.Stage
	device string
	start  time.Time
	ended  func(error, job.Failure) // publishes
}

// load is a key on its way to a device.
type load struct {
	start time.Time
	bytes budget.Bytes
	done  atomic.Uint64 // percent of the present pass over the key
}

// execute does what the scheduler decided. It runs in the loop.
func (e *Engine) execute(cmd sched.Command) {
	switch c := cmd.(type) {
	case sched.Synthesise:
		e.synthesise(c)
	case sched.Prove:
		e.prove(c)
	case sched.Check:
		e.check(c)
	case sched.Stop:
		if stop := e.stops[c.Attempt]; stop != nil {
			stop()
		}
	case sched.DropWitness:
		e.dropWitness(c)
	case sched.Forget:
		e.forget(c.Job)
	case sched.LoadKey:
		e.loadKey(c)
	case sched.DropKey:
		e.dropKey(c)
	case sched.Join:
		e.joinProofs(c)
	case sched.Finish:
		e.conclude(e.live[c.Job], c.State, c.Failure, c.Text)
	default:
		e.executeDevice(cmd)
	}
}

func (e *Engine) executeDevice(cmd sched.Command) {
	switch c := cmd.(type) {
	case sched.Reopen:
		e.openAnew(c)
	case sched.Abandon:
		d := e.devices[c.Device]
		e.work(func() { d.Abandon(errors.New(c.Why)) })
	case sched.DeviceChanged:
		e.publish(event.Record{Type: event.DeviceState, Device: c.Device, Name: e.deviceName(c.Device), State: string(c.State), Reason: c.Reason})
		e.answerReturns(c)
	}
}

func (e *Engine) deviceName(id string) string {
	if d := e.devices[id]; d != nil {
		return d.Spec().Name
	}
	return ""
}

// attempt starts the worker of an attempt. run gives back what the loop is to do
// with the result.
func (e *Engine) attempt(id int, a *attempt, run func(ctx context.Context) (answer func())) {
	ctx, cancel := context.WithCancel(e.ctx)
	a.start = time.Now()
	a.ended = e.stage(event.Record{Job: a.live.job.ID, Kind: a.live.job.Kind, Partition: event.At(a.part), Attempt: id, Stage: a.stage, Device: a.device})
	e.attempts[id], e.stops[id] = a, cancel
	a.live.begun = true
	e.work(func() {
		e.post(run(ctx))
	})
}

// answered takes an attempt off the books.
func (e *Engine) answered(id int, err error, other job.Failure) *attempt {
	a := e.attempts[id]
	a.ended(err, other)
	e.stops[id]()
	delete(e.attempts, id)
	delete(e.stops, id)
	return a
}

func (e *Engine) failed(id int, err error, other job.Failure) {
	e.step(sched.AttemptFailed{Attempt: id, Failure: failureOf(err, other), Text: firstLine(err)})
}

func (e *Engine) synthesise(c sched.Synthesise) {
	l := e.live[c.Job]
	src := e.sources[c.Job]
	if src == nil {
		src = &source{open: e.reopen(l)}
		e.sources[c.Job] = src
	}
	if !l.started {
		l.started, l.first = true, e.now()
	}
	e.attempt(c.Attempt, &attempt{live: l, part: c.Partition, stage: event.Synthesise}, func(ctx context.Context) func() {
		var w Witness
		err := guard("make witness", func() error {
			o, err := src.get(ctx)
			if err == nil {
				w, err = o.Synthesise(ctx, c.Partition)
			}
			return err
		})
		return func() { e.synthesised(c, w, err) }
	})
}

func (e *Engine) synthesised(c sched.Synthesise, w Witness, err error) {
	a := e.answered(c.Attempt, err, job.Internal)
	if err != nil {
		e.failed(c.Attempt, err, job.Internal)
		return
	}
	e.spend(a, 0)
	a.live.ready[c.Partition] = time.Now()
	e.witness[c.Attempt] = w
	e.step(sched.Synthesised{Attempt: c.Attempt, Bytes: w.Bytes()})
}

func (e *Engine) prove(c sched.Prove) {
	l, w, d := e.live[c.Job], e.witness[c.Witness], e.devices[c.Device]
	l.device[c.Partition] = c.Device
	l.began[c.Partition] = time.Now()
	e.attempt(c.Attempt, &attempt{live: l, part: c.Partition, stage: event.Prove, device: c.Device}, func(ctx context.Context) func() {
		var proof []byte
		err := guard("prove on "+c.Device, func() (err error) {
			proof, err = d.Prove(ctx, c.Key, w, e.regions(c))
			return err
		})
		return func() { e.proved(c, proof, err) }
	})
}

// regions publishes the exclusive uses of a device.
func (e *Engine) regions(c sched.Prove) Enter {
	return func(region string, waited time.Duration) func() {
		r := event.Record{Type: event.RegionIn, Device: c.Device, Region: region, Job: c.Job, Partition: event.At(c.Partition), Attempt: c.Attempt, Wait: waited}
		start := time.Now()
		e.publish(r)
		return func() {
			r.Type, r.Wait, r.Took = event.RegionOut, 0, time.Since(start)
			e.publish(r)
		}
	}
}

func (e *Engine) proved(c sched.Prove, proof []byte, err error) {
	a := e.answered(c.Attempt, err, job.DeviceFault)
	e.judge(c.Device, err)
	if err != nil {
		e.failed(c.Attempt, err, job.DeviceFault)
		return
	}
	e.spend(a, 1)
	e.proofs[c.Attempt] = proof
	e.step(sched.Proved{Attempt: c.Attempt})
}

func (e *Engine) check(c sched.Check) {
	l, w, proof := e.live[c.Job], e.witness[c.Witness], e.proofs[c.Proof]
	delete(e.proofs, c.Proof)
	delete(l.device, c.Partition)
	e.attempt(c.Attempt, &attempt{live: l, part: c.Partition, stage: event.Check, device: c.Device}, func(ctx context.Context) func() {
		err := guard("check proof", func() error { return w.Check(ctx, proof) })
		if err == nil && l.plan.Partitions > 1 && ctx.Err() == nil {
			e.savePartition(c, proof)
		}
		return func() { e.checked(c, proof, err) }
	})
}

func (e *Engine) savePartition(c sched.Check, proof []byte) {
	ctx, cancel := e.lasting()
	defer cancel()
	_ = e.note(e.cfg.Store.SavePartition(ctx, c.Job, c.Partition, proof)) // it is proved again if that is lost
}

func (e *Engine) checked(c sched.Check, proof []byte, err error) {
	a := e.answered(c.Attempt, err, job.BadProof)
	switch {
	case err == nil:
		a.live.proofs[c.Partition] = proof
		e.learn(a)
		e.step(sched.Checked{Attempt: c.Attempt, Good: true})
	case failureOf(err, job.BadProof) == job.BadProof:
		e.step(sched.Checked{Attempt: c.Attempt, Text: firstLine(err)})
	default:
		e.failed(c.Attempt, err, job.Internal)
	}
}

func (e *Engine) dropWitness(c sched.DropWitness) {
	w := e.witness[c.Witness]
	delete(e.witness, c.Witness)
	e.work(func() {
		w.Close()
		e.post(func() { e.step(sched.WitnessFreed{Witness: c.Witness}) })
	})
}

func (e *Engine) forget(id string) {
	if src := e.sources[id]; src != nil {
		delete(e.sources, id)
		e.work(src.close)
	}
}

func (e *Engine) joinProofs(c sched.Join) {
	l := e.live[c.Job]
	proofs := slices.Clone(l.proofs)
	ended := e.stage(event.Record{Job: c.Job, Kind: l.job.Kind, Stage: event.Join})
	l.begun = true
	e.work(func() {
		var out []byte
		err := guard("join proofs", func() (err error) {
			out, err = l.kind.Join(proofs)
			return err
		})
		ended(err, job.Internal)
		e.post(func() {
			l.joined = out
			ev := sched.Joined{Job: c.Job}
			if err != nil {
				ev.Failure, ev.Text = failureOf(err, job.Internal), firstLine(err)
			}
			e.step(ev)
		})
	})
}
