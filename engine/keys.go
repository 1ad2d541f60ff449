package engine

import (
	"context"
	"fmt"
	"time"

	"cuzk/budget"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/job"
)

// progressEvery is how often the loading of a key is reported.
const progressEvery = time.Second

func (e *Engine) loadKey(c sched.LoadKey) {
	d := e.devices[c.Device]
	ld := &load{start: time.Now(), bytes: e.keyBytes(c.Key)}
	e.loads[[2]string{c.Key, c.Device}] = ld
	r := event.Record{Type: event.KeyLoading, Key: c.Key, Device: c.Device, Bytes: int64(e.keyBytes(c.Key))}
	e.publish(r)
	e.work(func() {
		err := guard("load key "+c.Key, func() error { return d.Load(e.ctx, c.Key, e.keyProgress(r, ld)) })
		e.post(func() { e.keyAnswered(c, err) })
	})
}

// keyProgress publishes at most once a progressEvery. A key may be gone through
// more than once, for its digest and for its points: times count from the beginning
// of each pass, so that rates and times left are those of the pass.
func (e *Engine) keyProgress(r event.Record, ld *load) func(done, total budget.Bytes) {
	start, last, before := time.Time{}, time.Now(), budget.Bytes(0)
	r.Type = event.KeyProgress
	return func(done, total budget.Bytes) {
		now := time.Now()
		if start.IsZero() || done < before {
			start = now
		}
		before = done
		if total > 0 {
			ld.done.Store(uint64(100 * done / total))
		}
		if now.Sub(last) >= progressEvery {
			last = now
			r.Done, r.Bytes, r.Took = int64(done), int64(total), now.Sub(start)
			e.publish(r)
		}
	}
}

func (e *Engine) keyAnswered(c sched.LoadKey, err error) {
	ld := e.loads[[2]string{c.Key, c.Device}]
	delete(e.loads, [2]string{c.Key, c.Device})
	took := time.Since(ld.start)
	r := event.Record{Type: event.KeyReady, Key: c.Key, Device: c.Device, Bytes: int64(ld.bytes), Took: took}
	if err == nil {
		e.publish(r)
		e.remember(usualKey{c.Key, "load", e.class(c.Device)}, took)
		e.chargeKeyWait(c.Key, took)
		e.step(sched.KeyLoaded{Key: c.Key, Device: c.Device})
		e.answerPreloads(c.Key, nil)
		return
	}
	r.Type, r.Reason = event.KeyFailed, firstLine(err)
	e.publish(r)
	f := failureOf(err, job.DeviceFault)
	e.judge(c.Device, err)
	e.step(sched.KeyFailed{Key: c.Key, Device: c.Device, Everywhere: f == job.NoKey, Failure: f, Text: firstLine(err)})
	e.answerPreloads(c.Key, err)
}

func (e *Engine) class(device string) sched.DeviceClass { return e.devices[device].Spec().Class }

// chargeKeyWait notes with every ready partition that waited for a key how long.
func (e *Engine) chargeKeyWait(key string, took time.Duration) {
	for _, l := range e.live {
		if l.plan.Key != key || l.state != job.Live {
			continue
		}
		for k, at := range l.ready {
			if l.proofs[k] == nil && l.device[k] == "" {
				l.result.Times.Key = max(l.result.Times.Key, min(took, time.Since(at)))
			}
		}
	}
}

func (e *Engine) dropKey(c sched.DropKey) {
	d := e.devices[c.Device]
	e.work(func() {
		err := guard("drop key", func() error { d.Drop(c.Key); return nil })
		e.post(func() {
			r := event.Record{Type: event.KeyDropped, Key: c.Key, Device: c.Device, Bytes: int64(e.keyBytes(c.Key))}
			if err != nil {
				r.Reason = firstLine(err)
			}
			e.publish(r)
			e.step(sched.KeyDropped{Key: c.Key, Device: c.Device})
		})
	})
}

func (e *Engine) keyBytes(id string) budget.Bytes {
	k, _ := e.keyInfo(id)
	return k.Bytes
}

func (e *Engine) keyInfo(id string) (Key, bool) {
	if e.cfg.Keys != nil {
		for _, k := range e.cfg.Keys.List() {
			if k.ID == id {
				return k, true
			}
		}
	}
	return Key{}, false
}

// Preload loads the key of a circuit on the devices that would use it and keeps
// it there. It returns when the first has it, or the context's error; loading
// goes on in that case. already tells that nothing had to be loaded.
func (e *Engine) Preload(ctx context.Context, id string) (already bool, err error) {
	if _, ok := e.keyInfo(id); !ok {
		return false, fmt.Errorf("%w %q%s", ErrNoKey, id, e.knownKeys())
	}
	answer := make(chan error, 1)
	resident := new(bool)
	if err := e.ask(ctx, func() { *resident = e.preloadKey(id, answer) }); err != nil || *resident {
		return err == nil, err
	}
	select {
	case err := <-answer:
		return false, err
	case <-e.ended:
		return false, ErrStopping
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

func (e *Engine) knownKeys() string {
	if e.cfg.Keys == nil {
		return ""
	}
	text := ": known are"
	for _, k := range e.cfg.Keys.List() {
		text += " " + k.ID
	}
	return text
}

// preloadKey tells whether the key is resident already. answer may be nil.
func (e *Engine) preloadKey(id string, answer chan error) (already bool) {
	k, ok := e.keyInfo(id)
	if !ok {
		e.publish(event.Record{Type: event.KeyFailed, Key: id, Reason: "unknown circuit" + e.knownKeys()})
		return false
	}
	k.Work.Usual.LoadKey = e.usual[usualKey{id, "load", sched.GPU}]
	e.step(sched.Preload{Key: id, Work: k.Work})
	loading := false
	for _, v := range e.core.View().Keys {
		if v.Key == id {
			already = already || v.State == "loaded"
			loading = loading || v.State == "loading"
		}
	}
	switch {
	case answer == nil || already:
	case loading:
		e.waiting[id] = append(e.waiting[id], answer)
	default:
		answer <- Fail(job.NoMemory, fmt.Errorf("key %s does not fit beside what is resident and running; it is loaded when there is room", id))
	}
	return already
}

// answerPreloads tells waiters of a key's first success, or of its failure when
// no other device is still loading it.
func (e *Engine) answerPreloads(id string, err error) {
	if err != nil {
		for k := range e.loads {
			if k[0] == id {
				return
			}
		}
	}
	for _, c := range e.waiting[id] {
		c <- err
	}
	delete(e.waiting, id)
}

// Evict drops the key of a circuit wherever it is not in use, and elsewhere as
// soon as it is not. freed is what is given back at once, host and devices
// together.
func (e *Engine) Evict(ctx context.Context, id string) (loaded bool, freed budget.Bytes, err error) {
	got := new(struct {
		loaded bool
		freed  budget.Bytes
	})
	err = e.ask(ctx, func() {
		for _, v := range e.core.View().Keys {
			if v.Key != id || v.State != "loaded" {
				continue
			}
			got.loaded = true
			if v.Refs == 0 {
				got.freed += v.Need.Host + v.Need.Pinned + v.Need.Device
			}
		}
		e.step(sched.Evict{Key: id})
	})
	if err != nil {
		return false, 0, err
	}
	if _, known := e.keyInfo(id); !got.loaded && !known {
		return false, 0, fmt.Errorf("%w %q%s", ErrNoKey, id, e.knownKeys())
	}
	return got.loaded, got.freed, nil
}
