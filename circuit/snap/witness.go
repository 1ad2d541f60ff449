package snap

import (
	"context"
	"fmt"
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sync/errgroup"

	"cuzk/gadget/merkle"
	"cuzk/gadget/num"
	"cuzk/gadget/poseidon"
	"cuzk/gadget/sha256"
	"cuzk/r1cs"
)

// Witness computes the assignment directly: what challenges share first, then
// the challenges in parallel. The compiled form of the same circuit gives the
// sizes. Values that do not satisfy the circuit are written all the same;
// [r1cs.Compiled.Check] finds them.
func (c *Circuit) Witness(ctx context.Context, compiled *r1cs.Compiled) (*r1cs.Assignment, error) {
	if c.part == nil {
		return nil, fmt.Errorf("%s: a blank circuit has no witness", c.Name())
	}
	total := compiled.Counts()
	a := r1cs.NewAssignment(total)
	w := r1cs.NewWriter(a, r1cs.Place{Input: 1})
	c.writeShared(w)
	w.Flush()
	start := w.Place()
	n := c.rules.Challenges
	per := r1cs.Counts{
		Bits: (total.Bits - start.Bit) / n,
		Aux:  (total.Bits-start.Bit)/n + (total.Aux-total.Bits-start.Element)/n,
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			w := r1cs.NewWriter(a, start.Plus(i, per))
			c.challenge(i).write(w, c.proof.Phi)
			w.Flush()
			if want := start.Plus(i+1, per); w.Place() != want {
				return &r1cs.WitnessError{What: fmt.Sprintf("%s challenge %d", c.Name(), i), Got: w.Place(), Want: want}
			}
			return nil
		})
	}
	return a, g.Wait()
}

// writePoseidon writes the witness of a hash and returns the digest.
func writePoseidon(w *r1cs.Writer, p *poseidon.Params, x, y *fr.Element) fr.Element {
	return p.Witness(w.Reserve(p.WitnessLen()), []fr.Element{*x, *y})
}

// writeShared writes what stands before the challenges, in order.
func (c *Circuit) writeShared(w *r1cs.Writer) {
	in := c.inputs()
	w.Element(&in[0])
	w.Input(&in[0])
	w.Word(c.packed(), uint(c.rules.PartitionBits+selectBits))
	partition := fr.NewElement(uint64(c.part.Index))
	w.Element(&partition)
	for i := range in[1:] {
		w.Element(&in[i+1])
		w.Input(&in[i+1])
	}
	writePoseidon(w, poseidon.Custom1(), &in[2], &in[1])
	p := c.part
	w.Element(&p.CommC)
	w.Element(&p.RootROld)
	w.Element(&p.RootRNew)
	copy(w.Reserve(len(p.Apex)), p.Apex)
	path := c.proof.PartitionPath(p)
	copy(w.Reserve(len(path)), path)
	writePoseidon(w, poseidon.ForArity(2), &p.CommC, &p.RootROld)
	writePoseidon(w, poseidon.ForArity(2), &p.CommC, &p.RootRNew)
	c.writeApex(w, path)
	c.writeDigests(w, &in[3])
}

func (c *Circuit) writeApex(w *r1cs.Writer, path []fr.Element) {
	level := append([]fr.Element{}, c.part.Apex...)
	for len(level) > 1 {
		for i := range len(level) / 2 {
			level[i] = sha256.Hash2{}.Write(w, level[2*i:2*i+2])
		}
		level = level[:len(level)/2]
	}
	merkle.WriteClimb(w, level[0], binary(c.rules.PartitionBits), hashD, uint64(c.part.Index), path)
}

func (c *Circuit) writeDigests(w *r1cs.Writer, commRNew *fr.Element) {
	n := c.rules.Digests()
	for j := range n {
		index := fr.NewElement(uint64(c.part.Index*n + j))
		w.Element(&index)
		digest := writePoseidon(w, poseidon.Custom1(), commRNew, &index)
		writeBits(w, &digest)
	}
}

// writeBits writes the 255 bits of a number.
func writeBits(w *r1cs.Writer, x *fr.Element) {
	for i, limb := range x.Bits() {
		w.Word(limb, uint(min(64, num.ElementBits-64*i)))
	}
}

// write writes the witness of a challenge.
func (g challenge) write(w *r1cs.Writer, phi fr.Element) {
	r, d := &g.c.rules, g.data
	high := g.writeHigh(w)
	rho := writePoseidon(w, poseidon.Custom1(), &phi, &high)
	w.Element(&d.Old.Leaf)
	w.Element(&d.Data.Leaf)
	var product, fresh fr.Element
	product.Mul(&d.Data.Leaf, &rho)
	fresh.Add(&d.Old.Leaf, &product)
	w.Element(&product)
	w.Element(&fresh)
	g.writePath(w, d.Old.Leaf, d.Old.Siblings)
	g.writePath(w, fresh, d.New.Siblings)
	low := r.ApexHeight()
	num.WriteSelect(w, g.c.part.Apex, r.Apex(d.Node))
	siblings := d.Data.Siblings[:low]
	copy(w.Reserve(low), siblings)
	merkle.WriteClimb(w, d.Data.Leaf, binary(low), hashD, d.Node, siblings)
}

func (g challenge) writeHigh(w *r1cs.Writer) (selected fr.Element) {
	r := &g.c.rules
	for i, h := range r.Hs {
		x := fr.NewElement(g.data.Node >> (r.NodeBits - h))
		w.Element(&x)
		if r.HSelect>>i&1 == 0 {
			x.SetZero()
		}
		w.Element(&x)
		selected.Add(&selected, &x)
	}
	w.Element(&selected)
	return selected
}

func (g challenge) writePath(w *r1cs.Writer, leaf fr.Element, siblings []fr.Element) {
	copy(w.Reserve(len(siblings)), siblings)
	merkle.WriteClimb(w, leaf, g.c.arities, merkle.PoseidonOf, g.data.Node, siblings)
}
