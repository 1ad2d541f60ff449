//go:build !purego

package poseidon

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils/cpu"
)

// limbs is a number below 2^260, five limbs of 52 bits, the lowest first.
type limbs [5]uint64

// lanes is eight elements side by side: limb i of element j at [i][j]. Elements
// are canonical and in Montgomery form of radix 2^256, as everywhere.
type lanes [5][Lanes]uint64

// dotLanes is z = Σ x[i]·c[i] over n >= 1 terms, in each lane. The coefficients
// are in Montgomery form of radix 2^260. n is at most maxLaneDot.
//
//go:noescape
func dotLanes(z, x *lanes, c *limbs, n int)

// sboxLanes fills v[1..3] from v[0] as sbox does.
//
//go:noescape
func sboxLanes(v *[4]lanes, key *limbs)

// loadLanes is eight elements that follow one another.
//
//go:noescape
func loadLanes(z *lanes, src *[Lanes]fr.Element)

// storeLanes writes x[k], k < n, to element k after the given offset in bytes
// from dst[j], for each lane j.
//
//go:noescape
func storeLanes(dst *[Lanes]*fr.Element, offset uintptr, x *lanes, n int)

const (
	// maxLaneWidth is the widest state that lanes take, arity 11.
	maxLaneWidth = 12
	// maxLaneDot bounds inner products: n terms reduce to less than
	// (n·r/2^260 + 1)·r, which must be below 2r.
	maxLaneDot = 35
)

// laneParams are the tables of one arity and tag for the lanes: keys as
// elements are, coefficients in radix 2^260.
type laneParams struct {
	p       *Params
	first0  limbs
	full    [FullRounds][]limbs
	partial []limbs
	m       [][]limbs
	first   [][]limbs
	step    []limbs
	last    [][]limbs
}

// newLaneParams gives nil if the processor or the arity does not suit.
func newLaneParams(p *Params) *laneParams {
	if !cpu.SupportAVX512IFMA || p.T > maxLaneWidth {
		return nil
	}
	l := &laneParams{p: p, first0: split(p.first0), partial: splitAll(p.partialKeys())}
	for r := range FullRounds - 1 {
		l.full[r] = splitAll(p.fullKeys(r))
	}
	l.full[FullRounds-1] = make([]limbs, p.T)
	l.m = coefficients(p.M)
	l.first = coefficients(p.rec.first)
	l.step = coefficients([][]fr.Element{p.rec.step})[0]
	l.last = coefficients(p.rec.last)
	return l
}

// split divides the words of e into limbs.
func split(e fr.Element) limbs {
	const mask = 1<<52 - 1
	return limbs{
		e[0] & mask,
		(e[0]>>52 | e[1]<<12) & mask,
		(e[1]>>40 | e[2]<<24) & mask,
		(e[2]>>28 | e[3]<<36) & mask,
		e[3] >> 16,
	}
}

func splitAll(v []fr.Element) []limbs {
	out := make([]limbs, len(v))
	for i := range v {
		out[i] = split(v[i])
	}
	return out
}

// coefficients turns radix 2^256 into 2^260.
func coefficients(rows [][]fr.Element) [][]limbs {
	sixteen := fr.NewElement(16)
	out := make([][]limbs, len(rows))
	for i, row := range rows {
		for _, c := range row {
			out[i] = append(out[i], split(*c.Mul(&c, &sixteen)))
		}
	}
	return out
}

// laneRun is one run of up to eight permutations.
type laneRun struct {
	l    *laneParams
	dst  [Lanes]*fr.Element
	keep bool    // values go to dst
	at   uintptr // where the next values go, in bytes
	v    [4]lanes
	z, s [maxLaneWidth]lanes
	// history is z of the round before the partial rounds, then x_0, y_0, …;
	// when it is full, the last t pairs move to its front.
	history [4 * maxLaneWidth]lanes
}

// permute is Params.permute for 2 to 8 inputs. dst receives values if it is not
// nil, out the digests if it is not. Lanes without an input repeat the first.
func (l *laneParams) permute(in, dst [][]fr.Element, out []fr.Element) {
	run := laneRun{l: l, keep: dst != nil}
	var digests [Lanes]fr.Element
	for j := range Lanes {
		if j < len(dst) {
			run.dst[j] = &dst[j][0]
		} else if run.keep {
			run.dst[j] = &dst[0][0]
		}
	}
	run.firstRound(in)
	for r := 1; r < half; r++ {
		run.dense()
		run.fullRound(r)
	}
	run.partialRounds()
	run.fullRound(half)
	for r := half + 1; r < FullRounds; r++ {
		run.dense()
		run.fullRound(r)
	}
	dotLanes(&run.v[0], &run.z[0], &l.m[1][0], l.p.T)
	if run.keep {
		run.store(0, 1)
		return
	}
	for j := range digests {
		run.dst[j] = &digests[j]
	}
	storeLanes(&run.dst, 0, &run.v[0], 1)
	copy(out, digests[:])
}

// store keeps n of the four values of an S-box, from the first given on.
func (run *laneRun) store(first, n int) {
	if run.keep {
		storeLanes(&run.dst, run.at, &run.v[first], n)
		run.at += uintptr(n) * fr.Bytes
	}
}

func (run *laneRun) firstRound(in [][]fr.Element) {
	for i := range run.l.first0 {
		for j := range Lanes {
			run.z[0][i][j] = run.l.first0[i]
		}
	}
	var column [Lanes]fr.Element
	for i := range run.l.p.Arity {
		for j := range column {
			x := &in[0][i]
			if j < len(in) {
				x = &in[j][i]
			}
			column[j].Add(x, &run.l.p.Keys[i+1])
		}
		loadLanes(&run.v[0], &column)
		sboxLanes(&run.v, &run.l.full[0][i+1])
		run.store(1, 3)
		run.z[i+1] = run.v[3]
	}
}

func (run *laneRun) dense() {
	for i, row := range run.l.m {
		dotLanes(&run.s[i], &run.z[0], &row[0], len(row))
	}
}

func (run *laneRun) fullRound(r int) {
	for i := range run.l.full[r] {
		run.v[0] = run.s[i]
		sboxLanes(&run.v, &run.l.full[r][i])
		run.store(0, 4)
		run.z[i] = run.v[3]
	}
}

func (run *laneRun) partialRounds() {
	h, l := &run.history, run.l
	t := copy(h[:], run.z[:l.p.T])
	n := t
	for q := range l.partial {
		if n+2 > len(h) {
			n = copy(h[:], h[n-2*t:n])
		}
		if q < t {
			dotLanes(&run.v[0], &h[0], &l.first[q][0], n)
		} else {
			dotLanes(&run.v[0], &h[n-2*t], &l.step[0], 2*t)
		}
		sboxLanes(&run.v, &l.partial[q])
		run.store(0, 4)
		h[n], h[n+1] = run.v[0], run.v[3]
		n += 2
	}
	for j := range t {
		dotLanes(&run.s[j], &h[n-2*t], &l.last[j][0], 2*t)
	}
}
