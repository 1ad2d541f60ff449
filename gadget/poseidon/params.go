package poseidon

import (
	"fmt"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// FullRounds is the number of full rounds, half before and half after the
// partial ones.
const FullRounds = 8

const half = FullRounds / 2

// maxWidth is the width of the widest instance, arity 36.
const maxWidth = 37

// partialRounds gives RP of each arity (neptune round_numbers.rs, standard).
var partialRounds = map[int]int{2: 55, 4: 56, 8: 57, 11: 57, 16: 59, 24: 59, 36: 60}

// Sparse is one sparse matrix of the partial rounds. Applied to s it gives
// new[0] = Σ WHat[i]·s[i] and new[j] = s[j] + VRest[j-1]·s[0].
type Sparse struct {
	WHat  []fr.Element // t elements
	VRest []fr.Element // t−1 elements
}

// Params are the constants of one arity and tag, in neptune's optimised form.
// Read only.
type Params struct {
	Arity int // number of inputs
	T     int // width of the state, Arity + 1
	RF    int // full rounds
	RP    int // partial rounds

	Tag       fr.Element     // element 0 of the initial state
	Keys      []fr.Element   // compressed round keys in the order of their use, 8t + RP
	M         [][]fr.Element // the dense matrix, (s·M)[j] = Σ s[i]·M[i][j]
	PreSparse [][]fr.Element // the dense matrix after the first four full rounds
	Sparse    []Sparse       // the matrix after each partial round

	first0 fr.Element // element 0 after the first S-box, a constant
	rec    recurrence
	lanes  *laneParams // nil where eight at once are not to be had
}

// instance builds the parameters of an arity at first use.
type instance struct {
	once   sync.Once
	merkle *Params // tag 2^arity − 1
	custom *Params // tag 2^40
}

var instances = func() map[int]*instance {
	m := map[int]*instance{}
	for arity := range partialRounds {
		m[arity] = &instance{}
	}
	return m
}()

// Arities lists the arities that ForArity knows, ascending. Circuits of the
// trusted setup use 2, 8 and 11, and 4 in test shapes.
func Arities() []int {
	var out []int
	for a := range partialRounds {
		out = append(out, a)
	}
	slices.Sort(out)
	return out
}

// Supported tells whether ForArity knows the arity.
func Supported(arity int) bool { _, ok := instances[arity]; return ok }

// ForArity gives the parameters of Merkle trees (tag 2^arity − 1). It panics on
// an arity outside [Arities]: arities are chosen by code, never by a request.
func ForArity(arity int) *Params { return get(arity).merkle }

// Custom1 gives arity 2 with the tag 2^40 that SnapDeals hashes with (neptune's
// HashType::Custom(CType::Arbitrary(1))).
func Custom1() *Params { return get(2).custom }

func get(arity int) *instance {
	in := instances[arity]
	if in == nil {
		panic(fmt.Sprintf("poseidon: no parameters for arity %d", arity))
	}
	in.once.Do(func() {
		p := newParams(arity)
		in.merkle = p.tagged(1<<arity - 1)
		in.custom = p.tagged(1 << 40)
	})
	return in
}

func newParams(arity int) *Params {
	t, rp := arity+1, partialRounds[arity]
	m := mds(t)
	p := &Params{Arity: arity, T: t, RF: FullRounds, RP: rp, M: m}
	p.Keys = compressKeys(roundConstants(t, rp), m.inverse(), rp)
	p.PreSparse, p.Sparse = factor(m, rp)
	p.rec = newRecurrence(m, rp)
	return p
}

// tagged is a copy with the tag and what follows from it; tables are shared.
func (p *Params) tagged(tag uint64) *Params {
	out := *p
	out.Tag.SetUint64(tag)
	v := [4]fr.Element{}
	v[0].Add(&out.Tag, &p.Keys[0])
	sbox(&v, &p.Keys[p.T])
	out.first0 = v[3]
	out.lanes = newLaneParams(&out)
	return &out
}

// roundConstants are the keys of the textbook form, one group of t a round.
func roundConstants(t, rp int) [][]fr.Element {
	g := newGrain(t, FullRounds, rp)
	out := make([][]fr.Element, FullRounds+rp)
	for i := range out {
		out[i] = make([]fr.Element, t)
		for j := range out[i] {
			out[i][j] = g.element()
		}
	}
	return out
}

// compressKeys moves the keys of the partial rounds back through the linear
// layers until only the one of element 0 remains in each, and the keys of the
// other rounds behind the S-box of the round before.
func compressKeys(rk [][]fr.Element, inv matrix, rp int) []fr.Element {
	keys := slices.Clone(rk[0])
	for i := 1; i < half; i++ {
		keys = append(keys, inv.row(rk[i])...)
	}
	partial := make([]fr.Element, rp)
	acc := rk[half+rp]
	for i := range rp {
		v := inv.row(acc)
		partial[rp-1-i] = v[0]
		v[0].SetZero()
		acc = rk[half+rp-1-i]
		for j := range v {
			v[j].Add(&v[j], &acc[j])
		}
		acc = v
	}
	keys = append(keys, inv.row(acc)...)
	keys = append(keys, partial...)
	for i := 1; i < half; i++ {
		keys = append(keys, inv.row(rk[half+rp+i])...)
	}
	return keys
}

// factor splits M^(rp+1), as far as element 0 sees it, into one dense matrix
// and rp sparse ones in the order of their use.
func factor(m matrix, rp int) (matrix, []Sparse) {
	sparse := make([]Sparse, rp)
	cur := m
	for i := rp - 1; i >= 0; i-- {
		n := len(cur)
		w := make([]fr.Element, n-1)
		dense := identity(n)
		for j := 1; j < n; j++ {
			w[j-1] = cur[j][0]
			copy(dense[j][1:], cur[j][1:])
		}
		hat := cur.minor().inverse().row(w)
		sparse[i] = Sparse{
			WHat:  append([]fr.Element{cur[0][0]}, hat...),
			VRest: slices.Clone(cur[0][1:]),
		}
		cur = m.mul(dense)
	}
	return cur, sparse
}

// fullKeys are the t keys that full round r adds after its S-box; the last
// round has none.
func (p *Params) fullKeys(r int) []fr.Element {
	at := p.T * (r + 1)
	if r >= half {
		at += p.RP
	}
	return p.Keys[at : at+p.T]
}

// partialKeys are the keys of the partial rounds, one each.
func (p *Params) partialKeys() []fr.Element {
	return p.Keys[p.T*(half+1) : p.T*(half+1)+p.RP]
}
