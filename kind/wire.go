package kind

import (
	"context"
	"fmt"
	"strings"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/srs"
	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
	vpost "cuzk/vanilla/post"
	vsnap "cuzk/vanilla/snap"
)

// Request is what clients of the cuzk.v1 contract send of one proof, without
// its id, priority and deadline. Which fields a kind takes:
//
//	porep-c2      VanillaProof is the phase-1 output in JSON, bare or in the
//	              wrapper with SectorNum, Phase1Out and SectorSize. Its own
//	              registered proof counts; RegisteredProof may be left out (0),
//	              and must agree if it is there. SectorNumber and MinerID must be
//	              those of the replica id.
//	snap-update   VanillaProofs are the partition proofs in bincode, in order;
//	              CommROld, CommRNew, CommDNew are 32 bytes each, not CIDs.
//	window-post   VanillaProofs are the sectors of one partition in bincode, in
//	              any order. PartitionIndex is the partition's position in the
//	              proof that its challenges were drawn for; clients that prove
//	              partition by partition send 0 always.
//	winning-post  VanillaProofs is the one sector in bincode.
//
// SectorSize may be left out (0) and must agree otherwise. A field that the
// kind has no use for must be empty, but for SectorNumber and MinerID, which
// clients also send where the vanilla proof says it or where nothing depends on
// it. The fields are those of job.Request, so that one converts to the other.
type Request struct {
	Kind            string
	SectorSize      uint64
	RegisteredProof uint64
	SectorNumber    uint64
	MinerID         uint64
	PartitionIndex  uint32
	VanillaProof    []byte
	VanillaProofs   [][]byte
	Randomness      []byte
	CommROld        []byte
	CommRNew        []byte
	CommDNew        []byte
}

// Wire is a kind of proof in the cuzk.v1 contract. The proof that clients expect
// is 192 bytes a partition, in order.
type Wire struct {
	Name     string // in logs, metrics and requests
	Number   int32  // ProofKind
	Priority int    // of requests that ask for none; 1 is low, 4 critical
	Family   string // of its circuits, as srs names them
	circuit  string // of its circuits, as the contract names them
	open     func(*Request) (*Job, error)
}

var wires = []Wire{
	{"porep-c2", 1, 2, srs.PoRep, "porep", wirePoRep},
	{"snap-update", 2, 2, srs.Update, "snap", wireSnap},
	{"window-post", 3, 3, srs.Window, "wpost", wireWindow},
	{"winning-post", 4, 4, srs.Winning, "winning", wireWinning},
}

// Wires lists the kinds of the contract by number.
func Wires() []Wire { return append([]Wire(nil), wires...) }

