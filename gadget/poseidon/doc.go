// Package poseidon is the Poseidon hash of Filecoin over the scalar field Fr of
// BLS12-381: constants, native hash, native witness, and the circuit.
//
// Definition. The state has t = arity + 1 elements: a domain tag, then the
// inputs. It goes through RF/2 = 4 full rounds, RP partial rounds and 4 full
// rounds; a round adds constants, raises to the fifth power (all elements, or
// the first alone), and multiplies by the matrix M[i][j] = 1/(i+t+j). The digest
// is element 1. Constants come from the Grain LFSR of the Poseidon paper
// (eprint 2019/458, appendix E). Strength "standard".
//
// Source: neptune 11 (poseidon.rs, round_constants.rs, mds.rs,
// preprocessing.rs, circuit.rs). The trusted setup was run on neptune's older
// circuit, the one that allocates the input of every S-box; its variables are
// what [Params.Witness] writes.
//
// Three forms of the same permutation live here:
//
//   - the textbook form, in tests alone;
//   - the optimised form of neptune (compressed keys, pre-sparse and sparse
//     matrices), which the circuit's linear combinations follow;
//   - the recurrence form (recurrence.go), which the native code runs: in the
//     partial rounds every S-box input is one inner product of the 2t values
//     before it, with the same 2t coefficients in every round.
//
// One permutation runs on ordinary words; [Params.WitnessMany] and
// [Params.HashMany] run eight side by side, one in each lane of an AVX-512
// register (lanes_amd64.go), where the processor has IFMA and the arity is at
// most 11. Portable Go stands behind both (build tag purego).
//
// Invariants:
//
//  1. All forms give the same S-box inputs, hence the same digest and witness.
//  2. Params are built once an arity, are read only, and may be shared.
//  3. Hash, Witness and their Many forms do not allocate.
package poseidon
