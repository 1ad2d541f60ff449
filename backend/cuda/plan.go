package cuda

import (
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/backend"
	gpu "cuzk/cuda"
)

// Plan is the memory of one key and the work on assignments, worked out before
// anything is allocated.
type Plan struct {
	Circuit string
	Items   []PlanItem // of device memory
	Cap     int64      // what may be allocated of it
	Host    []PlanItem // points that are brought from the host, slice by slice
	Pinned  bool       // those are in pinned memory, not in the key file
	Slice   int64      // bytes of a slice; 0: the whole key is on the device
	Round   int        // assignments for which a slice is brought once

	layout
	values  *inValues
	first   int64 // bytes of the first vector
	scratch int64 // behind the vectors
	second  int64 // of the second lane
}

// layout is how the work is laid out.
type layout struct {
	full    bool            // the table of all twiddles
	lanes   int             // streams for one assignment
	works   int             // assignments worked on at a time
	away    map[string]bool // queries that do not stay on the device
	vectors int64           // bytes of one vector of the domain's size
}

// PlanItem is one line of a plan.
type PlanItem struct {
	Name  string
	Bytes int64
	Note  string
}

// Total is the sum of the items.
func (p *Plan) Total() int64 { return sumItems(p.Items) }

// HostTotal is the sum of what is brought from the host.
func (p *Plan) HostTotal() int64 { return sumItems(p.Host) }

func sumItems(list []PlanItem) (n int64) {
	for _, i := range list {
		n += i.Bytes
	}
	return n
}

// String is a table of the items in MiB.
func (p *Plan) String() string {
	var b strings.Builder
	mib := func(n int64) float64 { return float64(n) / (1 << 20) }
	table := func(list []PlanItem) {
		for _, i := range list {
			fmt.Fprintf(&b, "  %-12s %10.1f MiB  %s\n", i.Name, mib(i.Bytes), i.Note)
		}
	}
	fmt.Fprintf(&b, "device memory for %s\n", p.Circuit)
	table(p.Items)
	fmt.Fprintf(&b, "  %-12s %10.1f MiB  of %.1f MiB\n", "total", mib(p.Total()), mib(p.Cap))
	if p.Slice == 0 {
		return b.String()
	}
	where := "the key file"
	if p.Pinned {
		where = "pinned host memory"
	}
	fmt.Fprintf(&b, "streamed from %s, once for up to %d assignments\n", where, p.Round)
	table(p.Host)
	fmt.Fprintf(&b, "  %-12s %10.1f MiB\n", "total", mib(p.HostTotal()))
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
	values *inValues // H is computed in values
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
	if n.Options.slice > 0 {
		return n.streamed(limit)
	}
	p := n.resident(limit)
	if v := n.inValues(); v != nil {
		in := n
		in.values = v
		if q := in.resident(limit); q != nil && (p == nil || n.Values == ValuesAlways || v.gainsMuch(n.layout.M()) || q.sameWay(p)) {
			return q, nil
		}
	}
	if p != nil {
		return p, nil
	}
	whole, tight := n.tightPlan(limit)
	if tight == nil {
		return whole, nil
	}
	p, err := n.streamed(limit)
	if err == nil {
		return p, nil
	}
	if whole.Total() < p.Total() {
		err = tight // a key so small that the buffers take more
	}
	return nil, err
}

// resident is the fastest way that fits with the whole key on the device and sums in
// one part, nil if none does.
func (n need) resident(limit int64) *Plan {
	best := map[float64]sumBytes{}
	for works := max(n.Works, 1); works > 0; works-- {
		for _, t := range tries {
			if n.Lanes > 0 && t.lanes > n.Lanes {
				continue
			}
			if _, ok := best[t.slack]; !ok {
				best[t.slack] = n.sums(unlimited, t.slack)
			}
			p := n.fixed(limit, layout{full: t.full, lanes: t.lanes, works: works})
			p.scratch, p.second = n.scratch(p, best[t.slack])
			if p.addScratch(); p.Total() <= limit {
				return p
			}
		}
	}
	return nil
}

// sameWay tells whether another plan works in the same way: as many proofs at a time,
// lanes and tables.
func (p *Plan) sameWay(q *Plan) bool {
	return p.works == q.works && p.lanes == q.lanes && p.full == q.full
}

// refused is the error of a plan that does not fit.
func (n need) refused(p *Plan) error {
	return fmt.Errorf("%w: circuit %s needs %d MiB on the device, %d may be used:\n%s", gpu.ErrOutOfMemory, n.circuit, p.Total()>>20, p.Cap>>20, p)
}

