package kind

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"cuzk/porep"
	"cuzk/srs"
	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
	vpost "cuzk/vanilla/post"
	vsnap "cuzk/vanilla/snap"
)

// WireRequests makes of a request file (see [Parse]) what a client of the
// contract would send: one request, or one for each partition of a WindowPoSt, in
// order. Their proofs, one after the other, are the proof of the file.
func WireRequests(data []byte, read vanilla.ReadFile) ([]*Request, error) {
	var head struct {
		Kind string `json:"kind"`
	}
	err := json.Unmarshal(data, &head)
	var out []*Request
	switch {
	case err != nil:
		err = fmt.Errorf("request: %w", err)
	case head.Kind == srs.Winning, head.Kind == srs.Window:
		out, err = postRequests(data, read)
	case head.Kind == srs.Update:
		out, err = snapRequest(data, read)
	case head.Kind == srs.PoRep:
		out, err = porepRequest(data, read)
	default:
		err = fmt.Errorf("request: unknown kind %q", head.Kind)
	}
	if err != nil {
		return nil, badInput(err)
	}
	return out, nil
}

// minerOf is the inverse of [porep.ProverID].
func minerOf(prover vanilla.Domain) (uint64, error) {
	miner, n := binary.Uvarint(prover[:])
	if n <= 0 || porep.ProverID(miner) != prover {
		return 0, fmt.Errorf("request: prover_id %s is not that of an actor number", prover)
	}
	return miner, nil
}

// number finds the number of a registered proof among those that name gives.
func number(want string, name func(uint64) (string, error)) (uint64, error) {
	for n := uint64(0); ; n++ {
		got, err := name(n)
		if err != nil {
			return 0, fmt.Errorf("request: registered proof %s has no number", want)
		}
		if got == want {
			return n, nil
		}
	}
}

func porepRequest(data []byte, read vanilla.ReadFile) ([]*Request, error) {
	r := &Request{Kind: "porep-c2"}
	q, err := vporep.ParseRequest(data, func(name string) (b []byte, err error) {
		r.VanillaProof, err = read(name)
		return r.VanillaProof, err
	})
	if err != nil {
		return nil, err
	}
	r.RegisteredProof, r.SectorSize, r.SectorNumber = uint64(q.C1.Proof), uint64(q.C1.Proof.Size()), q.SectorID
	r.MinerID, err = minerOf(q.ProverID)
	return []*Request{r}, err
}

func snapRequest(data []byte, read vanilla.ReadFile) ([]*Request, error) {
	in, err := vsnap.ParseRequest(data, read)
	if err != nil {
		return nil, err
	}
	n, err := number(in.Registered.Name, func(n uint64) (string, error) {
		r, err := vsnap.FromNumber(n)
		return r.Name, err
	})
	return []*Request{{Kind: "snap-update", RegisteredProof: n, SectorSize: uint64(in.Registered.Size), VanillaProofs: in.Proofs,
		CommROld: in.CommROld[:], CommRNew: in.CommRNew[:], CommDNew: in.CommDNew[:]}}, err
}

func postRequests(data []byte, read vanilla.ReadFile) ([]*Request, error) {
	in, err := vpost.ParseRequest(data, read)
	if err != nil {
		return nil, err
	}
	r := Request{Kind: "winning-post", SectorSize: uint64(in.Registered.Size), VanillaProofs: in.Proofs, Randomness: in.Randomness[:]}
	if r.MinerID, err = minerOf(in.ProverID); err != nil {
		return nil, err
	}
	r.RegisteredProof, err = number(in.Registered.Name, func(n uint64) (string, error) {
		r, err := vpost.FromNumber(n)
		return r.Name, err
	})
	if err != nil || in.Registered.Kind == vpost.Winning {
		return []*Request{&r}, err
	}
	r.Kind = "window-post"
	return windowRequests(r, in)
}

// windowRequests divides the sectors into partitions by ascending id, as the
// proof's public inputs do. A sector's proof begins with its id.
func windowRequests(r Request, in vpost.Input) ([]*Request, error) {
	if _, err := vpost.New(in); err != nil { // every proof can be decoded from here on
		return nil, err
	}
	slices.SortFunc(r.VanillaProofs, func(a, b []byte) int {
		return cmp.Compare(binary.LittleEndian.Uint64(a), binary.LittleEndian.Uint64(b))
	})
	var out []*Request
	for proofs := range slices.Chunk(r.VanillaProofs, in.Registered.SectorCount()) {
		part := r
		part.VanillaProofs, part.PartitionIndex = proofs, uint32(len(out))
		out = append(out, &part)
	}
	return out, nil
}
