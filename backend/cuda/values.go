package cuda

import (
	"context"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	forms "cuzk/backend/values"
	gpu "cuzk/cuda"
	"cuzk/srs"
)

// ValuesMode says when H is computed in values instead of coefficients (package
// cuzk/backend/values), from lists of points of its own in place of h.
type ValuesMode int

// The modes. A key that is streamed never is in values, nor one from a file without
// the lists.
const (
	ValuesAuto   ValuesMode = iota // where it gains
	ValuesAlways                   // wherever there is a form for the circuit
	ValuesNever
)

// inValues is what H is summed over in values: the points of the coset with the list
// K, and the rows with the list M. Most rows have a small product and are summed as
// bits. The points of M of the others are moved behind K, so that their multiples are
// summed with K's.
type inValues struct {
	form  *forms.Form
	rows  int // with those of the inputs
	room  int // other rows that are listed
	areas int // memory for their points behind K, one for each workspace
}

const (
	// The time of two transforms of the domain's size, as a part of that of as many
	// multiples, and of the launches of three sums over bits, in multiples: from an H200.
	transformsShare = 10
	bitsLaunches    = 1 << 20
	// roomGrain is what room is rounded up to.
	roomGrain = 1 << 8
)

// inValues is the way to compute H in values, nil where there is none or it is of no
// use.
func (n need) inValues() *inValues {
	if n.Values == ValuesNever || !n.Lists {
		return nil
	}
	c := n.layout.Counts
	v := &inValues{rows: c.Rows + c.Inputs, areas: max(n.Works, 1)}
	form, err := forms.New(v.rows, n.layout.LogM)
	if err != nil {
		return nil
	}
	// A product that is no bit belongs to an element: 1.00 to 1.08 rows an element are
	// listed in proofs of replication and updates.
	elements := c.Aux - c.Bits
	v.form, v.room = form, roundUp(elements+elements/8+1, roomGrain)
	if n.room > 0 {
		v.room = n.room
	}
	if n.Values == ValuesAuto && !v.gains(n.layout.M()) {
		return nil
	}
	return v
}

// gains tells whether it takes less time than with coefficients, m multiples.
func (v *inValues) gains(m int) bool {
	return v.form.Points()+v.room+bitsLaunches < m+m/transformsShare
}

// gainsMuch tells whether it is worth more than a second lane and all tables: where an
// eighth of the multiples is left out.
func (v *inValues) gainsMuch(m int) bool { return v.form.Points()+v.room < m-m/8 }

// multiples is how many there are in the first sum: of K, and of all areas.
func (v *inValues) multiples() int { return v.form.Points() + v.areas*v.room }

// words of a mask of the rows.
func (v *inValues) words() int { return (v.rows + 31) / 32 }

// splitBytes is the memory of a rowsSplit.
func (v *inValues) splitBytes() int64 {
	c := carver{dry: true}
	new(rowsSplit).carve(v, &c)
	return c.used
}

// points are the items of the lists.
func (v *inValues) points(name string) PlanItem {
	n, note := v.rows, "%d points, one a row"
	if name == "k" {
		n, note = v.multiples(), "%d points of products, and room for rows that are not small"
	}
	return PlanItem{name, aligned(int64(n) * curveG1.point), fmt.Sprintf(note, n)}
}

// sums is the memory of the sums for H.
func (v *inValues) sums(f facts, budget int64, slack float64) int64 {
	return max(msmBytes(f, curveG1, v.multiples(), budget, slack), bitsBytes(f, curveG1, v.rows, budget))
}

// valueNames are the queries where H is computed in values.
var valueNames = append([]string{"k", "m"}, queryNames[1:]...)

// names of the queries that a plan has.
func (p *Plan) names() []string {
	if p.values != nil {
		return valueNames
	}
	return queryNames
}

// smallProducts is the number of masks: of the products 1, -1 and 2.
const smallProducts = 3

// rowsSplit is the memory for the rows of one assignment by their product.
type rowsSplit struct {
	count   gpu.Memory // how many are not small
	numbers gpu.Memory // which are
	masks   gpu.Memory // which have each of the small products
}

func (s *rowsSplit) carve(v *inValues, c *carver) {
	s.count = c.take(4)
	s.numbers = c.take(4 * int64(v.room))
	s.masks = c.take(4 * smallProducts * int64(v.words()))
}

// mask of a small product.
func (s *rowsSplit) mask(v *inValues, i int) Bits {
	bytes := 4 * int64(v.words())
	return Bits{s.masks.Slice(int64(i)*bytes, bytes), v.rows}
}

// maxParts is form.cuh's MAX_PARTS.
const maxParts = 6

// formWords is form_t.
func formWords(f *forms.Form) []uint32 {
	out := make([]uint32, 2+3*maxParts)
	out[0], out[1] = uint32(f.LogN), uint32(len(f.Parts))
	first := 0
	for i, p := range f.Parts {
		out[2+i], out[2+maxParts+i], out[2+2*maxParts+i] = uint32(first), uint32(p.From), uint32(f.LogN-p.Log)
		first += 1 << p.Log
	}
	return out
}

// allocateValues takes the memory of the lists K and M.
func (p *prover) allocateValues(ctx context.Context) (err error) {
	v := p.plan.values
	if len(v.form.Parts) > maxParts {
		return fmt.Errorf("a quotient in values with %d parts, the kernels take %d", len(v.form.Parts), maxParts)
	}
	p.key.k = list{query: "k", curve: curveG1, n: v.form.Points()}
	p.key.m = list{query: "m", curve: curveG1, n: v.rows}
	if p.key.k.mem, err = p.held.alloc(aligned(int64(v.multiples()) * curveG1.point)); err != nil {
		return err
	}
	if p.key.m.mem, err = p.held.alloc(aligned(p.key.m.bytes())); err != nil {
		return err
	}
	p.key.form, err = p.held.put(ctx, rawBytes(formWords(v.form)))
	return err
}

// check tells whether lists from a file are those of the circuit.
func (v *inValues) check(key *srs.Key) error {
	if key.Values == nil {
		return fmt.Errorf("key %s has no quotient in values", key.Path)
	}
	if k, m := key.Values.K.N, key.Values.M.N; k != v.form.Points() || m != v.rows {
		return fmt.Errorf("key %s has a quotient in values with %d and %d points, the circuit needs %d and %d: make the lists again", key.Path, k, m, v.form.Points(), v.rows)
	}
	return nil
}

// openValues takes the memory for the rows of an assignment.
func (w *workspace) openValues(p *prover) error {
	v := p.plan.values
	if v == nil {
		return nil
	}
	mem, err := p.held.alloc(aligned(v.splitBytes()))
	if err == nil {
		w.split.carve(v, &carver{mem: mem})
	}
	return err
}

// listed is the memory of the workspace's own multiples of M: scalars behind the
// products, points behind K.
func (w *workspace) listed(v *inValues, size int64, mem gpu.Memory) gpu.Memory {
	at := int64(v.form.Points() + w.area*v.room)
	return mem.Slice(at*size, int64(v.room)*size)
}

// scalars is the memory of all multiples of the first sum.
func (w *workspace) scalars(v *inValues) gpu.Memory {
	return w.arena.Slice(0, int64(v.multiples())*fr.Bytes)
}
