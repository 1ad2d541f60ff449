package cuda

import (
	"cmp"
	"slices"
	"sync"
)

// choice is what a plan for one part of a sum is made from, with what it costs and
// takes.
type choice struct {
	windows, group, recoded int
	cost                    float64
	bytes                   int64
}

func (c choice) plan(f facts, cv curve, n int) plan {
	return newPlan(f, cv, n, newWindows(c.windows), c.group, c.recoded)
}

// choiceKey is all that choices depend on.
type choiceKey struct {
	sms, shared, blocks, binBlock, depth int
	curve                                curve
	n, only                              int
}

// known are the choices made so far. Sums of a prover have a few sizes each; a plan
// for a key asks for some thousand.
var known struct {
	sync.Mutex
	by map[choiceKey][]choice
}

// knownMost is how many sizes are remembered.
const knownMost = 1 << 14

// choicesFor lists the plans of n scalars that are worth having, the cheapest
// first: each takes less memory than the one before it.
func choicesFor(f facts, cv curve, n, only int) []choice {
	k := choiceKey{f.sms, f.shared, f.opsBlocks[cv.ops], f.binBlock, f.depth, cv, n, only}
	known.Lock()
	list, ok := known.by[k]
	known.Unlock()
	if ok {
		return list
	}
	list = allChoices(f, cv, n, only)
	known.Lock()
	defer known.Unlock()
	if known.by == nil || len(known.by) >= knownMost {
		known.by = map[choiceKey][]choice{}
	}
	known.by[k] = list
	return list
}

func allChoices(f facts, cv curve, n, only int) (list []choice) {
	from, to := minWindows, maxWindows
	if only != 0 {
		from, to = only, only
	}
	for count := from; count <= to; count++ {
		list = append(list, groupings(f, cv, n, newWindows(count))...)
	}
	slices.SortStableFunc(list, func(a, b choice) int { return cmp.Compare(a.cost, b.cost) })
	worth := list[:0]
	for _, c := range list {
		if len(worth) == 0 || c.bytes < worth[len(worth)-1].bytes {
			worth = append(worth, c)
		}
	}
	return slices.Clip(worth)
}

// groupings tries groups of one window, a few, or all.
func groupings(f facts, cv curve, n int, v windows) (list []choice) {
	for _, group := range []int{1, 2, 3, 4, 6, v.count} {
		if group > v.count {
			continue
		}
		for _, recoded := range []int{v.count, (v.count + 1) / 2, group} {
			if recoded = min((recoded+group-1)/group*group, v.count); recoded < group {
				continue
			}
			if p := newPlan(f, cv, n, v, group, recoded); p.possible(f) {
				list = append(list, choice{v.count, group, recoded, p.cost(), p.bytes(f)})
			}
		}
	}
	return list
}
