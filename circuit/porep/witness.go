package porep

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/label"
	"cuzk/gadget/merkle"
	"cuzk/gadget/poseidon"
	"cuzk/gadget/sha256"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/sector"
)

// Witness computes the assignment directly, on all cores. compiled is the
// compiled form of the same circuit. Values that do not satisfy the circuit are
// written all the same; [r1cs.Compiled.Check] finds them.
func (c *Circuit) Witness(ctx context.Context, compiled *r1cs.Compiled) (*r1cs.Assignment, error) {
	a := r1cs.NewAssignment(compiled.Counts())
	return a, c.Fill(ctx, compiled, a, runtime.GOMAXPROCS(0))
}

// Fill is Witness into an assignment of the caller that is fresh from
// [r1cs.NewAssignment], on at most the given number of cores (at least one).
// Challenges are computed side by side, each at its own place.
func (c *Circuit) Fill(ctx context.Context, compiled *r1cs.Compiled, a *r1cs.Assignment, cores int) error {
	if c.data == nil {
		return fmt.Errorf("witness of %s: the circuit is blank", c.Name())
	}
	if compiled.Name() != c.Name() {
		return fmt.Errorf("witness of %s: the compiled circuit is %s", c.Name(), compiled.Name())
	}
	if err := compiled.Fits(a); err != nil {
		return fmt.Errorf("witness of %s: %w", c.Name(), err)
	}
	w := r1cs.NewWriter(a, r1cs.Place{Input: 1})
	id := c.writePreamble(w)
	w.Flush()
	n := len(c.data.Challenges)
	first, per := w.Place(), perChallenge(compiled.Counts(), w.Place(), n)
	return each(ctx, n, cores, func(i int) error {
		w := r1cs.NewWriter(a, first.Plus(i, per))
		c.challenge(i).write(w, id)
		w.Flush()
		if end := first.Plus(i+1, per); w.Place() != end {
			return &r1cs.WitnessError{What: fmt.Sprintf("%s challenge %d", c.Name(), i), Got: w.Place(), Want: end}
		}
		return nil
	})
}

// perChallenge divides what is behind the preamble among n challenges.
func perChallenge(total r1cs.Counts, first r1cs.Place, n int) r1cs.Counts {
	per := r1cs.Counts{Inputs: (total.Inputs - first.Input) / n, Bits: (total.Bits - first.Bit) / n}
	per.Aux = per.Bits + (total.Aux-total.Bits-first.Element)/n
	return per
}

// writePreamble writes what all challenges share and returns the replica id as
// labels hash it.
func (c *Circuit) writePreamble(w *r1cs.Writer) *sha256.Node {
	d := c.data
	public := func(x *fr.Element) {
		w.Element(x)
		w.Input(x)
	}
	public(&d.ReplicaID)
	id := sha256.WriteNode(w, &d.ReplicaID)
	public(&d.CommD)
	public(&d.CommR)
	w.Element(&d.CommRLast)
	w.Element(&d.CommC)
	hash(w, []fr.Element{d.CommC, d.CommRLast})
	return &id
}

// hash writes the witness of a Poseidon hash and returns the digest.
func hash(w *r1cs.Writer, in []fr.Element) fr.Element {
	p := poseidon.ForArity(len(in))
	return p.Witness(w.Reserve(p.WitnessLen()), in)
}

// write writes the witness of a challenge: in order what is hashed with SHA-256,
// and side by side, in the places kept for them, all columns and paths of
// Poseidon.
func (g challenge) write(w *r1cs.Writer, id *sha256.Node) {
	var b batch
	w.Element(&g.data.Data)
	g.dataPath().Write(w, &g.data.Data)
	for i := range g.data.Parents {
		c := g.column(i)
		b.column(w, c.data.Labels, c.path(), true)
	}
	w.Word(g.data.Node, 64)
	node := fr.NewElement(g.data.Node)
	w.Input(&node)

	labels := make([]fr.Element, g.layers)
	for i := range labels {
		labels[i] = g.writeLabel(w, id, i+1)
	}
	var replica fr.Element
	replica.Add(&labels[g.layers-1], &g.data.Data)
	w.Element(&replica)
	b.path(w, g.replicaPath(), replica)
	b.column(w, labels, g.columnPath(), false)
	b.write()
}

// batch collects columns and paths of a challenge, which do not depend on each
// other: Poseidon hashes several times as fast side by side.
type batch struct {
	hashes, digests [][]fr.Element // inputs of column hashes, and where their witnesses go
	owner           []int          // which path each hash is the leaf of
	ws              []*r1cs.Writer
	paths           []merkle.Path
	leaves          []fr.Element
}

// path keeps the place of a path.
func (b *batch) path(w *r1cs.Writer, p merkle.Path, leaf fr.Element) {
	b.ws, b.paths, b.leaves = append(b.ws, w.Fork(p.Counts())), append(b.paths, p), append(b.leaves, leaf)
}

// column keeps the place of a column's hash and path; allocated says that the
// labels themselves stand before it.
func (b *batch) column(w *r1cs.Writer, labels []fr.Element, p merkle.Path, allocated bool) {
	if allocated {
		copy(w.Reserve(len(labels)), labels)
	}
	b.hashes = append(b.hashes, labels)
	b.digests = append(b.digests, w.Reserve(poseidon.ForArity(len(labels)).WitnessLen()))
	b.owner = append(b.owner, len(b.paths))
	b.path(w, p, fr.Element{})
}

func (b *batch) write() {
	poseidon.ForArity(len(b.hashes[0])).WitnessMany(b.digests, b.hashes)
	for i, d := range b.digests {
		b.leaves[b.owner[i]] = d[len(d)-1]
	}
	merkle.WritePaths(b.ws, b.paths, b.leaves)
	for _, w := range b.ws {
		w.Flush()
	}
}

// writeLabel writes the parents' bits and the label of one layer.
func (g challenge) writeLabel(w *r1cs.Writer, id *sha256.Node, layer int) fr.Element {
	var parents [porep.Parents]sha256.Node
	n := porep.LayerParents(layer)
	for i := range n {
		parents[i] = sha256.WriteNode(w, &g.data.Parents[i].Labels[parentLayer(i, layer)-1])
	}
	return labelPlan(layer).Write(w, id, g.data.Node, parents[:n])
}

// maxLayers is the most layers that a sector has.
var maxLayers = sector.Size64GiB.Layers()

var labelPlans = func() []func() *label.Plan {
	out := make([]func() *label.Plan, maxLayers+1)
	for layer := 1; layer <= maxLayers; layer++ {
		out[layer] = sync.OnceValue(func() *label.Plan {
			return label.NewPlan(label.Decomposed(uint32(layer), porep.LayerParents(layer)))
		})
	}
	return out
}()

// labelPlan is the plan of a layer's labels, made once.
func labelPlan(layer int) *label.Plan { return labelPlans[layer]() }

// each runs f for 0 to n−1 on some cores and returns the errors.
func each(ctx context.Context, n, cores int, f func(int) error) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, n)
	for range max(1, min(n, cores)) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}
