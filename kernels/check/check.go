// Package check holds the device code that only tests on a card load, apart from
// package kernels so that the program does not carry it. It is compiled, listed
// in the manifest and checked like the rest.
package check

import _ "embed"

// Curve is the PTX of kernels/curve/curve.cu: every formula of the curves, one
// kernel a group. Callers must not change it.
//
//go:embed curve.ptx
var Curve []byte
