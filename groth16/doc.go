// Package groth16 makes and checks Groth16 proofs over BLS12-381.
//
// A proof is three points A, C in G1 and B in G2. For the verifying key
// (alpha1, beta2, gamma2, delta2, ic) and public inputs x_1..x_n it is valid iff
//
//	e(A, B) = e(alpha1, beta2) · e(ic_0 + Σ x_i·ic_i, gamma2) · e(C, delta2)
//
// and the prover (prove.go) finds them from a witness w, the queries of the
// proving key and two random scalars r, s:
//
//	A = alpha1 + r·delta1 + Σ a_i·w_i
//	B = beta2 + s·delta2 + Σ b2_i·w_i
//	C = Σ h_i·q_i + Σ l_i·w_i + s·(alpha1 + Σ a_i·w_i) + r·(beta1 + Σ b1_i·w_i) + r·s·delta1
//
// Sources: Groth, "On the Size of Pairing-based Non-interactive Arguments", 2016,
// section 3.2; bellperson 0.27 groth16/{proof,verifier,prover}.
//
// Invariants:
//
//  1. Same input, same output: randomness comes from a reader, and nothing here
//     looks at clocks, files or the environment.
//  2. What the decoder accepts, it accepts in one encoding: decoding and encoding
//     gives the same bytes.
//  3. Points from outside are checked (range, curve, subgroup, not infinity)
//     before they meet a pairing.
//  4. Refusal is an error that wraps [ErrInvalidProof]; there is no boolean that
//     could be forgotten.
package groth16
