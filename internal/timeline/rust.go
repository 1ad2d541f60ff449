package timeline

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"cuzk/event"
)

// rust builds a log from lines of the Rust daemon:
//
//	TIMELINE,<milliseconds since start>,<event>,<job>,<detail>
//
//	SYNTH_START  partition=k, or kind=x           SYNTH_END  the same, synth_ms=
//	GPU_QUEUE    partition=k, or monolithic
//	GPU_PICKUP   worker=w[,partition=k]
//	GPU_START    worker=w[,partition=k]           GPU_END    the same, gpu_ms=
//
// GPU_START is written before the worker waits for the lock of its device, and
// GPU_END after a sum on the processor that follows the release of the lock. So
// the two bound the exclusive use of the device from outside, and on one lock
// they overlap in a sound run. What is certain of a use is the time after every
// earlier holder of its lock has ended and the work before the lock is surely
// done, until the longest tail before its own end.
//
// The device is that of the worker's number where the daemon passed its index to
// the call. Before, a call with one circuit, which every call with a partition
// is, ran on the first device, while the lock was that of the worker's device:
// two locks, one device.
type rust struct {
	o    Options
	log  *Log
	last int64 // milliseconds
	base time.Duration
	open map[string]*Span
	jobs map[string]*interval // from the first to the last line about each job
	up   time.Duration        // of the first line of this run
	gpu  []*Span              // GPU_START to GPU_END
}

// longestTail is how long the sum on the processor takes at most: 1.7 s were
// measured with 32 threads.
const longestTail = 2 * time.Second

// longestHead is how long the work before the lock takes at most: tens of
// milliseconds were measured (pre_lock_cpu_ms).
const longestHead = 500 * time.Millisecond

// backwards is how far the clock may go back without being a new process: lines
// of several threads are not quite in order.
const backwards = 10_000

func newRust(o Options) *rust {
	if o.WorkersPerDevice <= 0 {
		o.WorkersPerDevice = 2
	}
	return &rust{o: o, log: &Log{Format: "rust", Names: map[string]string{}}, open: map[string]*Span{}, jobs: map[string]*interval{}}
}

// rustLine is a line taken apart.
type rustLine struct {
	at     time.Duration
	event  string
	job    string
	detail map[string]string
}

func (b *rust) take(text string, line int) {
	l, ms, ok := parseRust(text)
	if !ok {
		b.log.doubt("line %d: no TIMELINE line: %.60q", line, text)
		return
	}
	if b.log.Runs == 0 || ms < b.last-backwards {
		b.newRun(ms)
	}
	b.log.Lines++
	b.last = max(b.last, ms)
	l.at += b.base
	b.log.Length = max(b.log.Length, l.at)
	if j := b.jobs[l.job]; j != nil {
		j.to = max(j.to, l.at)
	} else {
		b.jobs[l.job] = &interval{l.at, l.at}
	}
	b.apply(l, line)
}

func parseRust(text string) (l rustLine, ms int64, ok bool) {
	f := strings.SplitN(strings.TrimSpace(text), ",", 5)
	if len(f) < 4 {
		return l, 0, false
	}
	ms, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil || ms < 0 || ms > 1e11 {
		return l, 0, false
	}
	l = rustLine{at: time.Duration(ms) * time.Millisecond, event: f[2], job: f[3], detail: map[string]string{}}
	if len(f) == 5 {
		for _, kv := range strings.Split(f[4], ",") {
			k, v, _ := strings.Cut(strings.TrimSpace(kv), "=")
			l.detail[k] = v
		}
	}
	return l, ms, true
}

func (b *rust) newRun(ms int64) {
	if b.log.Runs > 0 {
		b.closeAll()
		b.base = b.log.Length + time.Second // the log does not say how long it was
		b.last = ms
	}
	b.up = b.base + time.Duration(ms)*time.Millisecond
	b.log.Runs++
}

func (b *rust) closeAll() {
	for k, s := range b.open {
		s.To, s.Open = b.log.Length, true
		delete(b.open, k)
	}
	b.log.up = append(b.log.up, interval{b.up, b.log.Length})
}

