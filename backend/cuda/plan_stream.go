package cuda

// A key that does not fit is streamed: slices of its queries come to two buffers
// on the device in turn, each while the one before is summed. The memory is cut
// anew in each phase:
//
//	rows         a | b | assignment
//	quotient     a | b | c
//	sum over h   h | scratch
//	other sums   assignments | selected values | scratch
//
// and the two buffers lie beside all of it. A slice of h is brought for every
// assignment: its sum takes longer than its way over the bus. A slice of the other
// queries is brought once for all assignments of a round.

const (
	roundMost  = 16      // assignments of a round
	roundBytes = 1 << 26 // those of a round may take, or else a vector
	slicesMost = 4096    // of one list
	bitsLevels = 30      // launches of a sum over bits that wait for an inversion
	busCost    = 0.054   // additions in the time that a byte takes over the bus: 3 G/s, 55 GB/s
)

// place is the memory of one assignment and what is selected of it.
func (n need) place() int64 {
	return n.assignment() + max(n.selected(&n.members.a), n.selected(&n.members.b))
}

// streamed is the plan for a key that does not stay on the device as a whole: the
// size of slices for which sums and bus take the least. On error it is the least
// plan.
func (n need) streamed(limit int64) (best *Plan, err error) {
	sizes := []int64{n.Options.slice}
	if sizes[0] == 0 {
		sizes = nil
		for k := 1; k <= slicesMost; k += max(1, k/8) {
			sizes = append(sizes, n.sliceOf(k))
		}
	}
	least := -1.0
	for _, slice := range sizes {
		p := n.staying(limit, slice)
		if p == nil {
			continue
		}
		if c := n.sliceCost(p); least < 0 || c < least {
			best, least = p, c
		}
	}
	if best == nil {
		p := n.streamedBy(limit, everything(), sizes[len(sizes)-1])
		return p, n.refused(p)
	}
	best.Pinned = n.Options.Pinned == 0 || best.HostTotal() <= n.Options.Pinned
	return best, nil
}

// everything is all queries.
func everything() map[string]bool {
	all := map[string]bool{}
	for _, name := range queryNames {
		all[name] = true
	}
	return all
}

// staying is the plan for slices of a size where the queries stay on the device for
// which there is room, h last, since its way is hidden; nil if not even the slices
// fit.
func (n need) staying(limit, slice int64) *Plan {
	away := everything()
	p := n.streamedBy(limit, away, slice)
	if p.Total() > limit {
		return nil
	}
	for _, name := range []string{"l", "a", "b_g2", "b_g1", "h"} {
		delete(away, name)
		if q := n.streamedBy(limit, away, slice); len(away) > 0 && q.Total() <= limit {
			p = q
		} else {
			away[name] = true
		}
	}
	return p
}

// sliceOf cuts the largest query into k slices.
func (n need) sliceOf(k int) (slice int64) {
	for _, name := range queryNames {
		slice = max(slice, n.points(name).Bytes)
	}
	return int64(roundUp(int((slice+int64(k)-1)/int64(k)), int(sliceGrain*curveG2.point)))
}

// streamedBy is the plan with slices of a size, whether or not it fits. Sums take
// the memory that there is, and what they need at least.
func (n need) streamedBy(limit int64, away map[string]bool, slice int64) *Plan {
	copied := map[string]bool{}
	for name := range away {
		copied[name] = true
	}
	p := n.fixed(limit, layout{lanes: 1, works: 1, away: copied})
	p.Slice, p.Pinned = slice, true
	v := aligned(p.vectors)
	p.Items = append(p.Items, PlanItem{"slices", 2 * aligned(slice), "of points: one is brought while the other is summed"})
	p.Round = int(max(1, min(roundMost, max(v, roundBytes)/n.place())))
	room := max(limit-p.Total(), 0)
	places := int64(p.Round) * n.place()
	h, others := n.slicedSums(p, 2*v+room, 3*v+room-places)
	p.scratch = aligned(max(0, n.assignment()-v, readerBytes(n.layout.Counts)-3*v, h-2*v, places+others-3*v))
	p.addScratch()
	return p
}

// slicedSums is the memory for the sums over slices, within budgets where that is
// possible.
func (n need) slicedSums(p *Plan, budgetH, budgetOthers int64) (h, others int64) {
	h = n.leastOf(budgetH, func(b int64) (int64, bool) {
		return msmFits(n.facts, curveG1, stepOf(n.layout.Shape.H, curveG1.point, p.Slice), b)
	})
	for _, name := range queryNames[1:] {
		q := n.query(name)
		bits, elements := q.m.points()
		others = max(others, n.leastOf(budgetOthers, func(b int64) (int64, bool) {
			return msmFits(n.facts, q.curve, stepOf(elements, q.curve.point, p.Slice), b)
		}), n.leastOf(budgetOthers, func(b int64) (int64, bool) {
			return bitsFit(n.facts, q.curve, stepOf(bits, q.curve.point, p.Slice), b)
		}))
	}
	return h, others
}

// leastOf is what fits takes within the budget, or within the smallest larger one.
func (n need) leastOf(budget int64, fits func(int64) (int64, bool)) int64 {
	for b := max(budget, 1<<12); b < unlimited; b *= 2 {
		if bytes, ok := fits(b); ok {
			return bytes
		}
	}
	return unlimited
}

func msmFits(f facts, cv curve, n int, budget int64) (int64, bool) {
	p, err := planMSM(f, cv, n, budget, 0)
	if err != nil {
		return 0, false
	}
	return p.bytes(f), true
}

func bitsFit(f facts, cv curve, n int, budget int64) (int64, bool) {
	p, err := planBits(f, cv, n, budget)
	if err != nil {
		return 0, false
	}
	c := carver{dry: true}
	p.carve(f, &c)
	return c.used, true
}

// sliceCost estimates what the sums of one assignment take by the slices, in
// additions of G1, with the way of all queries but h.
func (n need) sliceCost(p *Plan) (total float64) {
	const launch, g2 = 200e3, 3
	v := aligned(p.vectors)
	multiples := func(cv curve, points int, budget int64) float64 {
		if points == 0 {
			return 0
		}
		step := stepOf(points, cv.point, p.Slice)
		q, err := planMSM(n.facts, cv, step, budget, 0)
		if err != nil {
			return 0
		}
		return q.total(step) * float64((points+step-1)/step)
	}
	total = multiples(curveG1, n.layout.Shape.H, 2*v+p.scratch)
	for _, name := range queryNames[1:] {
		q := n.query(name)
		bits, elements := q.m.points()
		weight := 1.0
		if q.curve == curveG2 {
			weight = g2
		}
		total += weight * multiples(q.curve, elements, 3*v+p.scratch-int64(p.Round)*n.place())
		if p.away[name] {
			total += busCost * float64(n.points(name).Bytes)
		}
		step := stepOf(bits, q.curve.point, p.Slice)
		total += float64((bits+step-1)/step) * bitsLevels * launch
	}
	return total
}
