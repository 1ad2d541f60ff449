// Package snap reads and checks the vanilla proofs of an empty sector update
// (SnapDeals): that a sealed sector without data was re-encoded with data.
//
// Statement, for one partition k of an update (comm_r_old, comm_d_new,
// comm_r_new): both comm_r come from one comm_c; for each challenged node v
// there are paths from old[v] and new[v] in the old and new tree R and from
// data[v] in tree D, and new[v] = old[v] + data[v]·rho(v). Paths in tree D end
// at the partition's apex leaves, from which the circuit computes comm_d_new.
//
//	phi    = HG(comm_d_new, comm_r_old)         HG: Poseidon, arity 2, tag 2^40
//	rho(v) = HG(phi, the top h bits of v)
//
// Source: storage-proofs-update constants.rs, challenges.rs, vanilla.rs;
// filecoin-proofs api/update.rs.
//
// As in vanilla/post, [New] decodes and compares positions with challenges,
// and [Proof.Check] hashes. What passes both has no bit that could be
// otherwise. A 1 GiB sector cannot be updated.
package snap
