package poseidon

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/r1cs"
)

// Gadget is the hash as a circuit: Arity ports, one output, the digest. It is
// neptune's older circuit (circuit.rs poseidon_hash), where the state is a
// vector of linear combinations and every S-box input is allocated anew, first
// round excepted (circuits.md A.8). Rows = aux = 4·(8t + RP) − arity − 3.
type Gadget struct{ *Params }

// Shape implements r1cs.Gadget.
func (g Gadget) Shape() string {
	if g.custom1() {
		return "poseidon-2-custom1"
	}
	return fmt.Sprintf("poseidon-%d", g.Arity)
}

func (p *Params) custom1() bool {
	return p.Arity == 2 && p.Tag == Custom1().Tag
}

// Call runs the gadget and returns the digest.
func (p *Params) Call(s r1cs.System, in []r1cs.Var) r1cs.Var {
	return s.Call(Gadget{p}, in)[0]
}

// Synthesize implements r1cs.Gadget.
func (g Gadget) Synthesize(s r1cs.System, in []r1cs.Var) []r1cs.Var {
	b := &body{p: g.Params, s: s}
	b.firstRound(in)
	b.dense(g.M)
	for r := 1; r < half; r++ {
		b.fullRound(g.fullKeys(r))
		if r < half-1 {
			b.dense(g.M)
		}
	}
	b.dense(g.PreSparse)
	for i, key := range g.partialKeys() {
		b.state[0] = b.sbox(b.state[0], &key)
		b.sparse(&g.Sparse[i])
	}
	for r := half; r < FullRounds; r++ {
		if r < FullRounds-1 {
			b.fullRound(g.fullKeys(r))
		} else {
			b.fullRound(nil)
		}
		b.dense(g.M)
	}
	return []r1cs.Var{b.alloc(b.state[1])}
}

// body is a run of the gadget.
type body struct {
	p     *Params
	s     r1cs.System
	state []r1cs.LC
}

// firstRound takes variables: the S-box is applied to input plus key without
// allocating it. Element 0, the tag, is constant and stays outside.
func (b *body) firstRound(in []r1cs.Var) {
	t := b.p.T
	b.state = make([]r1cs.LC, t)
	b.state[0] = r1cs.Const(b.p.first0)
	for i := 1; i < t; i++ {
		l := r1cs.V(in[i-1]).Add(b.p.Keys[i], r1cs.One)
		b.state[i] = b.power(l, l, &b.p.Keys[t+i])
	}
}

func (b *body) fullRound(keys []fr.Element) {
	for i := range b.state {
		var key *fr.Element
		if keys != nil {
			key = &keys[i]
		}
		b.state[i] = b.sbox(b.state[i], key)
	}
}

// alloc allocates the value of lc with the row lc·1 = l.
func (b *body) alloc(lc r1cs.LC) r1cs.Var {
	l := b.s.Alloc(func() fr.Element { return b.eval(lc) })
	b.s.Enforce(lc.Clone(), r1cs.V(r1cs.One), r1cs.V(l))
	return l
}

// sbox allocates the input, its second, fourth and fifth power plus key.
func (b *body) sbox(lc r1cs.LC, key *fr.Element) r1cs.LC {
	l := r1cs.V(b.alloc(lc))
	return b.power(l, l, key)
}

// power allocates l2 = l·l, l4 = l2·l2 and l5 = l·l4 + key, where l is given
// twice as a combination; the row of l5 is l·l4 = l5 − key.
func (b *body) power(l, again r1cs.LC, key *fr.Element) r1cs.LC {
	s := b.s
	l2 := s.Alloc(func() fr.Element { x := b.eval(l); return *x.Square(&x) })
	s.Enforce(l.Clone(), again.Clone(), r1cs.V(l2))
	l4 := s.Alloc(func() fr.Element { x := s.Value(l2); return *x.Square(&x) })
	s.Enforce(r1cs.V(l2), r1cs.V(l2), r1cs.V(l4))
	l5 := s.Alloc(func() fr.Element {
		x, y := b.eval(l), s.Value(l4)
		x.Mul(&x, &y)
		if key != nil {
			x.Add(&x, key)
		}
		return x
	})
	out := r1cs.V(l5)
	if key != nil {
		var m fr.Element
		m.Neg(key)
		out = out.Add(m, r1cs.One)
	}
	s.Enforce(l.Clone(), r1cs.V(l4), out)
	return r1cs.V(l5)
}

func (b *body) eval(lc r1cs.LC) (sum fr.Element) {
	var p fr.Element
	for i := range lc {
		x := b.s.Value(lc[i].Var)
		p.Mul(&x, &lc[i].Coef)
		sum.Add(&sum, &p)
	}
	return sum
}

// dense multiplies the state by a matrix from the right.
func (b *body) dense(m [][]fr.Element) {
	next := make([]r1cs.LC, len(b.state))
	for j := range next {
		for i := range b.state {
			next[j] = next[j].AddLC(m[i][j], b.state[i])
		}
	}
	b.state = next
}

func (b *body) sparse(m *Sparse) {
	next := make([]r1cs.LC, len(b.state))
	for i := range b.state {
		next[0] = next[0].AddLC(m.WHat[i], b.state[i])
	}
	for j := 1; j < len(next); j++ {
		next[j] = b.state[j].Clone().AddLC(m.VRest[j-1], b.state[0])
	}
	b.state = next
}
