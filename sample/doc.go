// Package sample makes proof requests that nobody asked for: for tests,
// demonstrations and benchmarks, of any size, from a number.
//
// Two sorts. A request of a sealed sector ([SealedPoSt], [SealedUpdate] and
// porep.Seal with vanilla/porep's Open) proves something true about data that
// exist, and is limited to sizes that can be sealed in memory. A sample
// ([PoRep], [PoSt], [Update]) has no sector behind it: it fixes only what the
// proof opens. Yet every check of the reference and of this program holds, and
// the proof made of it verifies, because a verifier sees no more than that:
//
//   - PoRep: the data is one short pattern repeated, so that comm_d, the replica
//     id and with the seed the challenges are known first. Labels of challenged
//     nodes are computed from their parents', which are pseudo-random; trees C
//     and R are hashed along the challenged paths alone, with pseudo-random
//     siblings. Challenges that depend on comm_r (synthetic and non-interactive)
//     cannot be had in this way, which is their purpose: there a sector is
//     sealed, if its size allows.
//   - PoSt: tree R along the challenged paths, comm_c pseudo-random.
//   - Update: challenges depend on comm_r_new, so the trees must be complete.
//     Old replica and data repeat a pattern, and so does the new replica among
//     nodes with the same factor rho; equal subtrees are hashed once.
//
// Samples say that they are: tickets, seeds and randomness are readable text
// ("cuzk sample ..."), the miner is [Miner], and a phase-1 output has a mark of
// its own.
//
// Invariants:
//
//  1. The same arguments give the same request, bit for bit, on every machine.
//  2. One node has one value in all openings of a request.
package sample
