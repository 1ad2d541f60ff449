package porep

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
)

// Request asks for the proof of one replica.
type Request struct {
	C1 *C1
	Identity
}

// ParseRequest reads a request of kind porep: JSON with the names of files that
// readFile reads, relative to the request.
//
//	{"kind": "porep", "c1": FILE, "prover_id": 32 bytes of hex, "sector_id": integer}
func ParseRequest(data []byte, readFile func(name string) ([]byte, error)) (*Request, error) {
	var kind, name, prover string
	req := &Request{}
	r := newReader(bytes.NewBuffer(data))
	read := func(to *string) func() error {
		return func() (err error) { *to, err = r.text(); return err }
	}
	err := r.object(
		field{name: "kind", read: read(&kind)},
		field{name: "c1", read: read(&name)},
		field{name: "prover_id", read: read(&prover)},
		field{name: "sector_id", read: func() (err error) { req.SectorID, err = r.uint(math.MaxUint64); return }},
	)
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if kind != "porep" {
		return nil, fmt.Errorf("request: kind is %q, want porep", short(kind))
	}
	if n, err := hex.Decode(req.ProverID[:], []byte(prover[:min(len(prover), 64)])); err != nil || n != 32 || len(prover) != 64 {
		return nil, fmt.Errorf("request: prover_id is %q, want 32 bytes of hex", short(prover))
	}
	c1, err := readFile(name)
	if err != nil {
		return nil, fmt.Errorf("request: read c1: %w", err)
	}
	if req.C1, err = Decode(c1); err != nil {
		return nil, fmt.Errorf("request: %s: %w", name, err)
	}
	return req, nil
}