// Open decodes a request of this kind. Errors are the caller's and name the
// field; [Job.Check] remains to be done.
func (w *Wire) Open(ctx context.Context, r *Request) (*Job, error) {
	if r.Kind != w.Name {
		return nil, badInput(fmt.Errorf("request is of kind %q, not %s", r.Kind, w.Name))
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	j, err := w.open(r)
	if err == nil && r.SectorSize != 0 && r.SectorSize != uint64(j.Circuit.Size) {
		err = fmt.Errorf("sector_size is %d, %s has sectors of %d bytes", r.SectorSize, j.Registered, uint64(j.Circuit.Size))
	}
	if err != nil {
		return nil, badInput(fmt.Errorf("%s request: %w", w.Name, err))
	}
	return j, nil
}

// WireOf is the kind whose proofs a circuit makes; false for a family that the
// contract does not have.
func WireOf(id srs.ID) (Wire, bool) {
	for _, w := range wires {
		if w.Family == id.Family {
			return w, true
		}
	}
	return Wire{}, false
}

// WireID is the circuit's name in the contract, for example wpost-32g.
func WireID(id srs.ID) string {
	w, ok := WireOf(id)
	if !ok {
		return id.String()
	}
	return w.circuit + "-" + strings.TrimSuffix(strings.ToLower(id.Size.String()), "ib")
}

// ParseCircuit reads a circuit's name, that of the contract or its own:
// wpost-32g or window-32GiB.
func ParseCircuit(name string) (srs.ID, error) {
	for _, e := range entries {
		if name == WireID(e.ID) || name == e.ID.String() {
			return e.ID, nil
		}
	}
	return srs.ID{}, fmt.Errorf("unknown circuit %q: known are porep, snap, wpost and winning, each with a sector size, for example porep-32g or wpost-2k", name)
}

// unused says which fields that the kind has no use for are not empty.
func (r *Request) unused(names ...string) error {
	for _, n := range names {
		if size := r.sizeOf(n); size > 0 {
			return fmt.Errorf("%s is there (%d), but a request of this kind has none", n, size)
		}
	}
	return nil
}

func (r *Request) sizeOf(field string) int {
	switch field {
	case "vanilla_proof":
		return len(r.VanillaProof)
	case "vanilla_proofs":
		return len(r.VanillaProofs)
	case "randomness":
		return len(r.Randomness)
	case "partition_index":
		return int(r.PartitionIndex)
	case "comm_r_old":
		return len(r.CommROld)
	case "comm_r_new":
		return len(r.CommRNew)
	}
	return len(r.CommDNew)
}

// domain reads 32 bytes. Commitments were once sent as CIDs, which are longer.
func domain(name string, b []byte) (vanilla.Domain, error) {
	switch {
	case len(b) == 0:
		return vanilla.Domain{}, fmt.Errorf("%s is missing", name)
	case len(b) > sector.NodeSize && strings.HasPrefix(name, "comm_"):
		return vanilla.Domain{}, fmt.Errorf("%s has %d bytes, want the 32 of the commitment alone, not a CID", name, len(b))
	}
	d, err := vanilla.DomainFrom(b)
	return d, vanilla.At(err, "%s", name)
}

func wirePoRep(r *Request) (*Job, error) {
	if err := r.unused("vanilla_proofs", "randomness", "partition_index", "comm_r_old", "comm_r_new", "comm_d_new"); err != nil {
		return nil, err
	}
	if len(r.VanillaProof) == 0 {
		return nil, fmt.Errorf("vanilla_proof is missing: it holds the phase-1 output")
	}
	c1, err := vporep.Decode(r.VanillaProof)
	if err != nil {
		return nil, vanilla.At(err, "vanilla_proof")
	}
	if n := r.RegisteredProof; n != 0 && n != uint64(c1.Proof) {
		return nil, fmt.Errorf("registered_proof is %d (%v), the phase-1 output is of %d (%v)", n, porep.Proof(n), uint64(c1.Proof), c1.Proof)
	}
	return PoRep(&vporep.Request{C1: c1, Identity: vporep.Identity{ProverID: porep.ProverID(r.MinerID), SectorID: r.SectorNumber}})
}

func wireSnap(r *Request) (*Job, error) {
	if err := r.unused("vanilla_proof", "randomness", "partition_index"); err != nil {
		return nil, err
	}
	registered, err := vsnap.FromNumber(r.RegisteredProof)
	if err != nil {
		return nil, vanilla.At(err, "registered_proof")
	}
	in := vsnap.Input{Registered: registered, Proofs: r.VanillaProofs}
	for _, f := range []struct {
		name string
		from []byte
		to   *vanilla.Domain
	}{{"comm_r_old", r.CommROld, &in.CommROld}, {"comm_r_new", r.CommRNew, &in.CommRNew}, {"comm_d_new", r.CommDNew, &in.CommDNew}} {
		if *f.to, err = domain(f.name, f.from); err != nil {
			return nil, err
		}
	}
	return Snap(in)
}

func wireWindow(r *Request) (*Job, error) {
	only := int(r.PartitionIndex)
	return r.post(vpost.Window, &only)
}

func wireWinning(r *Request) (*Job, error) {
	if err := r.unused("partition_index"); err != nil {
		return nil, err
	}
	return r.post(vpost.Winning, nil)
}

func (r *Request) post(k vpost.Kind, only *int) (*Job, error) {
	if err := r.unused("vanilla_proof", "comm_r_old", "comm_r_new", "comm_d_new"); err != nil {
		return nil, err
	}
	registered, err := vpost.FromNumber(r.RegisteredProof)
	if err != nil {
		return nil, vanilla.At(err, "registered_proof")
	}
	if registered.Kind != k {
		return nil, fmt.Errorf("registered_proof is %d, %s, which is not a %s PoSt", r.RegisteredProof, registered.Name, k)
	}
	randomness, err := domain("randomness", r.Randomness)
	if err != nil {
		return nil, err
	}
	return Post(vpost.Input{Registered: registered, Randomness: randomness, ProverID: porep.ProverID(r.MinerID), Proofs: r.VanillaProofs, Only: only})
}