// tightPlan is one lane with sums in as many parts as it takes.
func (n need) tightPlan(limit int64) (*Plan, error) {
	p := n.fixed(limit, layout{lanes: 1, works: 1})
	most, _ := n.scratch(p, n.sums(unlimited, 1.03))
	least := n.leastScratch(p)
	p.scratch = min(most, limit-p.Total())
	if p.scratch < least {
		p.scratch = least
		p.addScratch()
		return p, n.refused(p)
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

// fixed are all items but the scratch memory and the buffers of slices.
func (n need) fixed(limit int64, l layout) *Plan {
	p := &Plan{Circuit: n.circuit, Cap: limit, Round: 1, layout: l}
	p.vectors, p.values = int64(n.layout.M())*fr.Bytes, n.values
	for _, name := range p.names() {
		if item := n.points(name); p.away[name] {
			p.Host = append(p.Host, item)
		} else {
			p.Items = append(p.Items, item)
		}
	}
	add := func(name string, bytes int64, note string) {
		p.Items = append(p.Items, PlanItem{name, bytes, note})
	}
	add("sets", n.members.a.selectors()+n.members.b.selectors(), "who has a point")
	add("program", n.program, "rows and instances")
	note := "without the large table of twiddles"
	if l.full {
		note = "with the large table of twiddles"
	}
	add("transforms", transformBytes(n.layout.LogM, l.full), note)
	if l.away == nil {
		p.work("assignment", n.assignment(), "bits, elements, inputs")
	}
	p.first, note = aligned(p.vectors), "a, b, c; memory for sums afterwards"
	if v := p.values; v != nil {
		p.work("rows", aligned(v.splitBytes()), "which have a small product, and which do not")
		p.first, note = aligned(int64(v.multiples())*fr.Bytes), "multipliers of K, a, b; a and b are memory for sums afterwards"
	}
	p.work("vectors", p.first+2*aligned(p.vectors), note)
	add("reserve", reserve, "rounding")
	return p
}

// points is the item of a query.
func (n need) points(name string) PlanItem {
	if name == "k" || name == "m" {
		return n.values.points(name)
	}
	if name == "h" {
		h := n.layout.Shape.H
		return PlanItem{name, aligned(int64(h) * curveG1.point), fmt.Sprintf("%d points", h)}
	}
	q := n.query(name)
	bits, others := q.m.points()
	return PlanItem{name, aligned(int64(bits)*q.curve.point) + aligned(int64(others)*q.curve.point), fmt.Sprintf("%d points of bits, %d of elements", bits, others)}
}

// memberQuery is a query of variables.
type memberQuery struct {
	m     *members
	curve curve
}

func (n need) query(name string) memberQuery {
	switch name {
	case "l":
		return memberQuery{&n.members.l, curveG1}
	case "a":
		return memberQuery{&n.members.a, curveG1}
	case "b_g1":
		return memberQuery{&n.members.b, curveG1}
	default:
		return memberQuery{&n.members.b, curveG2}
	}
}

// assignment is the memory of one on the device.
func (n need) assignment() int64 {
	c := n.layout.Counts
	return aligned(int64(c.Bits+31)/32*4+8) + aligned(int64(c.Aux-c.Bits)*fr.Bytes) + aligned(int64(c.Inputs)*fr.Bytes)
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

// sumBytes is the memory that the sums for H take, and the largest of the others
// with the values selected for it.
type sumBytes struct{ h, others int64 }

// sums is that of the best sums within a budget, or with no limit of those within
// the slack.
func (n need) sums(budget int64, slack float64) (b sumBytes) {
	if n.values != nil {
		b.h = n.values.sums(n.facts, budget, slack)
	} else {
		b.h = msmBytes(n.facts, curveG1, n.layout.Shape.H, budget, slack)
	}
	for _, name := range queryNames[1:] {
		q := n.query(name)
		bits, others := q.m.points()
		sum := max(msmBytes(n.facts, q.curve, others, budget, slack), bitsBytes(n.facts, q.curve, bits, budget))
		b.others = max(b.others, n.selected(q.m)+sum)
	}
	return b
}

// scratch is the memory for sums behind the vectors, and that of the second lane if
// there is one.
func (n need) scratch(p *Plan, b sumBytes) (first, second int64) {
	v := aligned(p.vectors)
	first = max(readerBytes(n.layout.Counts)-p.first-2*v, b.h-2*v, 0)
	if p.lanes == 1 {
		return aligned(max(first, b.others-p.first-2*v)), 0
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

// bitsBytes is what the sum over bits takes within the budget, 0 if nothing does.
func bitsBytes(f facts, cv curve, n int, budget int64) int64 {
	if n == 0 {
		return 0
	}
	bytes, _ := bitsFit(f, cv, n, budget)
	return bytes
}
