// Package cuzkv1 is the generated code of the inherited wire contract
// cuzk.v1.ProvingEngine (proto/cuzk/v1/proving.proto), and nothing else.
//
// The contract is frozen: the test beside this file compares every name, number
// and type of the generated descriptor with testdata/contract.txt, which was
// written from the client's side of the contract.
package cuzkv1

//go:generate ../../tools/generate.sh
