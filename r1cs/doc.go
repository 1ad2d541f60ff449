// Package r1cs is the constraint system that every circuit is written against.
//
// A rank-1 constraint system over the scalar field Fr of BLS12-381 is a list
// of rows <A_j,w>·<B_j,w> = <C_j,w> over the assignment w = (inputs, aux), where
// input 0 is the constant one. Order is part of the protocol: the trusted setup
// was run on one particular numbering of variables and rows, so a circuit text
// allocates and enforces in the reference's order (bellperson 0.27,
// bellpepper-core 0.2) and nothing here ever reorders.
//
// One text, several readers. Circuits and gadgets know only the [System]
// interface. What stands behind it differs:
//
//   - [Recorder] compiles a circuit into nested templates ([Compiled]),
//   - [Digester] streams rows of a flat run into the canonical digest D1,
//   - package r1cs/rtest keeps values, names and finds the row that fails.
//
// A gadget call goes through [System.Call]. The recorder runs a gadget's body
// once for each shape and refers to the recorded [Template] afterwards; a
// circuit of 130 million rows is then a few hundred thousand distinct rows and
// a list of instances.
//
// Invariants:
//
//  1. Expanding a [Compiled] gives, row for row, what a flat run gives.
//  2. The shape of a gadget decides its rows, the kinds of its variables and its
//     outputs; values never do.
//  3. The kind of an aux variable (bit or element) is known without values, so
//     an [Assignment] stores bits as bits and elements as elements.
//  4. A zero coefficient may stand in a linear combination while a gadget builds
//     it, but never in an expanded row, a digest or a density.
package r1cs
