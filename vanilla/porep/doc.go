// Package porep reads what callers send to have a proof of replication proved:
// the phase-1 output ("C1"), JSON written by the proofs API or re-written by
// Go's encoding/json, bare or inside the wrapper that storage software puts
// around it; and checks, before anything is proved, that it proves what it says.
//
// A C1 holds, for each challenged node of each partition: the path of its data
// node in tree D, the columns of labels of the node and of its 14 parents with
// their paths in tree C, the path of its replica node in tree R, and the
// labelling and encoding proofs that repeat parts of these.
//
// Source: rust-filecoin-proofs-api 19.1 src/seal.rs (SealCommitPhase1Output),
// storage-proofs-porep 19.1 src/stacked/vanilla/{params,proof_scheme}.rs,
// storage-proofs-core 19.1 src/merkle/proof.rs; JSON as serde_json writes it.
//
// Invariants:
//
//  1. A decoded [C1] has the exact shape of its registered proof: numbers of
//     partitions, challenges, parents, layers, levels and siblings. Code behind
//     the decoder indexes without looking.
//  2. Every value of a tree or column is a field element below the modulus.
//  3. The decoder reads every byte: no field is unknown, doubled or missing.
//  4. What [C1.Check] accepts, the reference's verification of all partitions
//     accepts too. Check refuses in addition what would lead to a proof of
//     another statement, and parts that proving does not need but that contradict
//     the rest.
package porep
