package post

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/poseidon"
	"cuzk/r1cs"
)

// Witness computes the assignment directly, sectors in parallel. The compiled
// form of the same circuit gives the sizes. A sector that repeats its
// predecessor (padding) is computed once and copied. Values that do not satisfy
// the circuit are written all the same; [r1cs.Compiled.Check] finds them.
func (c *Circuit) Witness(ctx context.Context, compiled *r1cs.Compiled) (*r1cs.Assignment, error) {
	if c.sectors == nil {
		return nil, fmt.Errorf("%s: a blank circuit has no witness", c.Name())
	}
	total := compiled.Counts()
	n := len(c.sectors)
	per := r1cs.Counts{Inputs: (total.Inputs - 1) / n, Aux: total.Aux / n, Bits: total.Bits / n}
	a := r1cs.NewAssignment(total)
	place := func(i int) r1cs.Place { return r1cs.Place{Input: 1}.Plus(i, per) }
	own, copies := c.distinct()
	if err := each(ctx, len(own), func(k int) error {
		i := own[k]
		w := r1cs.NewWriter(a, place(i))
		c.sector(i).write(w)
		w.Flush()
		if w.Place() != place(i+1) {
			return &r1cs.WitnessError{What: fmt.Sprintf("%s sector %d", c.Name(), i), Got: w.Place(), Want: place(i + 1)}
		}
		return nil
	}); err != nil {
		return nil, err
	}
	// Copies read whole sectors, so they wait until all of them are written.
	return a, each(ctx, len(copies), func(k int) error {
		w := r1cs.NewWriter(a, place(copies[k].to))
		w.Copy(place(copies[k].from), per)
		w.Flush()
		return nil
	})
}

type repeat struct{ from, to int }

// distinct splits the sectors into those to compute and those that repeat one.
func (c *Circuit) distinct() (own []int, copies []repeat) {
	first := map[*Sector]int{}
	for i, s := range c.sectors {
		if j, ok := first[s]; ok {
			copies = append(copies, repeat{j, i})
			continue
		}
		first[s] = i
		own = append(own, i)
	}
	return own, copies
}

// write writes the witness of a sector.
func (g sectorGadget) write(w *r1cs.Writer) {
	d := g.data
	w.Element(&d.CommRLast)
	w.Element(&d.CommC)
	w.Element(&d.CommR)
	w.Input(&d.CommR)
	h2 := poseidon.ForArity(2)
	h2.Witness(w.Reserve(h2.WitnessLen()), []fr.Element{d.CommC, d.CommRLast})
	for i := range d.Challenges {
		w.Element(&d.Challenges[i].Leaf)
		g.path(i).Write(w, &d.Challenges[i].Leaf)
	}
}

// each runs f for 0 to n−1 on all cores and returns the first error.
func each(ctx context.Context, n int, f func(int) error) error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	next, failed := 0, error(nil)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil && ctx.Err() != nil {
			failed = context.Cause(ctx)
		}
		next++
		return next - 1, failed == nil && next <= n
	}
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i, ok := take(); ok; i, ok = take() {
				if err := f(i); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return failed
}
