package porep

import "cuzk/vanilla"

// Request asks for the proof of one replica.
type Request struct {
	C1 *C1
	Identity
}

// request is the JSON form of a request.
type request struct {
	Kind     string          `json:"kind"`
	C1       string          `json:"c1"`
	ProverID *vanilla.Domain `json:"prover_id"`
	SectorID *uint64         `json:"sector_id"`
}

// ParseRequest reads a request in JSON: kind (porep), c1, the name of a file
// with the phase-1 output relative to the request, which read reads, prover_id
// in hex and sector_id.
func ParseRequest(data []byte, read vanilla.ReadFile) (*Request, error) {
	var q request
	if err := vanilla.ParseRequest(data, &q); err != nil {
		return nil, err
	}
	switch {
	case q.Kind != "porep":
		return nil, vanilla.Errorf("request: kind is %q, want porep", short(q.Kind))
	case q.ProverID == nil:
		return nil, vanilla.Errorf("request: prover_id is missing")
	case q.SectorID == nil:
		return nil, vanilla.Errorf("request: sector_id is missing")
	}
	files, err := vanilla.ReadFiles(read, []string{q.C1})
	if err != nil {
		return nil, err
	}
	c1, err := Decode(files[0])
	if err != nil {
		return nil, vanilla.At(err, "%s", q.C1)
	}
	return &Request{c1, Identity{*q.ProverID, *q.SectorID}}, nil
}
