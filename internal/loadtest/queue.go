package loadtest

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"cuzk/client"
)

// Jam is a queue and what has to pass it.
type Jam struct {
	Fill     int           // requests of class normal that are queued
	Critical Case          // is sent with class critical
	Probes   int           // times, one after the other, while others wait
	Every    time.Duration // between two of them
}

// Critical is how critical requests passed a queue of normal ones.
type Critical struct {
	Fill      int     `json:"fill"`
	Passed    int     `json:"passed"`               // critical proofs that were made while others waited
	Overtaken int     `json:"overtaken"`            // normal jobs that had not ended when the last of them was sent
	Worst     float64 `json:"worst_wait_seconds"`   // all of its time in which nothing was done for it
	Partition float64 `json:"partition_seconds"`    // the longest partition of the others, synthesis and proving
	Within    bool    `json:"within_one_partition"` // Worst is at most Partition
}

// Rows of a queue's report.
const (
	rowNormal   = "normal"
	rowCritical = "critical"
)

// Queue fills the daemon's queue and sends critical requests into it.
func Queue(ctx context.Context, cfg Config, j Jam) (*Report, error) {
	cfg.Concurrency = max(j.Fill, 1)
	q := &jam{run: newRun(cfg), Jam: j}
	warm := q.run.cfg.Cases
	q.run.cfg.Cases = append(append([]Case{}, warm...), j.Critical)
	report, err := q.measure(ctx, "queue", func(ctx context.Context) error {
		q.run.cfg.Cases = warm
		return q.both(ctx)
	})
	if err != nil {
		return nil, err
	}
	report.Critical = q.passed()
	return report, nil
}

type jam struct {
	*run
	Jam
	waiting   atomic.Int64 // normal jobs that have not ended
	overtaken int64
}

// both fills the queue, waits for its jobs and has the critical ones proved
// meanwhile.
func (q *jam) both(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	q.waiting.Store(int64(q.Fill))
	var w sync.WaitGroup
	for k := range q.Fill {
		c := &q.cfg.Cases[k%len(q.cfg.Cases)]
		m := q.message(c, classNormal)
		var id string
		start := time.Now()
		if err := q.patiently(ctx, func() (err error) { id, err = q.cfg.Daemon.Submit(ctx, m); return err }); err != nil {
			cancel(err)
			break
		}
		w.Go(func() {
			if err := q.await(ctx, c, id, start); err != nil {
				cancel(err)
			}
			left := q.waiting.Add(-1)
			q.cfg.Progress("queue", 1-float64(left)/float64(q.Fill))
		})
	}
	if err := q.probe(ctx); err != nil {
		cancel(err)
	}
	w.Wait()
	return context.Cause(ctx)
}

func (q *jam) await(ctx context.Context, c *Case, id string, start time.Time) error {
	p, err := q.cfg.Daemon.Await(ctx, id, 0)
	var f *client.Failed
	switch {
	case errors.As(err, &f):
		q.count(func(n *Counts) { n.Failed++ })
		q.problem("%s: %v", id, f)
		return nil
	case err != nil:
		return err
	}
	q.answered(rowNormal, c, id, p, time.Since(start))
	return nil
}

// probe sends critical requests as long as others wait.
func (q *jam) probe(ctx context.Context) error {
	for range q.Probes {
		before := q.waiting.Load()
		if before == 0 || ctx.Err() != nil {
			return nil
		}
		q.overtaken = before
		if err := q.prove(ctx, rowCritical, &q.Critical, classCritical); err != nil {
			return err
		}
		sleep(ctx, q.Every)
	}
	return nil
}

// passed compares the worst wait of the critical with the longest partition of
// the others.
func (q *jam) passed() *Critical {
	c := &Critical{Fill: q.Fill, Passed: len(q.samples[rowCritical]), Overtaken: int(q.overtaken)}
	for _, s := range q.samples[rowCritical] {
		c.Worst = max(c.Worst, waited(s).Seconds())
	}
	for _, s := range q.samples[rowNormal] {
		c.Partition = max(c.Partition, ((s.Synthesis + s.Result.Prove) / time.Duration(max(s.partitions, 1))).Seconds())
	}
	c.Within = c.Passed > 0 && c.Worst <= c.Partition
	return c
}

// waited is the time in which nothing was done for a job of one partition: before
// its witness, and before its device.
func waited(s sample) time.Duration {
	return max(s.Queue, s.Total-s.Key-s.Synthesis-s.Result.Prove)
}
