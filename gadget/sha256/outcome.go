package sha256

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/boolean"
	"cuzk/r1cs"
)

// outcome is what a gate does with operands of given forms: the form of its
// result and the number of bits it allocates.
type outcome struct {
	form boolean.Form
	bits uint8
}

const formCount = 4

// outcomes are found by running the gates once for all forms, so that they
// cannot differ from what the circuit does.
var outcomes = func() (o struct {
	xor     [formCount][formCount]outcome
	ch, maj [formCount][formCount][formCount]outcome
}) {
	for a := range boolean.Form(formCount) {
		for b := range boolean.Form(formCount) {
			x, y := boolean.Of(a, r1cs.Aux(0)), boolean.Of(b, r1cs.Aux(1))
			o.xor[a][b] = try(func(s r1cs.System) boolean.Bit { return boolean.Xor(s, x, y) })
			for c := range boolean.Form(formCount) {
				z := boolean.Of(c, r1cs.Aux(2))
				o.ch[a][b][c] = try(func(s r1cs.System) boolean.Bit { return boolean.Ch(s, x, y, z) })
				o.maj[a][b][c] = try(func(s r1cs.System) boolean.Bit { return boolean.Maj(s, x, y, z) })
			}
		}
	}
	return o
}()

func try(gate func(r1cs.System) boolean.Bit) outcome {
	var p probe
	form := gate(&p).Form()
	return outcome{form, p.bits}
}

// probe is a system without values that counts bits.
type probe struct{ bits uint8 }

func (p *probe) Alloc(func() fr.Element) r1cs.Var            { return r1cs.Aux(0) }
func (p *probe) AllocBit(func() bool) r1cs.Var               { p.bits++; return r1cs.Aux(2 + int(p.bits)) }
func (p *probe) AllocInput(func() fr.Element) r1cs.Var       { return r1cs.One }
func (p *probe) Enforce(a, b, c r1cs.LC)                     {}
func (p *probe) Value(r1cs.Var) (x fr.Element)               { return x }
func (p *probe) Bit(r1cs.Var) bool                           { return false }
func (p *probe) Call(g r1cs.Gadget, v []r1cs.Var) []r1cs.Var { return g.Synthesize(p, v) }
