package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"cuzk/event"
)

// Report is what [Log.Check] finds.
type Report struct {
	Overlaps []Overlap
	Regions  int      // exclusive uses that were looked at
	Doubts   []string // what keeps the log from being a proof
	Notes    []string
	Devices  []DeviceReport
}

// Proven tells whether the log shows that nothing overlapped.
func (r *Report) Proven() bool { return len(r.Overlaps) == 0 && len(r.Doubts) == 0 }

// Verdict is the outcome in words.
func (r *Report) Verdict() string {
	switch {
	case len(r.Overlaps) > 0:
		return fmt.Sprintf("%d overlaps: two exclusive regions of one device went on at the same time", len(r.Overlaps))
	case len(r.Doubts) > 0:
		return "not proven: no overlap is certain, but the log leaves doubts"
	case r.Regions == 0:
		return "proven, trivially: no exclusive region in the log"
	}
	return fmt.Sprintf("proven: none of %d exclusive regions overlapped with another of its device", r.Regions)
}

// Overlap is two exclusive regions of one device that went on at the same time.
type Overlap struct {
	Device string
	A, B   *Span
	Shared time.Duration // by the clock
}

// String names both.
func (o Overlap) String() string {
	return fmt.Sprintf("%s: %v and %v share %s", o.Device, o.A, o.B, clock(o.Shared))
}

// DeviceReport is how a device spent its time.
type DeviceReport struct {
	ID, Name string
	Up       time.Duration            // that a daemon ran
	Busy     time.Duration            // in exclusive use, or proving where the log has no regions
	Idle     map[string]time.Duration // by reason; sums up to Up - Busy
	Gaps     []Gap                    // the longest, longest first; none for lack of work
}

// Gap is a time in which a device in service did nothing.
type Gap struct {
	From, To time.Duration
	Reason   string
}

// Reasons that are found where the log itself names none.
const (
	NoWork      = "nothing to do"
	NoWitness   = "waiting for a witness"
	NoKey       = "waiting for a key"
	NoMemory    = "waiting for memory"
	InProof     = "in a proof, outside exclusive use"
	Unexplained = "unexplained"
)

// Check looks for overlaps and explains idle time.
func (l *Log) Check() *Report {
	r := &Report{Regions: len(l.certain), Doubts: l.Doubts, Notes: l.Notes, Overlaps: l.overlaps()}
	for _, d := range l.devices() {
		r.Devices = append(r.Devices, l.explain(d))
	}
	return r
}

// overlaps compares each region with those that begin before it ends.
func (l *Log) overlaps() []Overlap {
	by := map[string][]*Span{}
	for _, s := range l.certain {
		by[s.Device] = append(by[s.Device], s)
	}
	var out []Overlap
	for _, d := range sortedKeys(by) {
		list := by[d]
		sort.SliceStable(list, func(i, j int) bool { return list[i].in < list[j].in })
		for i, a := range list {
			for _, b := range list[i+1:] {
				if b.in >= a.out {
					break
				}
				if a.overlaps(b) && event.Excludes(a.Name, b.Name) {
					out = append(out, Overlap{d, a, b, max(0, min(a.To, b.To)-max(a.From, b.From))})
				}
			}
		}
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (l *Log) devices() []string {
	seen := map[string]bool{}
	for d := range l.Names {
		seen[d] = true
	}
	for _, s := range l.Spans {
		if s.Device != "" {
			seen[s.Device] = true
		}
	}
	return sortedKeys(seen)
}

// What may be going on while a device is idle.
const (
	isUp = iota
	isBusy
	inProof
	keyLoads
	synthesis
	jobLives
	facts
)

// change is a fact that begins (+1) or ends (-1).
type change struct {
	at   time.Duration
	fact int
	by   int
	said *Span // an idle reason of the log
}

// explain walks over the changes of everything that matters for a device.
func (l *Log) explain(device string) DeviceReport {
	r := DeviceReport{ID: device, Name: l.Names[device], Idle: map[string]time.Duration{}}
	changes := l.changes(device)
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	var now [facts]int
	var said []*Span
	var gaps []Gap
	for i, c := range changes {
		if c.said != nil {
			said = toggle(said, c.said)
		} else {
			now[c.fact] += c.by
		}
		if i+1 == len(changes) || changes[i+1].at == c.at || now[isUp] == 0 {
			continue
		}
		to := changes[i+1].at
		r.Up += to - c.at
		if now[isBusy] > 0 {
			r.Busy += to - c.at
			continue
		}
		why := reason(&now, said)
		r.Idle[why] += to - c.at
		gaps = addGap(gaps, Gap{c.at, to, why})
	}
	r.Gaps = longest(gaps)
	return r
}

func toggle(list []*Span, s *Span) []*Span {
	if i := slices.Index(list, s); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return append(list, s)
}

// reason prefers what the log says to what can be inferred.
func reason(now *[facts]int, said []*Span) string {
	switch {
	case now[inProof] > 0:
		return InProof
	case len(said) > 0:
		return said[len(said)-1].Name
	case now[keyLoads] > 0:
		return NoKey
	case now[synthesis] > 0:
		return NoWitness
	case now[jobLives] == 0:
		return NoWork
	}
	return Unexplained
}

// addGap joins neighbours of one reason.
func addGap(gaps []Gap, g Gap) []Gap {
	if n := len(gaps); n > 0 && gaps[n-1].To == g.From && gaps[n-1].Reason == g.Reason {
		gaps[n-1].To = g.To
		return gaps
	}
	return append(gaps, g)
}

// longest keeps the ten longest that mean lost time.
func longest(gaps []Gap) []Gap {
	gaps = slices.DeleteFunc(gaps, func(g Gap) bool { return g.Reason == NoWork })
	slices.SortStableFunc(gaps, func(a, b Gap) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	return gaps[:min(len(gaps), 10)]
}

// changes lists the beginnings and ends that matter for a device.
func (l *Log) changes(device string) []change {
	var out []change
	add := func(fact int, from, to time.Duration) {
		out = append(out, change{at: from, fact: fact, by: 1}, change{at: to, fact: fact, by: -1})
	}
	for _, u := range l.up {
		add(isUp, u.from, u.to)
	}
	for _, j := range l.lives {
		add(jobLives, j.from, j.to)
	}
	busy := l.busyKind(device)
	for _, s := range l.Spans {
		switch {
		case s.What == Stage && s.Name == string(event.Synthesise):
			add(synthesis, s.From, s.To)
		case s.Device != device:
		case s.What == busy && (busy == Region || s.Name == string(event.Prove)):
			add(isBusy, s.From, s.To)
		case s.What == Stage && s.Name == string(event.Prove):
			add(inProof, s.From, s.To)
		case s.What == Key:
			add(keyLoads, s.From, s.To)
		case s.What == Idle:
			out = append(out, change{at: s.From, said: s}, change{at: s.To, said: s})
		}
	}
	return out
}

// busyKind is the kind of span that means work on a device: regions where the
// log has all of them, stages otherwise.
func (l *Log) busyKind(device string) string {
	if l.Format != "rust" {
		for _, s := range l.Spans {
			if s.What == Region && s.Device == device {
				return Region
			}
		}
	}
	return Stage
}
