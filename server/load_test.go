package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/client"
	"cuzk/internal/testutil"
)

// load is a run of many small jobs from many clients, with cancels, callers who
// leave and wrong input mixed in.
type load struct {
	clients, jobs int
	d             *daemon

	proved, failed, cancelled, left atomic.Int64
}

func TestLoadLosesNothing(t *testing.T) {
	l := &load{clients: 20, jobs: 400}
	if testing.Short() {
		l.jobs = 100
	}
	l.run(t)
}

func TestTenThousandJobs(t *testing.T) {
	testutil.Slow(t, "10,000 jobs of 200 clients")
	(&load{clients: 200, jobs: 10000}).run(t)
}

func (l *load) run(t testing.TB) loadFigures {
	l.d = boot(t, func(d *daemon) {
		d.unit = time.Millisecond
		d.devices = nil
		for i := range 4 {
			d.devices = append(d.devices, fake.GPU(fmt.Sprintf("GPU-%d", i), 80*budget.GiB, d.unit))
		}
		d.devices = append(d.devices, fake.CPU(d.unit))
	})
	ctx, done := context.WithCancel(l.d.ctx())
	looked := make(chan []time.Duration)
	go func() { looked <- l.look(ctx) }()
	start := time.Now()
	var wg sync.WaitGroup
	for i := range l.clients {
		wg.Go(func() { l.client(t, i) })
	}
	wg.Wait()
	took := time.Since(start)
	done()
	times := <-looked
	slices.Sort(times)
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	f := loadFigures{took, times[len(times)/2], times[len(times)*99/100], len(times), mem.HeapAlloc >> 20, mem.Sys >> 20}
	t.Logf("%d jobs in %v: %d proved, %d failed, %d cancelled, %d callers left; GetStatus p50 %v, p99 %v of %d; heap %d MiB, most from the system %d MiB",
		l.jobs, took.Round(time.Millisecond), l.proved.Load(), l.failed.Load(), l.cancelled.Load(), l.left.Load(), f.p50, f.p99, f.looks, f.heapMiB, f.sysMiB)
	l.allEnded(t)
	return f
}

// loadFigures are what a run measures.
type loadFigures struct {
	took, p50, p99  time.Duration // p50, p99: of GetStatus
	looks           int
	heapMiB, sysMiB uint64
}

// BenchmarkLoad is what docs/bench has: 10,000 jobs of 200 clients with cancels,
// callers who leave and wrong input, against devices that take milliseconds. One
// run is enough: -benchtime 1x.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		f := (&load{clients: 200, jobs: 10000}).run(b)
		b.ReportMetric(10000/f.took.Seconds(), "jobs/s")
		b.ReportMetric(f.p50.Seconds()*1e3, "status-p50-ms")
		b.ReportMetric(f.p99.Seconds()*1e3, "status-p99-ms")
		b.ReportMetric(float64(f.heapMiB), "heap-MiB")
		b.ReportMetric(float64(f.sysMiB), "system-MiB")
	}
}

// look asks for the status all the time and notes how long answers take.
func (l *load) look(ctx context.Context) (times []time.Duration) {
	c := l.d.dial()
	for ctx.Err() == nil {
		start := time.Now()
		if _, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{}); err == nil {
			times = append(times, time.Since(start))
		}
		time.Sleep(2 * time.Millisecond)
	}
	return times
}

func (l *load) client(t testing.TB, i int) {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	c, err := client.Dial(l.d.at.Listen.String(), client.Options{})
	must(t, err)
	defer c.Close()
	for n := range l.jobs / l.clients {
		m := winning(uint64(i)<<32 | uint64(n))
		switch rng.IntN(20) {
		case 0:
			m.VanillaProofs[0] = []byte("fake: bad")
			l.wrong(t, c, m)
		case 1:
			l.cancel(t, c, m)
		case 2:
			ctx, leave := context.WithTimeout(context.Background(), time.Duration(rng.IntN(5))*time.Millisecond)
			_, err := c.Prove(ctx, m)
			leave()
			if err != nil {
				l.left.Add(1)
				continue
			}
			l.proved.Add(1)
		default:
			l.good(t, c, m)
		}
	}
}

func (l *load) good(t testing.TB, c *client.Client, m *cuzkv1.SubmitProofRequest) {
	r, err := c.Prove(l.d.ctx(), m)
	if err != nil || !fake.Valid(content("winning-post", m), 1, r.Proof) {
		t.Errorf("%s: %v", m.RequestId, err)
	}
	l.proved.Add(1)
}

func (l *load) wrong(t testing.TB, c *client.Client, m *cuzkv1.SubmitProofRequest) {
	var f *client.Failed
	if _, err := c.Prove(l.d.ctx(), m); !errors.As(err, &f) || !f.Permanent() {
		t.Errorf("%s: %v", m.RequestId, err)
	}
	l.failed.Add(1)
}

func (l *load) cancel(t testing.TB, c *client.Client, m *cuzkv1.SubmitProofRequest) {
	id, err := c.Submit(l.d.ctx(), m)
	must(t, err)
	was, err := c.Cancel(l.d.ctx(), id)
	if err != nil {
		t.Error(err)
	}
	if _, err := c.Await(l.d.ctx(), id, 0); was != (err != nil) {
		t.Errorf("%s: cancelled %v, then %v", m.RequestId, was, err)
	}
	l.cancelled.Add(1)
}

// allEnded waits for the jobs whose callers left, and looks at the store.
func (l *load) allEnded(t testing.TB) {
	for range 1000 {
		live, err := l.d.store.Live(l.d.ctx())
		must(t, err)
		if len(live) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("jobs are left")
}