func (l *rustLine) partition() event.Partition {
	if k, err := strconv.ParseUint(l.detail["partition"], 10, 16); err == nil {
		return event.At(int(k))
	}
	return event.Partition{}
}

func (b *rust) apply(l rustLine, line int) {
	id := fmt.Sprintf("%s of job %s partition %v", strings.SplitN(l.event, "_", 2)[0], l.job, l.partition())
	switch l.event {
	case "SYNTH_START", "GPU_START":
		if b.open[id] != nil {
			b.log.doubt("line %d: %s began before it had ended", line, id)
			b.open[id].To = l.at
		}
		b.open[id] = b.begin(l)
	case "SYNTH_END", "GPU_END":
		s := b.open[id]
		if s == nil {
			b.log.doubt("line %d: %s ended without having begun", line, id)
			return
		}
		s.To = max(l.at, s.From)
		delete(b.open, id)
	case "GPU_QUEUE", "GPU_PICKUP", "CHAN_SEND":
	default:
		b.log.doubt("line %d: unknown event %.40q", line, l.event)
	}
}

func (b *rust) begin(l rustLine) *Span {
	s := &Span{What: Stage, Name: string(event.Synthesise), Job: l.job, Kind: l.detail["kind"], Partition: l.partition(), From: l.at}
	if l.event == "GPU_START" {
		s.Name, s.Worker = string(event.Prove), l.detail["worker"]
		s.Device, s.lock = b.place(s)
		b.gpu = append(b.gpu, s)
	}
	b.log.Spans = append(b.log.Spans, s)
	return s
}

// place tells on which device a call ran and whose lock it held.
func (b *rust) place(s *Span) (device, lock string) {
	w, err := strconv.ParseUint(s.Worker, 10, 16)
	if err != nil {
		return "gpu?", "lock?"
	}
	own := int(w) / b.o.WorkersPerDevice
	if _, one := s.Partition.Index(); one && !b.o.Separate {
		return "gpu0", fmt.Sprintf("lock%d", own)
	}
	return fmt.Sprintf("gpu%d", own), fmt.Sprintf("lock%d", own)
}

func (b *rust) finish() *Log {
	b.closeAll()
	sort.SliceStable(b.gpu, func(i, j int) bool { return b.gpu[i].From < b.gpu[j].From })
	held := map[string]time.Duration{} // until when the lock may have been held
	for _, s := range b.gpu {
		c := *s
		c.What, c.Name = Region, "gpu"
		c.From, c.To = max(s.From+longestHead, held[s.lock]), s.To-longestTail
		held[s.lock] = max(held[s.lock], s.To)
		if c.From < c.To {
			c.in, c.out = int64(c.From), int64(c.To)
			b.log.certain = append(b.log.certain, &c)
			b.log.Spans = append(b.log.Spans, &c)
		}
		s.in, s.out = int64(s.From), int64(s.To)
	}
	for _, j := range b.jobs {
		b.log.lives = append(b.log.lives, *j)
	}
	b.log.Notes = append(b.log.Notes, "this kind of log has no lock events; that a lock kept its holders apart is taken for granted")
	b.outer()
	b.unused()
	sortSpans(b.log.Spans)
	return b.log
}

// outer looks for uses of one device under different locks that may have
// overlapped, though it is not certain.
func (b *rust) outer() {
	n := 0
	for i, s := range b.gpu {
		for _, o := range b.gpu[i+1:] {
			if o.From >= s.To {
				break
			}
			if s.Device == o.Device && s.lock != o.lock {
				n++
			}
		}
	}
	if n > 0 {
		b.log.doubt("%d pairs of calls ran on one device at the same time under different locks, as far as the log shows", n)
	}
}

// unused notes devices whose workers ran everything elsewhere.
func (b *rust) unused() {
	ran, meant := map[string]bool{}, map[string]bool{}
	for _, s := range b.gpu {
		ran[s.Device], meant["gpu"+strings.TrimPrefix(s.lock, "lock")] = true, true
	}
	for _, d := range sortedKeys(meant) {
		if !ran[d] {
			b.log.Notes = append(b.log.Notes, fmt.Sprintf("no call ran on %s: those of its workers ran on gpu0, since they had one circuit each", d))
		}
	}
}
