package srs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"cuzk/sector"
)

// The four families of circuits. A circuit's name is FAMILY-SIZE, for example
// porep-32GiB.
const (
	PoRep   = "porep"   // proof of replication
	Winning = "winning" // WinningPoSt
	Window  = "window"  // WindowPoSt
	Update  = "update"  // SnapDeals, the empty-sector update
)

var families = []string{PoRep, Winning, Window, Update}

// ID is a circuit: a family and a sector size.
type ID struct {
	Family string
	Size   sector.Size
}

// Circuits lists the 39 supported circuits, by family and then by size. There
// is no update of 1 GiB sectors.
func Circuits() []ID {
	var out []ID
	for _, f := range families {
		for _, s := range sector.Sizes {
			if id := (ID{f, s}); id.Valid() {
				out = append(out, id)
			}
		}
	}
	return out
}

// Names lists the names of [Circuits].
func Names() []string {
	var out []string
	for _, id := range Circuits() {
		out = append(out, id.String())
	}
	return out
}

// ParseID reads a circuit's name.
func ParseID(name string) (ID, error) {
	family, size, ok := strings.Cut(name, "-")
	if s, err := sector.Parse(size); ok && err == nil {
		if id := (ID{family, s}); id.Valid() {
			return id, nil
		}
	}
	return ID{}, fmt.Errorf("unknown circuit %q: known are porep, winning, window and update, each with a sector size, for example porep-32GiB or window-2KiB", name)
}

// Valid tells whether the circuit exists.
func (id ID) Valid() bool {
	if !id.Size.Valid() {
		return false
	}
	switch id.Family {
	case PoRep, Winning, Window:
		return true
	case Update:
		return id.Size != sector.Size1GiB
	}
	return false
}

// String is the circuit's name.
func (id ID) String() string { return id.Family + "-" + id.Size.String() }

// Identifier is the text whose SHA-256 names the key: the reference's debug form
// of the proof's public parameters. Every space matters. It is empty for a
// circuit that does not exist.
func (id ID) Identifier() string {
	s := id.Size
	switch {
	case !id.Valid():
		return ""
	case id.Family == PoRep:
		return fmt.Sprintf("layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: 8 "+
			"base_graph: drgraph::BucketGraph{size: %d; degree: 6; hasher: poseidon_hasher} }, "+
			"challenges: LayerChallenges { layers: %d, max_count: %d }, tree: merkletree-poseidon_hasher-%v }",
			s.Nodes(), s.Layers(), s.PoRepChallenges(), s.Shape())
	case id.Family == Winning:
		// The reference counts 66 sectors of one challenge each, not one of 66.
		return postIdentifier(s, 1, sector.WinningChallenges)
	case id.Family == Window:
		return postIdentifier(s, sector.WindowChallenges, s.WindowSectors())
	}
	return fmt.Sprintf("empty_sector_update::PublicParams{ sector_nodes: %d }", s.Nodes())
}

func postIdentifier(s sector.Size, challenges, sectors int) string {
	return fmt.Sprintf("FallbackPoSt::PublicParams{sector_size: %d, challenge_count: %d, sector_count: %d}",
		uint64(s), challenges, sectors)
}

// Prefix is the readable part of the key's name.
func (id ID) Prefix() string {
	tree := "merkletree-poseidon_hasher-" + id.Size.Shape().String()
	switch id.Family {
	case PoRep:
		return "stacked-proof-of-replication-" + tree + "-sha256_hasher"
	case Winning, Window:
		return "proof-of-spacetime-fallback-" + tree
	}
	return "empty-sector-update-" + tree
}

// CacheID is prefix-hash, the reference's name of the key.
func (id ID) CacheID() string {
	h := sha256.Sum256([]byte(id.Identifier()))
	return id.Prefix() + "-" + hex.EncodeToString(h[:])
}

// Version is the version of the published keys, the first part of their names.
const Version = "v28"

// The two parts of a key.
const (
	Params = ".params" // proving key, verifying key included
	VK     = ".vk"     // verifying key
)

// FileName is the published name of a part (Params or VK) of the key.
func (id ID) FileName(part string) string { return Version + "-" + id.CacheID() + part }

// InsecureFileName is the name of a part of a key made here, with secrets that
// whoever made it knows.
func (id ID) InsecureFileName(part string) string { return "insecure-" + id.String() + part }

// CacheID is the reference's name of the key of a circuit given by name.
func CacheID(circuit string) (string, error) {
	id, err := ParseID(circuit)
	if err != nil {
		return "", err
	}
	return id.CacheID(), nil
}
