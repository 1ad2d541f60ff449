package cuda

import (
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	gpu "cuzk/cuda"
)

// Plan is the device memory of one key and the work on one assignment at a time,
// worked out before anything is allocated.
type Plan struct {
	Circuit string
	Items   []PlanItem
	Cap     int64 // what may be allocated

	full    bool  // the table of all twiddles
	lanes   int   // streams for one assignment
	works   int   // assignments worked on at a time
	vectors int64 // bytes of one vector of the domain's size
	scratch int64 // behind the vectors
	second  int64 // of the second lane
}

// PlanItem is one line of a plan.
type PlanItem struct {
	Name  string
	Bytes int64
	Note  string
}

// Total is the sum of the items.
func (p *Plan) Total() (n int64) {
	for _, i := range p.Items {
		n += i.Bytes
	}
	return n
}

// String is a table of the items in MiB.
func (p *Plan) String() string {
	var b strings.Builder
	mib := func(n int64) float64 { return float64(n) / (1 << 20) }
	fmt.Fprintf(&b, "device memory for %s\n", p.Circuit)
	for _, i := range p.Items {
		fmt.Fprintf(&b, "  %-12s %10.1f MiB  %s\n", i.Name, mib(i.Bytes), i.Note)
	}
	fmt.Fprintf(&b, "  %-12s %10.1f MiB  of %.1f MiB\n", "total", mib(p.Total()), mib(p.Cap))
	return b.String()
}

// need is what a plan is made from.
type need struct {
	circuit string
	layout  *backend.Layout
	members *querySets
	program int64 // bytes
	facts   facts
	Options
}

// reserve is left for the driver's own use and for the pages that small
// allocations are rounded up to.
const reserve = 64 << 20

// unlimited is a budget that nothing reaches.
const unlimited = 1 << 50

// tries are the ways to lay out the work, the fastest first. slack is what the sums
// may cost beside what any memory would make of them. Measured on an H200 with
// porep-32GiB: the second lane is worth 50 ms of a proof, the table of all twiddles
// 16 ms; 2% of the sum over h are 11 ms for 19 GiB.
var tries = []struct {
	slack float64
	full  bool
	lanes int
}{{1.01, true, 2}, {1.03, true, 2}, {1.03, false, 2}, {1.03, true, 1}, {1.03, false, 1}}

// newProverPlan fits the work into limit bytes. Where the fastest way takes more,
// there is first less at a time, then another way; then the sums take more parts.
func newProverPlan(n need, limit int64) (*Plan, error) {
	best := map[float64]sumBytes{}
	for works := max(n.Works, 1); works > 0; works-- {
		for _, t := range tries {
			if n.Lanes > 0 && t.lanes > n.Lanes {
				continue
			}
			if _, ok := best[t.slack]; !ok {
				best[t.slack] = n.sums(unlimited, t.slack)
			}
			p := n.fixed(limit, t.full, t.lanes, works)
			p.scratch, p.second = n.scratch(p, best[t.slack])
			if p.addScratch(); p.Total() <= limit {
				return p, nil
			}
		}
	}
	return n.tightPlan(limit)
}

// tightPlan is one lane with sums in as many parts as it takes.
func (n need) tightPlan(limit int64) (*Plan, error) {
	p := n.fixed(limit, false, 1, 1)
	most, _ := n.scratch(p, n.sums(unlimited, 1.03))
	least := n.leastScratch(p)
	p.scratch = min(most, limit-p.Total())
	if p.scratch < least {
		p.scratch = least
		p.addScratch()
		return nil, fmt.Errorf("%w: circuit %s needs %d MiB on the device, %d may be used:\n%s", gpu.ErrOutOfMemory, n.circuit, p.Total()>>20, limit>>20, p)
	}
	p.addScratch()
	return p, nil
}

// addScratch adds the items of scratch memory.
func (p *Plan) addScratch() {
	note := "behind the vectors, for all sums"
	if p.lanes > 1 {
		note = "behind the vectors, for the sum over h"
	}
	p.work("scratch", max(p.scratch, sectionAlign), note)
	if p.lanes > 1 {
		p.work("second lane", max(p.second, sectionAlign), "for the other sums, which run beside")
	}
}

// work adds an item that every workspace has.
func (p *Plan) work(name string, bytes int64, note string) {
	if p.works > 1 {
		note = fmt.Sprintf("%d times: %s", p.works, note)
	}
	p.Items = append(p.Items, PlanItem{name, bytes * int64(p.works), note})
}

