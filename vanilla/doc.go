// Package vanilla reads what callers send: the plain ("vanilla") proofs that a
// circuit turns into a short one. This package has what all kinds share; the
// kinds are vanilla/porep, vanilla/post and vanilla/snap.
//
// A vanilla proof comes from outside, so nothing in it is believed:
//
//  1. A length is checked against the bytes that remain before anything is
//     allocated for it, and against the one length that the sector size allows.
//  2. No byte may be left over.
//  3. A field element must be canonical, that is, below the modulus.
//  4. What is said twice must be said alike: a path carries its root though the
//     root follows from it, and both must agree.
//  5. Errors are [Error] values that say where in the input the fault is.
//
// Sources: rust-fil-proofs storage-proofs-core merkle/proof.rs (paths),
// filecoin-hashers poseidon.rs and sha256.rs (domains), bincode 1.3 (encoding:
// fixed-width little-endian integers, u64 lengths, u32 variants, structures
// without framing).
package vanilla
