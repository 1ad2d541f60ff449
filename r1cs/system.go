package r1cs

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// System is what a circuit is written against.
//
// Values come lazily: a system without values never calls the functions it is
// given, so a circuit without data can be compiled. Inside a value function,
// Value and Bit read variables that were allocated before.
type System interface {
	// Alloc allocates one private field element.
	Alloc(value func() fr.Element) Var
	// AllocBit allocates one private bit. The kind is a promise to storage;
	// the row that forces it to be a bit is the gadget's to enforce.
	AllocBit(value func() bool) Var
	// AllocInput allocates one public input.
	AllocInput(value func() fr.Element) Var
	// Enforce adds the row a·b = c. The system takes ownership of the three.
	Enforce(a, b, c LC)
	// Call runs a gadget on variables of this frame and returns its outputs.
	// What the gadget allocates and enforces is contiguous.
	Call(g Gadget, ports []Var) []Var
	// Value reads a variable; only inside a value function.
	Value(v Var) fr.Element
	// Bit reads a variable that is a bit; only inside a value function.
	Bit(v Var) bool
}

// Gadget is a piece of circuit that is recorded once for each shape.
//
// A gadget that carries witness data (siblings of a Merkle level, say) holds
// it in its own fields and touches it in value functions alone.
type Gadget interface {
	// Shape names the gadget with everything that decides its rows: parameters
	// and which of its operands are constants or negated. Two gadgets of equal
	// shape have equal rows up to relocation. It is also the label shown when a
	// row of an instance is not satisfied.
	Shape() string
	// Synthesize runs the body. Outputs are variables that the body allocated
	// or ports.
	Synthesize(s System, ports []Var) []Var
}

// Circuit is a whole statement: a body without ports.
type Circuit interface {
	// Name is the circuit's name, for example window-2KiB.
	Name() string
	// Synthesize runs the body; input 0 is there already.
	Synthesize(s System)
}

// Counts are the sizes of a circuit or template. Rows do not include the
// per-input rows that Groth16 appends.
type Counts struct {
	Inputs int // public inputs; in a whole circuit One is included
	Aux    int // private variables, bits included
	Bits   int // private variables that are bits
	Rows   int // constraints
}
