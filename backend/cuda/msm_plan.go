package cuda

import (
	"fmt"
	"math/bits"

	gpu "cuzk/cuda"
)

const (
	opsThreads = 128 // of a block of additions
	opsDepth   = 128 // most additions of a lane that share an inversion, on cards

	sortItems    = 16   // elements of a thread in a tile
	sortMaxBins  = 4096 // of one pass; msm_sort.cu has the same numbers
	sortMaxBits  = 12
	scanItems    = 256 * 16
	tailBitsMany = 14 // points left of a window's rows or columns, when windows
	tailBitsFew  = 10 // are reduced in many groups, or in few

	minWindows = 11 // so that buckets of a window have 23 bits at most
	maxWindows = 40

	// The counter of exceptions is followed, at 256 bytes, by a point at infinity
	// that references to none are read from.
	exceptionBytes = 256 + 192

	refLimit  = 1 << 30 // indexes of points and slots
	treeLevel = 32      // levels that the device counts, and the largest bucket
)

// windows cuts 255 bits of a signed scalar: the first narrow windows have width
// bits, the others one more.
type windows struct {
	count, width, narrow int
}

func newWindows(count int) windows {
	return windows{count, 255 / count, count - 255%count}
}

// bits is the width of window w, and position the weight of its lowest bit.
func (v windows) bits(w int) int {
	if w < v.narrow {
		return v.width
	}
	return v.width + 1
}

func (v windows) position(w int) int { return w*v.width + max(0, w-v.narrow) }

// bucketBits: a window of c bits has 2^(c-1) buckets, one a magnitude.
func (v windows) bucketBits(w int) int { return v.bits(w) - 1 }

// maxBucketBits is the bits that arrays of buckets are laid out for.
func (v windows) maxBucketBits() int { return v.bucketBits(v.count - 1) }

// bias is added to a scalar so that windows become independent: half of each
// window's range.
func (v windows) bias() (b [4]uint64) {
	for w := range v.count {
		at := v.position(w) + v.bits(w) - 1
		b[at/64] |= 1 << (at % 64)
	}
	return b
}

// plan is how an MSM is cut up and where its arrays lie in the scratch memory.
type plan struct {
	curve   curve
	n       int // scalars of a part
	windows windows
	group   int // windows sorted and summed at a time
	recoded int // windows whose digits are kept, a multiple of group or all

	buckets  int // of a window, 2^bucketBits
	log      int // bucketBits
	split    int // low bits of a bucket's index: the columns
	halvings int // of rows and columns before the sums by bits
	binLimit int // elements of a bin that one block sorts
	threads  int // of a block that moves elements to bins
	binBlock int // of a block that sorts bins
	blocks   int // of the sort, a row

	mem planMemory
}

// planMemory is the arrays; sets of two alternate between groups, since the next
// group is sorted before the present one is summed.
type planMemory struct {
	digits, pairs, keys      gpu.Memory
	table                    [2]gpu.Memory
	counts, flags            gpu.Memory
	sums                     gpu.Memory // of scans
	values, begins, sizes    [2]gpu.Memory
	totals                   [2]gpu.Memory
	offsets, refs, ops       gpu.Memory
	slots, tails, descriptor gpu.Memory
	prefix, exceptions       gpu.Memory
}

// carver cuts ranges off memory, or only adds them up when it has none.
type carver struct {
	mem  gpu.Memory
	used int64
	dry  bool
}

func (c *carver) take(bytes int64) gpu.Memory {
	const align = 256
	at := c.used
	c.used += (max(bytes, 1) + align - 1) &^ (align - 1)
	if c.dry || c.used > c.mem.Bytes {
		return gpu.Memory{}
	}
	return c.mem.Slice(at, max(bytes, 1))
}

// newPlan fills in what follows from the size, the windows and the grouping.
func newPlan(f facts, cv curve, n int, v windows, group, recoded int) plan {
	p := plan{curve: cv, n: n, windows: v, group: group, recoded: recoded}
	p.log = v.maxBucketBits()
	p.buckets = 1 << p.log
	tail := tailBitsFew
	if (v.count+group-1)/group > 4 {
		tail = tailBitsMany
	}
	p.split = p.log / 2
	p.halvings = min(max(p.log-tail, 0), p.split)
	p.threads = 512
	for p.threads > 32 && (p.sortShared(p.sortBits()) > f.shared || p.tile()/2 >= n) {
		p.threads /= 2
	}
	p.binBlock = p.threads
	if f.binBlock != 0 {
		p.binBlock = min(p.threads, f.binBlock)
	}
	p.blocks = max(1, min(f.sms, (n+p.tile()-1)/p.tile()))
	p.binLimit = 4*(n>>(p.log/2)) + 8*p.tile()
	return p
}

func (p *plan) tile() int { return p.threads * sortItems }

// sortBits is the bits of the larger step of the sort.
func (p *plan) sortBits() int { return p.log - p.log/2 }

// sortShared is the dynamic shared memory of a step by so many bits.
func (p *plan) sortShared(bits int) int { return sortShared(p.threads, bits) }

func sortShared(threads, bits int) int {
	return 8*threads*sortItems + threads/32*2<<bits + 3*4<<bits + 4*40
}

func (p *plan) tailBits() int { return p.log - p.halvings }

