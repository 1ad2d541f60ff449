package sha256

import (
	"math/bits"

	"cuzk/gadget/boolean"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

// step is what one operation on words allocates. The operation's value, 32 bits
// of a gate, the whole of a sum, or for a majority maj in the even and b ∧ c in
// the odd places of 64 bits, is turned over at flip, and its bits at mask are
// allocated, lowest first.
type step struct {
	mask, flip uint64
}

// Plan is the order in which the bits of a compression of one shape are
// allocated: a step an operation, in order. It is read only and may be shared.
type Plan struct {
	schedule [rounds - blockWords]scheduleSteps
	rounds   [rounds]roundSteps
	final    [stateWords]step
	bits     int
	full     [2]uint64 // bit i: schedule word i, round i have the steps of variables
	constant bool      // the schedule allocates nothing
}

// scheduleSteps and roundSteps follow the order of operations in compress.
type scheduleSteps struct{ s0a, s0b, s1a, s1b, sum step }

type roundSteps struct{ e, s1a, s1b, ch, a, s0a, s0b, maj step }

// Steps of operations on variables alone.
var (
	gate         = step{mask: 1<<32 - 1}
	fullSchedule = scheduleSteps{gate, step{mask: 1<<29 - 1}, gate, step{mask: 1<<22 - 1}, step{mask: 1<<34 - 1}}
	fullRound    = roundSteps{step{mask: 1<<35 - 1}, gate, gate, gate, step{mask: 1<<35 - 1}, gate, gate, step{mask: 1<<64 - 1}}
)

// NewPlan finds the plan of a compression's shape.
func NewPlan(c *Compression) *Plan {
	n := &noter{}
	g := c.over(make([]r1cs.Var, len(c.ports())))
	compress(n, &g.Block, &g.State)
	return n.plan()
}

// Bits is the number of variables, all bits.
func (p *Plan) Bits() int { return p.bits }

// noter runs the compression function on forms and notes a step for each
// operation.
type noter struct {
	bits  int
	steps []step
}

func (n *noter) note(st step) {
	n.bits += bits.OnesCount64(st.mask)
	n.steps = append(n.steps, st)
}

// gate notes a gate that allocates at most one bit a place: where it does, the
// bit is the result, or its opposite if the result is a negation.
func (n *noter) gate(f func(k int) outcome) (out u32.Word) {
	var st step
	for k := range out {
		o := f(k)
		out[k] = boolean.Of(o.form, 0)
		st.mask |= uint64(o.bits) << k
		if o.form == boolean.NotVar {
			st.flip |= 1 << k
		}
	}
	n.note(st)
	return out
}

func (n *noter) xor(a, b u32.Word) u32.Word {
	return n.gate(func(k int) outcome { return outcomes.xor[a[k].Form()][b[k].Form()] })
}

func (n *noter) ch(a, b, c u32.Word) u32.Word {
	return n.gate(func(k int) outcome { return outcomes.ch[a[k].Form()][b[k].Form()][c[k].Form()] })
}

// maj allocates majority and b ∧ c, or after folding one bit, which is the
// majority or its opposite.
func (n *noter) maj(a, b, c u32.Word) (out u32.Word) {
	var st step
	for k := range out {
		o := outcomes.maj[a[k].Form()][b[k].Form()][c[k].Form()]
		out[k] = boolean.Of(o.form, 0)
		st.mask |= (1<<o.bits - 1) << (2 * k)
		if o.form == boolean.NotVar {
			st.flip |= 1 << (2 * k)
		}
	}
	n.note(st)
	return out
}

// add notes the bits of the whole sum; constants have none.
func (n *noter) add(words ...u32.Word) (out u32.Word) {
	if x, ok := u32.ConstSum(words); ok {
		n.note(step{})
		return u32.Const(x)
	}
	n.note(step{mask: 1<<u32.SumBits(len(words)) - 1})
	for k := range out {
		out[k] = boolean.Is(0)
	}
	return out
}

// plan sorts the steps into the form that Witness reads. Where a or e is not a
// sum yet, compress adds nothing and there is no step.
func (n *noter) plan() *Plan {
	p := &Plan{bits: n.bits, constant: true}
	at := 0
	next := func() step { at++; return n.steps[at-1] }
	for i := range p.schedule {
		s := &p.schedule[i]
		*s = scheduleSteps{next(), next(), next(), next(), next()}
		if *s == fullSchedule {
			p.full[0] |= 1 << i
		}
		p.constant = p.constant && *s == scheduleSteps{}
	}
	for i := range p.rounds {
		r := &p.rounds[i]
		if i > 0 {
			r.e = next()
		}
		r.s1a, r.s1b, r.ch = next(), next(), next()
		if i > 0 {
			r.a = next()
		}
		r.s0a, r.s0b, r.maj = next(), next(), next()
		if *r == fullRound {
			p.full[1] |= 1 << i
		}
	}
	for i := range p.final {
		p.final[i] = next()
	}
	return p
}

// write appends the bits of an operation's value that are allocated.
func (st step) write(w *r1cs.Writer, x uint64) {
	x ^= st.flip
	for mask := st.mask; mask != 0; {
		from := uint(bits.TrailingZeros64(mask))
		mask >>= from
		n := uint(bits.TrailingZeros64(^mask))
		x >>= from
		w.Word(x&(1<<n-1), n)
		x >>= n // n is 64 only if nothing is left
		mask >>= n
	}
}
