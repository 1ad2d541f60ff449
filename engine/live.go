package engine

import (
	"context"
	"sync"
	"time"

	"cuzk/engine/sched"
	"cuzk/job"
)

// live is a job that has not ended, as the loop knows it.
type live struct {
	job     job.Job
	kind    Kind
	plan    Plan
	stored  chan struct{} // closed when the store has it, or err is set
	err     error         // why it was not accepted after all
	done    chan struct{} // closed when it has ended; then state and result stand
	state   job.State
	result  job.Result
	stopped bool // done was closed because the engine ends

	begun   bool
	proofs  [][]byte // checked, by partition
	joined  []byte
	waiters int
	since   sched.Time               // when it was submitted; before the engine's start for recalled ones
	due     sched.Time               // its deadline; 0: none
	started bool                     // the first synthesis was
	first   sched.Time               // then
	ready   map[int]time.Time        // when a partition's witness was made
	began   map[int]time.Time        // when an attempt was started
	device  map[int]string           // partition to the device that proves it
	spent   map[int][2]time.Duration // by partition: synthesis and proving
}

func newLive(j job.Job, k Kind) *live {
	return &live{job: j, kind: k, stored: make(chan struct{}), done: make(chan struct{}), state: job.Live,
		ready: map[int]time.Time{}, began: map[int]time.Time{}, device: map[int]string{}, spent: map[int][2]time.Duration{}}
}

func (l *live) key() string { return l.job.Digest.String() + " " + l.job.RequestID }

// stop tells waiters that the engine ends.
func (l *live) stop() {
	select {
	case <-l.done:
	default:
		l.stopped = true
		close(l.done)
	}
}

// source opens a job's request when the first witness asks for it, and keeps it
// until the scheduler forgets it.
type source struct {
	mu     sync.Mutex
	open   func(context.Context) (Opened, error)
	opened Opened
}

func (s *source) get(ctx context.Context) (Opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened == nil {
		o, err := s.open(ctx)
		if err != nil {
			return nil, err
		}
		s.opened = o
	}
	return s.opened, nil
}

func (s *source) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opened != nil {
		s.opened.Close()
		s.opened = nil
	}
}

// weighted lets small payloads through at once and large ones as long as their
// sum stays below a limit; one alone may exceed it.
type weighted struct {
	limit, small int64
	mu           sync.Mutex
	used         int64
	free         chan struct{} // closed at the next release
}

func (w *weighted) acquire(ctx context.Context, n int64) (release func(), err error) {
	if n <= w.small {
		return func() {}, nil
	}
	for {
		w.mu.Lock()
		if w.used == 0 || w.used+n <= w.limit {
			w.used += n
			w.mu.Unlock()
			return func() { w.release(n) }, nil
		}
		if w.free == nil {
			w.free = make(chan struct{})
		}
		free := w.free
		w.mu.Unlock()
		select {
		case <-free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (w *weighted) release(n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used -= n
	if w.free != nil {
		close(w.free)
		w.free = nil
	}
}
