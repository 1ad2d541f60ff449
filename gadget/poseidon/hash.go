package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// WitnessLen is the number of variables that the circuit of one permutation
// allocates, and of its rows: 4·(8t + RP) − arity − 3.
func (p *Params) WitnessLen() int { return 4*(FullRounds*p.T+p.RP) - p.Arity - 3 }

// Hash is the digest of exactly Arity inputs.
func (p *Params) Hash(in []fr.Element) fr.Element {
	return p.permute(&tape{}, in)
}

// Witness writes to dst the values of the circuit's variables in order of
// allocation and returns the digest, which is the last of them. dst has
// WitnessLen elements and must not overlap in, which has Arity.
//
// For every S-box that is its input l, then l², l⁴ and l⁵ plus the key of the
// place; the S-boxes of the first round have no variable for l, and element 0
// of the first round, a constant, has none at all.
func (p *Params) Witness(dst []fr.Element, in []fr.Element) fr.Element {
	p.mustHold(dst)
	return p.permute(&tape{dst: dst, keep: true}, in)
}

// tape is where S-boxes write their values: on and on in dst, or always in the
// same scratch place when nobody keeps them.
type tape struct {
	dst     []fr.Element
	keep    bool
	scratch [4]fr.Element
}

// next gives place for the input, square, fourth power and output of an S-box.
func (t *tape) next() *[4]fr.Element {
	if !t.keep {
		return &t.scratch
	}
	s := (*[4]fr.Element)(t.dst)
	t.dst = t.dst[4:]
	return s
}

// permute runs the permutation in the recurrence form.
func (p *Params) permute(out *tape, in []fr.Element) fr.Element {
	p.mustFit(in)
	var z, s [maxWidth]fr.Element // the state after S-boxes and keys, and before
	p.firstRound(&z, out, in)
	for r := 1; r < half; r++ {
		p.dense(&s, &z)
		p.fullRound(&z, &s, out, r)
	}
	p.partialRounds(&s, &z, out)
	p.fullRound(&z, &s, out, half)
	for r := half + 1; r < FullRounds; r++ {
		p.dense(&s, &z)
		p.fullRound(&z, &s, out, r)
	}
	var digest fr.Element
	dot(&digest, z[:p.T], p.M[1])
	if out.keep {
		out.dst[0] = digest
	}
	return digest
}

// firstRound is the first full round, on tag and inputs. Its S-boxes add their
// key before, too, so that their input is no variable of its own.
func (p *Params) firstRound(z *[maxWidth]fr.Element, out *tape, in []fr.Element) {
	z[0] = p.first0
	var v [4]fr.Element
	keys := p.fullKeys(0)
	for i := range in {
		v[0].Add(&in[i], &p.Keys[i+1])
		sbox(&v, &keys[i+1])
		z[i+1] = v[3]
		if out.keep {
			copy(out.dst, v[1:])
			out.dst = out.dst[3:]
		}
	}
}

// dense is one full linear layer. M is symmetric, so its rows serve as columns.
func (p *Params) dense(s, z *[maxWidth]fr.Element) {
	for i, row := range p.M {
		dot(&s[i], z[:p.T], row)
	}
}

// fullRound is the S-boxes of full round r and their keys.
func (p *Params) fullRound(z, s *[maxWidth]fr.Element, out *tape, r int) {
	var keys []fr.Element
	if r < FullRounds-1 {
		keys = p.fullKeys(r)
	} else {
		keys = zeroKeys[:p.T]
	}
	for i := range p.T {
		v := out.next()
		v[0] = s[i]
		sbox(v, &keys[i])
		z[i] = v[3]
	}
}

var zeroKeys [maxWidth]fr.Element

// maxPartial bounds the number of partial rounds.
const maxPartial = 60

// partialRounds takes z, the state after the S-boxes of full round 3, through
// the linear layer behind it and all partial rounds to the state s before the
// S-boxes of the next full round (see recurrence).
func (p *Params) partialRounds(s, z *[maxWidth]fr.Element, out *tape) {
	// z, then x_0, y_0, x_1, y_1, …
	var history [maxWidth + 2*maxPartial]fr.Element
	t := copy(history[:], z[:p.T])
	keys := p.partialKeys()
	for q := range p.RP {
		v, n := out.next(), t+2*q
		if q < t {
			dot(&v[0], history[:n], p.rec.first[q])
		} else {
			dot(&v[0], history[n-2*t:n], p.rec.step)
		}
		sbox(v, &keys[q])
		history[n], history[n+1] = v[0], v[3]
	}
	end := t + 2*p.RP
	for j := range t {
		dot(&s[j], history[end-2*t:end], p.rec.last[j])
	}
}

// sbox fills v[1..3] from v[0]: square, fourth power, fifth power plus key.
func sbox(v *[4]fr.Element, key *fr.Element) {
	v[1].Square(&v[0])
	v[2].Square(&v[1])
	v[3].Mul(&v[2], &v[0])
	v[3].Add(&v[3], key)
}
