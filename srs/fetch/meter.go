package fetch

import (
	"sync"
	"time"
)

// meter measures the rate over the last seconds.
type meter struct {
	mu      sync.Mutex
	now     func() time.Time
	p       Progress
	samples []sample // oldest first
}

type sample struct {
	at   time.Time
	done int64
}

// window is how far back the rate looks: long enough to be steady over several
// connections, short enough to show that one stalled.
const window = 10 * time.Second

func newMeter(file string, total, done int64) *meter {
	return &meter{now: time.Now, p: Progress{File: file, Phase: Fetching, Total: total, Done: done}}
}

func (m *meter) add(n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done += n
}

// set moves the meter without that being a rate.
func (m *meter) set(done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.p.Done, m.samples = done, nil
}

// phase begins another phase, or sets how far the present one is.
func (m *meter) phase(name string, done int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.p.Phase != name {
		m.samples = nil
	}
	m.p.Phase, m.p.Done = name, done
}

// read takes a sample and returns what to show.
func (m *meter) read() Progress {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	for len(m.samples) > 1 && now.Sub(m.samples[0].at) > window {
		m.samples = m.samples[1:]
	}
	p := m.p
	p.Done = min(p.Done, p.Total)
	m.samples = append(m.samples, sample{now, p.Done})
	first := m.samples[0]
	if took := now.Sub(first.at); took > 0 && p.Done > first.done {
		p.Rate = float64(p.Done-first.done) / took.Seconds()
		p.Left = time.Duration(float64(p.Total-p.Done) / p.Rate * float64(time.Second))
	}
	return p
}

// watch reports progress until the returned function is called.
func (d *download) watch() (stop func()) {
	d.meter.phase(Fetching, d.done())
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				d.o.Progress(d.meter.read())
			case <-quit:
				d.o.Progress(d.meter.read())
				return
			}
		}
	}()
	return func() { close(quit); <-gone }
}
