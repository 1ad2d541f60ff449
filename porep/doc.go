// Package porep holds the native rules of Filecoin's stacked proof of
// replication: which proof types there are, which nodes are challenged, which
// nodes are their parents, how labels are made and how a small sector is sealed.
//
// A sector of n = bytes/32 nodes is sealed in layers. The label of node v in
// layer l is SHA-256 over the replica id, l, v and 37 labels: of v's six parents
// in a depth-robust graph (same layer) and, from layer 2 on, of its eight
// parents in an expander (layer before). The replica is data plus the last
// layer's labels, node by node, in Fr. comm_d, comm_c and comm_r_last are the
// roots of the trees over data, columns of labels and replica;
// comm_r = H2(comm_c, comm_r_last).
//
// Source: storage-proofs-porep 19.1 src/stacked/vanilla, storage-proofs-core
// 19.1 src/drgraph.rs and crypto/feistel.rs, rust-filecoin-proofs-api 19.1
// src/registry.rs.
//
// Invariants:
//
//  1. Nothing here depends on a clock, a file or a source of randomness.
//  2. 32-byte values are the bytes that the reference exchanges: little-endian
//     field elements below the modulus.
//  3. Every table of this package is covered by a published value: parent
//     caches, labels, challenges or public inputs of proofs on mainnet.
package porep
