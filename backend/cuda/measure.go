package cuda

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/cuda"
)

// Timing is a measured operation: device time by events.
type Timing struct {
	Name   string
	Median time.Duration
	Min    time.Duration
	Max    time.Duration
	Runs   int
	Work   float64 // operations of the kind the name says, a run; 0 if not counted
}

// PerSecond is Work over the median.
func (t Timing) PerSecond() float64 { return t.Work / t.Median.Seconds() }

// timed runs fn `runs` times after one warm-up and takes device times.
func timed(c *cuda.Context, name string, runs int, work float64, fn func() error) (Timing, error) {
	t := Timing{Name: name, Runs: runs, Work: work}
	from, err := c.NewEvent()
	if err != nil {
		return t, err
	}
	to, err := c.NewEvent()
	if err != nil {
		return t, err
	}
	took := make([]time.Duration, 0, runs)
	for i := range runs + 1 {
		err := inOrder([]func() error{
			func() error { return c.Record(from, cuda.Stream{}) }, fn,
			func() error { return c.Record(to, cuda.Stream{}) },
			func() error { return c.SyncEvent(to) },
		})
		if err != nil {
			return t, fmt.Errorf("%s: %w", name, err)
		}
		d, err := c.Elapsed(from, to)
		if err != nil {
			return t, err
		}
		if i > 0 {
			took = append(took, d)
		}
	}
	slices.Sort(took)
	t.Min, t.Max, t.Median = took[0], took[len(took)-1], took[len(took)/2]
	return t, errors.Join(c.CloseEvent(from), c.CloseEvent(to))
}

// rateKernels are chains of one operation a thread.
var rateKernels = []string{"rate_fp_mul", "rate_fp_sqr", "rate_fr_mul", "rate_fr_mul_lazy", "rate_fr_shoup", "rate_fr_const", "rate_fr_add"}

// MeasureRates measures field operations a second in registers.
func (d *Device) MeasureRates() (out []Timing, err error) {
	const chain, threads = 4096, 256
	blocks := d.info.SMs * 2 * 4
	err = d.owner.Do(func(c *cuda.Context) error {
		return scoped(c, func(m *memories) error {
			in, err := m.keep(upload(c, make([]byte, 1025*48)))
			if err != nil {
				return err
			}
			if err := c.Memset(in, 0x11, cuda.Stream{}); err != nil {
				return err
			}
			res, err := m.alloc(c, in.Bytes)
			if err != nil {
				return err
			}
			for _, name := range rateKernels {
				t, err := timed(c, name, 5, float64(blocks*threads)*chain, func() error {
					return d.launch(c, name, cuda.Launch{Grid: [3]int{blocks}, Block: [3]int{threads}}, uint32(chain), in, res)
				})
				if err != nil {
					return err
				}
				out = append(out, t)
			}
			return nil
		})
	})
	return out, err
}

// MeasureTransforms measures whole transforms and the quotient at 2^logN points,
// and at 2^27 every kernel of them, on random data.
func (d *Device) MeasureTransforms(logN, runs int, full bool) (out []Timing, err error) {
	err = d.owner.Do(func(c *cuda.Context) error {
		q, err := NewQuotient(c, d, logN, full)
		if err != nil {
			return err
		}
		err = scoped(c, func(m *memories) error {
			out, err = q.measure(c, m, runs)
			return err
		})
		return errors.Join(err, q.Close(c))
	})
	return out, err
}

func (q *Quotient) measure(c *cuda.Context, m *memories, runs int) (out []Timing, err error) {
	var v [3]cuda.Memory
	data := fastSample(min(int(q.n), 1<<20), 3)
	for i := range v {
		if v[i], err = m.alloc(c, int64(q.n)*fr.Bytes); err != nil {
			return nil, err
		}
		for at := int64(0); at < v[i].Bytes; at += int64(len(data)) * fr.Bytes {
			if err := c.Upload(v[i].Slice(at, int64(len(data))*fr.Bytes), rawBytes(data)); err != nil {
				return nil, err
			}
		}
	}
	size := fmt.Sprintf(" 2^%d", q.logN)
	if _, full := q.tables[chunk{fusedHalf, fusedDigit}]; full && q.logN == fusedLog {
		size += " full"
	}
	for _, cs := range q.measured(c, v) {
		t, err := timed(c, cs.name+size, runs, float64(q.n), cs.run)
		if err != nil {
			return out, err
		}
		out = append(out, t)
	}
	return out, nil
}

type measuredCase struct {
	name string
	run  func() error
}

func (q *Quotient) measured(c *cuda.Context, v [3]cuda.Memory) []measuredCase {
	a, b, x := v[0], v[1], v[2]
	var s cuda.Stream
	out := []measuredCase{
		{"DIF", func() error { return q.DIF(c, a, a, s) }},
		{"DIT", func() error { return q.DIT(c, a, a, s) }},
		{"inverse DIF out of place", func() error { return q.InverseDIF(c, b, a, s) }},
		{"quotient", func() error { _, err := q.Run(c, a, b, x, s); return err }},
	}
	if q.fused == nil {
		return out
	}
	for _, ch := range q.chunks {
		for _, dif := range []bool{true, false} {
			p := passCall{chunk: ch, dst: a, src: a, dif: dif, met: ch, meets: ch.shift > 0}
			if dif {
				p.met, p.meets = chunk{ch.shift + ch.bits, 9}, ch.shift+ch.bits < fusedLog
			}
			name := fmt.Sprintf("pass dif=%v shift %d", dif, ch.shift)
			out = append(out, measuredCase{name, func() error { return q.pass(c, p, s) }})
		}
	}
	f := q.fused
	return append(out,
		measuredCase{"h27_first", func() error { return q.launchFused(c, "h27_first", fusedArgs{a: a.Ptr, b: b.Ptr, x: x.Ptr}, s) }},
		measuredCase{"h27_turn", func() error {
			return q.launchFused(c, "h27_turn", fusedArgs{x: a.Ptr, near: f.mid.Ptr, scale: f.toCoset.Ptr}, s)
		}},
		measuredCase{"h27_middle", func() error { return q.middle(c, a, b, s) }},
		measuredCase{"h27_last", func() error {
			return q.launchFused(c, "h27_last", fusedArgs{a: b.Ptr, b: x.Ptr, x: a.Ptr, near: f.coset.Ptr, scale: f.last.Ptr}, s)
		}},
		measuredCase{"copy", func() error { return c.CopyOnDevice(a, b, s) }},
	)
}
