package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cuzk/engine/sched"
	"cuzk/event"
)

// reopenLimit is the time that a device has to be opened anew: the driver may
// compile all kernels.
const reopenLimit = 5 * time.Minute

func (e *Engine) openAnew(c sched.Reopen) {
	d := e.devices[c.Device]
	e.work(func() {
		ctx, cancel := context.WithTimeout(e.ctx, reopenLimit)
		defer cancel()
		err := guard("open device anew", func() error { return d.Reopen(ctx) })
		if errors.Is(err, ErrProcess) && e.cfg.StartAnew != nil {
			refused := e.cfg.StartAnew(c.Device, err)
			if refused == nil { // the next process opens it
				e.post(func() {
					e.publish(event.Record{Type: event.DaemonRestarts, Device: c.Device, Reason: firstLine(err)})
					e.step(sched.Settle{Device: c.Device, Why: firstLine(err)})
				})
				return
			}
			err = fmt.Errorf("%w; %w", refused, err)
		}
		e.post(func() {
			ev := sched.Reopened{Device: c.Device}
			if err != nil {
				ev.Why = firstLine(err)
			}
			e.step(ev)
		})
	})
}

// ReturnDevice has a quarantined or lost device opened anew, to serve again, and
// waits until it does. The error says why it does not. When the context is done,
// opening goes on.
func (e *Engine) ReturnDevice(ctx context.Context, id string) error {
	if e.devices[id] == nil {
		return fmt.Errorf("%w %q", ErrDevice, id)
	}
	answer := make(chan error, 1)
	if err := e.ask(ctx, func() { e.returnDevice(id, answer) }); err != nil {
		return err
	}
	select {
	case err := <-answer:
		return err
	case <-e.ended:
		return ErrStopping
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *Engine) returnDevice(id string, answer chan error) {
	e.returns[id] = append(e.returns[id], answer)
	e.step(sched.ReturnDevice{Device: id})
	for _, d := range e.core.View().Devices {
		if d.ID == id {
			e.answerReturns(sched.DeviceChanged{Device: id, State: d.State, Reason: d.Reason})
		}
	}
}

// answerReturns tells those who returned a device what became of it.
func (e *Engine) answerReturns(c sched.DeviceChanged) {
	if c.State == sched.Reopening {
		return
	}
	var err error
	if c.State != sched.InService {
		err = fmt.Errorf("device %s is %s: %s", c.Device, c.State, c.Reason)
	}
	for _, answer := range e.returns[c.Device] {
		answer <- err
	}
	delete(e.returns, c.Device)
}
