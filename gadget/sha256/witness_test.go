package sha256

import (
	stdsha "crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"cuzk/gadget/boolean"
	"cuzk/gadget/gadgettest"
	u32 "cuzk/gadget/uint32"
	"cuzk/r1cs"
)

// shaped makes a compression whose bit i has form forms(i) and the values of
// block and state, with the variables allocated in s.
func shaped(s r1cs.System, block *[16]uint32, state *[8]uint32, forms func(i int) boolean.Form) *Compression {
	c := &Compression{}
	i := 0
	set := func(w *u32.Word, x uint32) {
		for k := range w {
			bit := x>>k&1 == 1
			switch f := forms(i); f {
			case boolean.IsVar, boolean.NotVar:
				w[k] = boolean.Of(f, boolean.Alloc(s, func() bool { return bit != (f == boolean.NotVar) }))
			default:
				w[k] = boolean.Const(bit)
			}
			i++
		}
	}
	for i := range c.Block {
		set(&c.Block[i], block[i])
	}
	for i := range c.State {
		set(&c.State[i], state[i])
	}
	return c
}

// TestPlanAgreesWithGates runs compressions of several shapes both ways: plain,
// as the circuits have them, and with random constants and negations.
func TestPlanAgreesWithGates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	choose := func(yes bool, a, b boolean.Form) boolean.Form {
		if yes {
			return a
		}
		return b
	}
	const v, first = boolean.IsVar, 512
	mixed := func(i int) boolean.Form { return boolean.Form(r.IntN(4)) }
	for name, forms := range map[string]func(int) boolean.Form{
		"variables": func(int) boolean.Form { return v },
		"initial":   func(i int) boolean.Form { return choose(i >= first, boolean.False, v) },
		"padding":   func(i int) boolean.Form { return choose(i < first, boolean.False, v) },
		"node":      func(i int) boolean.Form { return choose(i == 231 || i == 487, boolean.False, v) },
		"sparse":    func(i int) boolean.Form { return choose(r.IntN(40) == 0, boolean.NotVar, boolean.False) },
		"one":       func(i int) boolean.Form { return choose(i == 511, v, boolean.False) },
		"mixed 0":   mixed, "mixed 1": mixed, "mixed 2": mixed,
	} {
		t.Run(name, func(t *testing.T) { comparePlan(t, r, forms) })
	}
}

func comparePlan(t *testing.T, r *rand.Rand, forms func(int) boolean.Form) {
	var block [16]uint32
	var state [8]uint32
	for i := range block {
		block[i] = r.Uint32()
	}
	for i := range state {
		state[i] = r.Uint32()
	}
	fixed := make([]boolean.Form, 768)
	for i := range fixed {
		fixed[i] = forms(i)
	}
	var c *Compression
	gadgettest.SameWitness(t,
		func(s r1cs.System) []r1cs.Var {
			c = shaped(s, &block, &state, func(i int) boolean.Form { return fixed[i] })
			return c.ports()
		},
		func(s r1cs.System, v []r1cs.Var) { s.Call(c, v) },
		func(w *r1cs.Writer) {
			p := NewPlan(c)
			at := w.Place().Bit
			p.Witness(w, &block, &state)
			if n := w.Place().Bit - at; n != p.Bits() {
				t.Errorf("%d bits written, plan says %d", n, p.Bits())
			}
		})
}

// TestWitnessState compares the state after whole messages with crypto/sha256.
func TestWitnessState(t *testing.T) {
	c := &Compression{State: InitialState()}
	for i := range c.Block {
		for k := range c.Block[i] {
			c.Block[i][k] = boolean.Is(r1cs.Aux(0))
		}
	}
	p := NewPlan(c)
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		var message [55]byte
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		block := [64]byte{55: 0x80, 62: 55 * 8 >> 8, 63: 55 * 8 & 255}
		copy(block[:], message[:])
		var words [16]uint32
		for i := range words {
			words[i] = binary.BigEndian.Uint32(block[4*i:])
		}
		state := Initial()
		a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: p.Bits(), Bits: p.Bits()})
		p.Witness(r1cs.NewWriter(a, r1cs.Place{}), &words, &state)
		want := stdsha.Sum256(message[:])
		for i, x := range state {
			if x != binary.BigEndian.Uint32(want[4*i:]) {
				t.Fatalf("%x: word %d is %08x, want %x", message, i, x, want[4*i:4*i+4])
			}
		}
	}
}

func BenchmarkCompression(b *testing.B) {
	c := &Compression{}
	c.each(func(w *u32.Word) {
		for k := range w {
			w[k] = boolean.Is(r1cs.Aux(0))
		}
	})
	p := NewPlan(c)
	a := r1cs.NewAssignment(r1cs.Counts{Inputs: 1, Aux: p.Bits(), Bits: p.Bits()})
	var block [16]uint32
	state := Initial()
	b.SetBytes(int64(p.Bits() / 8))
	for b.Loop() {
		p.Witness(r1cs.NewWriter(a, r1cs.Place{}), &block, &state)
		block[0] ^= state[0]
	}
}
