package engine

import (
	"time"

	"cuzk/engine/sched"
)

// Two clocks. All that is waited for and measured goes by [Engine.now], which is
// monotonic: a step of the machine's clock moves nothing. [Engine.wall] only stamps
// what people read and what must have a meaning after a restart.

// now is the scheduler's time.
func (e *Engine) now() sched.Time { return time.Since(e.start) }

// wall is the machine's clock, without the monotonic reading that Go adds.
func (e *Engine) wall() time.Time {
	if e.cfg.Wall != nil {
		return e.cfg.Wall().Round(0)
	}
	return time.Now().Round(0)
}

// place puts a job into the scheduler's time: one of this start when it comes in,
// one from before by the stamps that it has.
func (e *Engine) place(l *live, wall time.Time) {
	now := e.now()
	l.since = now - max(wall.Sub(l.job.Submitted), 0)
	if !l.job.Deadline.IsZero() {
		l.due = max(now+l.job.Deadline.Sub(wall), 1)
	}
}

// deadline is a caller's deadline by the wall clock. It has a monotonic reading
// when it comes from a context.
func deadline(at, wall time.Time) time.Time {
	if at.IsZero() {
		return at
	}
	return wall.Add(time.Until(at))
}

// stepsFrom is by how much the wall clock must differ from the time that has
// passed to count as stepped.
const stepsFrom = time.Minute

// steps notices when the wall clock is set.
type steps struct {
	wall  time.Time
	now   sched.Time
	ahead time.Duration // by which results look older than they are
	until sched.Time    // all that is stored is from after the step
}

// oldest is the moment by the wall clock before which results have been kept long
// enough: what was stored before the clock was put forward gets its time too.
func (s *steps) oldest(wall time.Time, now sched.Time, keep time.Duration) time.Time {
	if by := wall.Sub(s.wall) - (now - s.now); by > stepsFrom || by < -stepsFrom {
		s.ahead, s.until = max(s.ahead+by, 0), now+keep
	}
	if s.wall, s.now = wall, now; now >= s.until {
		s.ahead = 0
	}
	return wall.Add(-keep - s.ahead)
}
