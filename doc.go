// Package cuzk makes and checks the Groth16 proofs of Filecoin storage. This
// root package holds what the whole program shares: its version and a few real
// requests that ship with it.
//
// The map, in the order in which a request flows:
//
//	vanilla/     decodes and checks what callers send
//	kind/        turns it into partitions
//	circuit/     the statements; gadget/ what they are made of
//	r1cs/        the constraint system: compiled circuits, compact witnesses
//	synth/       what is said of a finished witness
//	srs/         proving and verifying keys
//	backend/     where the arithmetic happens: cpu, cuda
//	groth16/     the proof, its formula, its check
//	proving/     circuit, key and backend together
//	cmd/cuzk/    the program
package cuzk

import "embed"

// Examples holds proof requests of sealed 2 KiB sectors, one of each kind, with
// the files they name, under testdata/requests. testdata/ORIGIN.md says where
// they are from.
//
//go:embed testdata/requests/winning-2KiB.json testdata/requests/winning-2KiB.2126961807.vproof
//go:embed testdata/requests/window-2KiB-V1_2-2of2.json testdata/requests/window-2KiB-V1_2-2of2.2126961807.vproof testdata/requests/window-2KiB-V1_2-2of2.2207798158.vproof
//go:embed testdata/requests/porep-2KiB-V1_1.json testdata/requests/porep-2KiB-V1_1.c1.json
//go:embed testdata/requests/update-2KiB.json testdata/requests/update-2KiB.0.vproof
var Examples embed.FS