// sides: rows and columns, or the buckets themselves when there are few.
func (p *plan) sides() int {
	if p.halvings > 0 {
		return 2
	}
	return 1
}

// levels bounds the levels of a tree: one bucket may hold all points.
func (p *plan) levels() int { return bits.Len(uint(p.n)) }

// maxSums is the most sums by bits.
func (p *plan) maxSums() int { return p.windows.count * (p.log + 1) }

// slotCount is room for the results of a group's trees and of the halvings after
// them, or for the sums by bits at the end.
func (p *plan) slotCount() int64 {
	tree := int64(p.group)*int64(p.n) + 2*int64(p.group)*int64(p.buckets)
	return max(tree, int64(p.maxSums())<<max(p.tailBits()-1, 1))
}

func (p *plan) opCount() int64 {
	g := int64(p.group)
	return max(g*int64(p.n)/2+1, g*int64(p.buckets), int64(p.maxSums())<<max(p.tailBits()-2, 0))
}

// warps of a launch of additions that fills the device.
func (f facts) warps(cv curve) int { return f.sms * f.opsBlocks[cv.ops] * opsThreads / 32 }

// opsDepth is the most additions of a lane that share an inversion.
func (f facts) opsDepth() int {
	if f.depth == 0 {
		return opsDepth
	}
	return f.depth
}

func (f facts) prefixBytes(cv curve) int64 {
	return int64(f.warps(cv)) * 32 * int64(f.opsDepth()) * cv.field
}

// carve lays the arrays out; the total is the carver's.
func (p *plan) carve(f facts, c *carver) {
	g, n, nb := int64(p.group), int64(p.n), int64(p.buckets)
	m := &p.mem
	m.digits = c.take(int64(p.recoded) * n * 4)
	m.pairs = c.take(g * n * 8)
	m.keys = c.take(g * n * 4)
	cells := int64(p.blocks)<<p.sortBits() + 1
	scans := max(g*((cells+scanItems)/scanItems), int64(p.levels())*((g*nb+scanItems)/scanItems))
	for i := range 2 {
		m.table[i] = c.take(g * cells * 4)
		m.values[i] = c.take(g * n * 4)
		m.begins[i] = c.take(g * nb * 4)
		m.sizes[i] = c.take(g * nb * 4)
		m.totals[i] = c.take(2 * treeLevel * 4)
	}
	m.counts = c.take(g * 4)
	m.flags = c.take(g * 4)
	m.sums = c.take(scans * 4)
	m.offsets = c.take(int64(p.levels()) * (g*nb + 1) * 4)
	m.refs = c.take(g * nb * 4)
	m.ops = c.take(p.opCount() * 8)
	m.slots = c.take(p.slotCount() * p.curve.point)
	m.tails = c.take(int64(p.windows.count*p.sides()) << p.tailBits() * p.curve.point)
	m.descriptor = c.take(int64(p.maxSums()) * 8)
	m.prefix = c.take(f.prefixBytes(p.curve))
	m.exceptions = c.take(exceptionBytes)
}

func (p *plan) bytes(f facts) int64 {
	c := carver{dry: true}
	q := *p
	q.carve(f, &c)
	return c.used
}

// cost estimates the time of a part in additions: those in buckets with the sort
// of their digits, those over buckets, and the launches that wait for an inversion.
// The weights are from an H200, 2^20 to 2^27 points.
func (p *plan) cost() float64 {
	const launch, sort = 200e3, 0.15 // 60 us; 0.4 ms for 2^23 digits
	groups := float64((p.windows.count + p.group - 1) / p.group)
	depth := float64(bits.Len(uint(max(1, p.n/p.buckets))) + 2 + p.halvings)
	total := float64(p.windows.count)*float64(p.n)*(1+sort) + groups*depth*launch
	for w := range p.windows.count {
		total += float64(p.sides()) * float64(int(1)<<p.windows.bucketBits(w))
	}
	if p.sortBits() == sortMaxBits {
		total += float64(p.windows.count) * float64(p.n) * sort // blocks are half as large
	}
	total += float64(p.maxSums())*float64(int64(1)<<max(p.tailBits()-1, 0)) + float64(p.tailBits())*launch
	if p.recoded < p.windows.count {
		total += float64(p.windows.count-p.recoded) / float64(p.recoded) * float64(p.n) * 0.03
	}
	return total
}

// possible says whether indexes and a block's shared memory suffice.
func (p *plan) possible(f facts) bool {
	return p.slotCount() < refLimit && int64(p.group)*int64(p.n) < refLimit && p.sortBits() <= sortMaxBits &&
		p.sortShared(p.sortBits()) <= f.shared
}

// planMSM chooses the windows, the grouping and the number of parts for n scalars
// with the least estimated cost in the memory. only, if not 0, is the number of
// windows.
func planMSM(f facts, cv curve, n int, budget int64, only int) (plan, error) {
	for parts := 1; parts <= n; parts *= 2 {
		size := (n + parts - 1) / parts
		for _, c := range choicesFor(f, cv, size, only) {
			if c.bytes <= budget {
				return c.plan(f, cv, size), nil
			}
		}
	}
	return plan{}, fmt.Errorf("%d bytes of scratch memory are too few for any plan", budget)
}
