// Package srs keeps Groth16 keys: how a circuit's key is named, what the
// published ones are, how a key file is laid out, mapped, checked and written.
//
// A key is the outcome of the trusted setup of one circuit. Its proving part
// (".params") holds, in order: the verifying key, then five lists of points, the
// queries h, l, a, b in G1 and b in G2, which a prover multiplies with its
// assignment. Its verifying part (".vk") is the first piece alone.
//
//	vk     alpha1 96 | beta1 96 | beta2 192 | gamma2 192 | delta1 96 | delta2 192 |
//	       count 4 | count x 96
//	query  count 4 | count x 96 (h, l, a, b1) or count x 192 (b2)
//
// Counts are big-endian 32-bit. Points are affine and uncompressed, coordinates
// big-endian: G1 is x, y; G2 is x.c1, x.c0, y.c1, y.c0. The top three bits of a
// point's first byte are flags: 0x80 compressed, 0x40 infinity, 0x20 sign; a
// key has none of them set.
//
// Beside a key there may be a file of two more lists, ".values" ([Values]), which a
// prover can use in place of h. It is ours: made of the key, and named in its header
// by the digest of the key's verifying part.
//
// Sources: bellperson 0.27 groth16/params.rs, mapped_params.rs and
// verifying_key.rs for the layout; storage-proofs-core 19.1 parameter_cache.rs
// and filecoin-proofs 19.1 caches.rs for the names; parameters.json for the
// published digests.
//
// Invariants:
//
//  1. A key is trusted by the digest of its file. Without [Options.Insecure] only
//     a file whose digest is the published one is opened.
//  2. A key whose secrets are known has "insecure" in its file name, and no file
//     with a published name is ever opened with another digest.
//  3. Every length in a file is checked against the file's size before anything
//     is allocated or read.
//  4. No half-written file ever has a key's final name.
//  5. A file that shrinks while it is mapped is an error, not a crash, as long as
//     it is read through this package ([Query.DecodeG1], [Query.DecodeG2],
//     [Query.CopyRaw], [Guard]).
package srs
