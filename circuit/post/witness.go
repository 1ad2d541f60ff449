package post

import (
	"context"
	"fmt"
	"runtime"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/merkle"
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
	a := r1cs.UnsetAssignment(total)
	place := func(i int) r1cs.Place { return r1cs.Place{Input: 1}.Plus(i, per) }
	own, copies := c.distinct()
	size := c.batch()
	if err := each(ctx, (len(own)+size-1)/size, func(k int) error {
		b := own[k*size : min((k+1)*size, len(own))]
		c.writeBatch(a, b, place, per)
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

// batch is how many sectors are written together, so that their paths fill the
// lanes of the hash.
func (c *Circuit) batch() int {
	_, challenges := c.kind.Shape(c.size)
	n := 1
	for n*challenges%poseidon.Lanes != 0 {
		n++
	}
	return n
}

// head is what a sector allocates before its challenges.
func head() r1cs.Counts {
	return r1cs.Counts{Inputs: 1, Aux: 3 + poseidon.ForArity(2).WitnessLen()}
}

// writeBatch writes sectors whose places are known: their heads, then all their
// paths side by side.
func (c *Circuit) writeBatch(a *r1cs.Assignment, sectors []int, place func(int) r1cs.Place, per r1cs.Counts) {
	_, n := c.kind.Shape(c.size)
	h := head()
	each := r1cs.Counts{Inputs: (per.Inputs - h.Inputs) / n, Bits: per.Bits / n, Aux: (per.Aux - h.Aux) / n}
	var (
		ws      []*r1cs.Writer
		paths   []merkle.Path
		leaves  []fr.Element
		dst, in [][]fr.Element
	)
	for _, i := range sectors {
		g := c.sector(i)
		w := r1cs.NewWriter(a, place(i))
		dst, in = append(dst, g.writeHead(w)), append(in, []fr.Element{g.data.CommC, g.data.CommRLast})
		start := w.Place()
		for k := range g.data.Challenges {
			leaf := &g.data.Challenges[k].Leaf
			w := r1cs.NewWriter(a, start.Plus(k, each))
			w.Element(leaf)
			ws, paths, leaves = append(ws, w), append(paths, g.path(k)), append(leaves, *leaf)
		}
	}
	poseidon.ForArity(2).WitnessMany(dst, in)
	merkle.WritePaths(ws, paths, leaves)
	for _, w := range ws {
		w.Flush()
	}
}

// writeHead writes the commitments of a sector and returns where their hash's
// witness goes.
func (g sectorGadget) writeHead(w *r1cs.Writer) []fr.Element {
	d := g.data
	w.Element(&d.CommRLast)
	w.Element(&d.CommC)
	w.Element(&d.CommR)
	w.Input(&d.CommR)
	return w.Reserve(poseidon.ForArity(2).WitnessLen())
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
