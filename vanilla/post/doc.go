// Package post reads and checks the vanilla proofs of a WinningPoSt or a
// WindowPoSt: Merkle paths that show challenged leaves of sealed sectors.
//
// Statement, for each sector of a partition: comm_r = H2(comm_c, comm_r_last),
// and for each challenge a path in the sector's tree R from a leaf at the
// challenged position to comm_r_last. Randomness, prover and sector id enter
// through the challenges alone.
//
// Source: storage-proofs-post fallback/{vanilla,compound}.rs, filecoin-proofs
// api/{post_util,winning_post,window_post}.rs, filecoin-proofs-api post.rs.
//
// The reference finds a wrong vanilla proof late or never; here everything that
// the circuit will use, and everything said twice, is checked before:
//
//  1. [New] decodes, orders the sectors, divides them into partitions, derives
//     the challenges, and compares them with the positions of the paths. It
//     hashes nothing but challenges.
//  2. [Sector.Check] hashes: comm_r and every path.
//
// A proof that passes both has no bit that could be otherwise, leaving aside
// collisions of the hashes.
package post
