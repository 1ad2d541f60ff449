package sched

import (
	"slices"
	"sort"

	"cuzk/job"
)

// rank is a position in the one order of all work: a lower rank goes first.
type rank struct {
	class job.Class // with age
	seq   int       // of the job
	part  int
}

func (a rank) before(b rank) bool {
	if a.class != b.class {
		return a.class > b.class
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

// order holds the live jobs, one list a class, each sorted by age. Since all
// jobs of a class age alike, merging the heads of the lists gives the order.
type order struct {
	step  Time
	lists [job.Critical + 1][]*jobState
}

func (o *order) add(j *jobState) {
	l := &o.lists[j.spec.Class]
	i := sort.Search(len(*l), func(i int) bool { return (*l)[i].seq > j.seq })
	*l = slices.Insert(*l, i, j)
}

func (o *order) remove(j *jobState) {
	l := &o.lists[j.spec.Class]
	i := sort.Search(len(*l), func(i int) bool { return (*l)[i].seq >= j.seq })
	if i < len(*l) && (*l)[i] == j {
		*l = slices.Delete(*l, i, i+1)
	}
}

func (o *order) rank(j *jobState, part int, now Time) rank {
	return rank{class: aged(j.spec.Class, now-j.submitted, o.step), seq: j.seq, part: part}
}

// each calls f with the live jobs, best first, until f says stop by false.
func (o *order) each(now Time, f func(*jobState) bool) {
	var at [job.Critical + 1]int
	for {
		best := (*jobState)(nil)
		for c := range o.lists {
			if at[c] == len(o.lists[c]) {
				continue
			}
			j := o.lists[c][at[c]]
			if best == nil || o.rank(j, 0, now).before(o.rank(best, 0, now)) {
				best = j
			}
		}
		if best == nil {
			return
		}
		at[best.spec.Class]++
		if !f(best) {
			return
		}
	}
}