// fixed are all items but the scratch memory.
func (n need) fixed(limit int64, full bool, lanes, works int) *Plan {
	s, c := n.layout.Shape, n.layout.Counts
	p := &Plan{Circuit: n.circuit, Cap: limit, full: full, lanes: lanes, works: works, vectors: int64(n.layout.M()) * fr.Bytes}
	add := func(name string, bytes int64, note string) {
		p.Items = append(p.Items, PlanItem{name, bytes, note})
	}
	points := func(name string, m *members, cv curve) {
		bits, others := m.points()
		add(name, aligned(int64(bits)*cv.point)+aligned(int64(others)*cv.point), fmt.Sprintf("%d points of bits, %d of elements", bits, others))
	}
	add("h", aligned(int64(s.H)*curveG1.point), fmt.Sprintf("%d points", s.H))
	points("l", &n.members.l, curveG1)
	points("a", &n.members.a, curveG1)
	points("b_g1", &n.members.b, curveG1)
	points("b_g2", &n.members.b, curveG2)
	add("sets", n.members.a.selectors()+n.members.b.selectors(), "who has a point")
	add("program", n.program, "rows and instances")
	note := "without the large table of twiddles"
	if full {
		note = "with the large table of twiddles"
	}
	add("transforms", transformBytes(n.layout.LogM, full), note)
	p.work("assignment", aligned(int64(c.Bits+31)/32*4+8)+aligned(int64(c.Aux-c.Bits)*fr.Bytes)+aligned(int64(c.Inputs)*fr.Bytes), "bits, elements, inputs")
	p.work("vectors", 3*aligned(p.vectors), "a, b, c; memory for sums afterwards")
	add("reserve", reserve, "rounding")
	return p
}

// transformBytes bounds the tables of a Quotient.
func transformBytes(logN int, full bool) int64 {
	n := int64(4 << 20) // roots, powers, scales
	for _, ch := range chunks(logN) {
		if small := ch.shift+ch.bits <= maxTableLog; ch.bits == 9 && ch.shift > 0 && (small || full) {
			n += fr.Bytes << (ch.shift + ch.bits)
		}
	}
	if logN == fusedLog {
		n += 4 * (fr.Bytes<<fusedHalf + 1<<20)
	}
	return n
}

// selected is the memory of the values selected for a query.
func (n need) selected(m *members) int64 {
	if m.all {
		return 0
	}
	bits, others := m.points()
	return aligned(int64(bits+31)/32*4) + aligned(int64(others)*fr.Bytes)
}

// sumBytes is the memory that the sum over h takes, and the largest of the others
// with the values selected for it.
type sumBytes struct{ h, others int64 }

// sums is that of the best sums within a budget, or with no limit of those within
// the slack.
func (n need) sums(budget int64, slack float64) (b sumBytes) {
	b.h = msmBytes(n.facts, curveG1, n.layout.Shape.H, budget, slack)
	for _, q := range []struct {
		m  *members
		cv curve
	}{{&n.members.l, curveG1}, {&n.members.a, curveG1}, {&n.members.b, curveG1}, {&n.members.b, curveG2}} {
		bits, others := q.m.points()
		sum := max(msmBytes(n.facts, q.cv, others, budget, slack), bitsBytes(n.facts, q.cv, bits, budget))
		b.others = max(b.others, n.selected(q.m)+sum)
	}
	return b
}

// scratch is the memory for sums behind the vectors, and that of the second lane if
// there is one.
func (n need) scratch(p *Plan, b sumBytes) (first, second int64) {
	v := aligned(p.vectors)
	first = max(readerBytes(n.layout.Counts)-3*v, b.h-2*v, 0)
	if p.lanes == 1 {
		return aligned(max(first, b.others-3*v)), 0
	}
	return aligned(first), aligned(b.others)
}

// leastScratch is scratch with sums in the smallest parts that make sense.
func (n need) leastScratch(p *Plan) int64 {
	for budget := int64(1 << 20); budget < unlimited; budget *= 2 {
		if n.possible(budget) {
			s, _ := n.scratch(p, n.sums(budget, 1))
			return s
		}
	}
	return unlimited
}

// possible tells whether every sum has a plan within the budget.
func (n need) possible(budget int64) bool {
	_, err := planMSM(n.facts, curveG1, max(n.layout.Shape.H, 1), budget, 0)
	if err != nil {
		return false
	}
	_, others := n.members.b.points()
	_, err = planMSM(n.facts, curveG2, max(others, 1), budget, 0)
	bits, _ := n.members.b.points()
	if err == nil && bits > 0 {
		_, err = planBits(n.facts, curveG2, bits, budget)
	}
	return err == nil
}

// msmBytes is what the best sum within the budget takes, 0 if there is none. With
// no limit it is the least that costs slack times what any memory would.
func msmBytes(f facts, cv curve, n int, budget int64, slack float64) int64 {
	if n == 0 {
		return 0
	}
	best, err := planMSM(f, cv, n, budget, 0)
	if err != nil {
		return 0
	}
	for limit := int64(64 << 20); budget == unlimited && limit < budget; limit += limit / 4 {
		p, err := planMSM(f, cv, n, limit, 0)
		if err == nil && p.total(n) <= slack*best.total(n) {
			return p.bytes(f)
		}
	}
	return best.bytes(f)
}

// total is the cost of all parts of a sum of n multiples.
func (p *plan) total(n int) float64 { return p.cost() * float64((n+p.n-1)/p.n) }

func bitsBytes(f facts, cv curve, n int, budget int64) int64 {
	if n == 0 {
		return 0
	}
	p, err := planBits(f, cv, n, budget)
	if err != nil {
		return 0
	}
	c := carver{dry: true}
	p.carve(f, &c)
	return c.used
}
