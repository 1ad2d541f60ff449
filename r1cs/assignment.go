package r1cs

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/offheap"
)

// Assignment is the compact witness of one circuit: the values of all
// variables, bits one bit each and elements 32 bytes each in Montgomery form,
// both in order of allocation. Which aux variable is which follows from the
// circuit ([Compiled.Locate]).
type Assignment struct {
	Inputs   []fr.Element // public inputs; Inputs[0] is one
	Bits     []uint64     // bit i is bit i%64 of word i/64
	NumBits  int          // number of bit variables
	Elements []fr.Element // element variables
}

// NewAssignment makes a zero assignment of the given counts with Inputs[0] set.
func NewAssignment(c Counts) *Assignment {
	a := &Assignment{
		Inputs:   make([]fr.Element, c.Inputs),
		Bits:     make([]uint64, (c.Bits+63)/64),
		NumBits:  c.Bits,
		Elements: make([]fr.Element, c.Aux-c.Bits),
	}
	if c.Inputs > 0 {
		a.Inputs[0].SetOne()
	}
	return a
}

// UnsetAssignment is NewAssignment with elements of any value: for who writes every
// one of them.
func UnsetAssignment(c Counts) *Assignment {
	a := NewAssignment(Counts{Inputs: c.Inputs, Bits: c.Bits, Aux: c.Bits, Rows: c.Rows})
	a.Elements = offheap.Uncleared[fr.Element](c.Aux - c.Bits)
	return a
}

// Bit reads bit variable i.
func (a *Assignment) Bit(i int) bool { return a.Bits[i>>6]>>(i&63)&1 == 1 }

// Aux is the number of private variables.
func (a *Assignment) Aux() int { return a.NumBits + len(a.Elements) }

// Bytes is the storage taken by the values.
func (a *Assignment) Bytes() int {
	return 8*len(a.Bits) + fr.Bytes*(len(a.Elements)+len(a.Inputs))
}

// Place is a position in the three arrays of an assignment.
type Place struct {
	Input, Bit, Element int
}

// Plus moves a place by the counts of n instances of c.
func (p Place) Plus(n int, c Counts) Place {
	return Place{p.Input + n*c.Inputs, p.Bit + n*c.Bits, p.Element + n*(c.Aux-c.Bits)}
}

// WitnessError says that a writer's output does not fit the circuit.
type WitnessError struct {
	What      string
	Got, Want Place
}

func (e *WitnessError) Error() string {
	return fmt.Sprintf("witness of %s ends at input %d, bit %d, element %d, circuit says %d, %d, %d",
		e.What, e.Got.Input, e.Got.Bit, e.Got.Element, e.Want.Input, e.Want.Bit, e.Want.Element)
}
