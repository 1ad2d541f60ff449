package sched

import (
	"slices"
	"sort"
	"strings"

	"cuzk/job"
)

// rank is a position in the one order of all work: a lower rank goes first.
type rank struct {
	class job.Class // with age
	turn  int       // 1 while other keys are held, see group.go
	seq   int       // of the job
	part  int
}

func (a rank) before(b rank) bool {
	if a.class != b.class {
		return a.class > b.class
	}
	if a.turn != b.turn {
		return a.turn < b.turn
	}
	if a.seq != b.seq {
		return a.seq < b.seq
	}
	return a.part < b.part
}

// aged is the class of a job after its waiting time: a rise of one each step,
// at most to high. Critical is for those who asked for it.
func aged(c job.Class, waited, step Time) job.Class {
	if step <= 0 || c >= job.High {
		return c
	}
	return min(job.High, c+job.Class(waited/step))
}

// order holds the live jobs, in one lane for each class and key, sorted by age.
// Since all jobs of a lane age alike and have the same turn, merging the heads of
// the lanes gives the order.
type order struct {
	step  Time
	turn  func(j *jobState, class job.Class) int
	lanes []*lane // by class and key; none is empty
}

type lane struct {
	class job.Class
	key   string
	jobs  []*jobState
}

// find is where the lane of a job is or belongs.
func (o *order) find(j *jobState) (int, bool) {
	return slices.BinarySearchFunc(o.lanes, j, func(l *lane, j *jobState) int {
		if l.class != j.spec.Class {
			return int(l.class - j.spec.Class)
		}
		return strings.Compare(l.key, j.spec.Key)
	})
}

func (o *order) add(j *jobState) {
	k, there := o.find(j)
	if !there {
		o.lanes = slices.Insert(o.lanes, k, &lane{class: j.spec.Class, key: j.spec.Key})
	}
	l := o.lanes[k]
	i := sort.Search(len(l.jobs), func(i int) bool { return l.jobs[i].seq > j.seq })
	l.jobs = slices.Insert(l.jobs, i, j)
}

func (o *order) remove(j *jobState) {
	k, there := o.find(j)
	if !there {
		return
	}
	l := o.lanes[k]
	i := sort.Search(len(l.jobs), func(i int) bool { return l.jobs[i].seq >= j.seq })
	if i < len(l.jobs) && l.jobs[i] == j {
		l.jobs = slices.Delete(l.jobs, i, i+1)
	}
	if len(l.jobs) == 0 {
		o.lanes = slices.Delete(o.lanes, k, k+1)
	}
}

func (o *order) rank(j *jobState, part int, now Time) rank {
	class := aged(j.spec.Class, now-j.submitted, o.step)
	return rank{class: class, turn: o.turn(j, class), seq: j.seq, part: part}
}

// each calls f with the live jobs, best first, until f says stop by false. f
// adds and removes none.
func (o *order) each(now Time, f func(*jobState) bool) {
	heads := make([]head, 0, len(o.lanes))
	for _, l := range o.lanes {
		heads = append(heads, head{rank: o.rank(l.jobs[0], 0, now), lane: l})
	}
	for len(heads) > 0 {
		k := 0
		for i := range heads {
			if heads[i].rank.before(heads[k].rank) {
				k = i
			}
		}
		h := &heads[k]
		j := h.lane.jobs[h.at]
		if h.at++; h.at < len(h.lane.jobs) {
			h.rank = o.rank(h.lane.jobs[h.at], 0, now)
		} else {
			heads = slices.Delete(heads, k, k+1)
		}
		if !f(j) {
			return
		}
	}
}

// head is the next job of a lane.
type head struct {
	rank rank
	lane *lane
	at   int
}
