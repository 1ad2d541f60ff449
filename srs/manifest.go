package srs

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

// parameters.json is the manifest of the published keys, verbatim from
// filecoin-project/rust-fil-proofs @ 87348a74 (MIT or Apache-2.0).
//
//go:embed parameters.json
var manifestJSON []byte

// Published is what the manifest says of one file.
type Published struct {
	// CID is the file's address on IPFS (proofs.filecoin.io/ipfs/CID).
	CID string `json:"cid"`
	// Digest is the first 16 bytes of the file's BLAKE2b-512 in hex.
	Digest string `json:"digest"`
	// SectorSize is in bytes.
	SectorSize uint64 `json:"sector_size"`
}

var manifest = sync.OnceValue(func() map[string]Published {
	var m map[string]Published
	if err := json.Unmarshal(manifestJSON, &m); err != nil {
		panic(fmt.Sprintf("embedded parameters.json: %v", err)) // a broken build, found by the first test
	}
	return m
})

// Published tells what the manifest says of a part (Params or VK) of the
// circuit's key. Only 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB have keys.
func (id ID) Published(part string) (Published, bool) {
	if !id.Valid() {
		return Published{}, false
	}
	p, ok := manifest()[id.FileName(part)]
	return p, ok
}

// Official lists the circuits that have a published key, in the order of
// [Circuits]. The manifest's four empty-sector-update-poseidon files belong to a
// circuit that no network uses and are left out.
func Official() []ID {
	var out []ID
	for _, id := range Circuits() {
		if _, ok := id.Published(Params); ok {
			out = append(out, id)
		}
	}
	return out
}
