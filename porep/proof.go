package porep

import (
	"encoding/binary"
	"fmt"
	"strings"

	"cuzk/sector"
)

// API is the version of the proofs API that a sector was sealed under. It
// selects the rules of the graph and of the PoSt challenges.
type API int

// The three versions, ascending.
const (
	APIv1_0 API = iota // 1.0.0: DRG parents end with v-1, expander indices are cut to 32 bits
	APIv1_1            // 1.1.0: v-1 first, no cut
	APIv1_2            // 1.2.0: graph as 1.1.0
)

// String writes the version as the reference does: 1.0.0, 1.1.0, 1.2.0.
func (a API) String() string { return fmt.Sprintf("1.%d.0", int(a)) }

// Feature says how the challenges of a PoRep are drawn and how many there are.
type Feature int

// The three ways to challenge a replica.
const (
	Interactive    Feature = iota // from a seed that the chain draws later
	Synthetic                     // from a seed, out of a set fixed at commitment
	NonInteractive                // from the replica itself; many more challenges
)

// Proof is a registered seal proof; its number is that of the FFI and of the
// actors, and enters the porep id.
type Proof uint64

// The registered seal proofs: four groups of five sizes.
const (
	proofSizes  = 5
	proofGroups = 4
	// NumProofs is the number of registered seal proofs: Proof(0) to Proof(19).
	NumProofs = proofSizes * proofGroups
)

var registeredSizes = [proofSizes]sector.Size{sector.Size2KiB, sector.Size8MiB,
	sector.Size512MiB, sector.Size32GiB, sector.Size64GiB}

var groups = [proofGroups]struct {
	suffix  string
	api     API
	feature Feature
}{
	{"V1", APIv1_0, Interactive},
	{"V1_1", APIv1_1, Interactive},
	{"V1_1_Feat_SyntheticPoRep", APIv1_2, Synthetic},
	{"V1_2_Feat_NonInteractivePoRep", APIv1_2, NonInteractive},
}

// Valid tells whether the number is registered.
func (p Proof) Valid() bool { return p < NumProofs }

// Size is the sector size of a valid proof.
func (p Proof) Size() sector.Size { return registeredSizes[p%proofSizes] }

// API is the version that a valid proof was registered under.
func (p Proof) API() API { return groups[p/proofSizes].api }

// Feature is the way in which a valid proof is challenged.
func (p Proof) Feature() Feature { return groups[p/proofSizes].feature }

// Base is the first proof of the same size; its name is the key under which
// the reference files the vanilla proofs of every proof of that size.
func (p Proof) Base() Proof { return p % proofSizes }

// String is the name in the proofs API, for example StackedDrg32GiBV1_1.
func (p Proof) String() string {
	if !p.Valid() {
		return fmt.Sprintf("registered seal proof %d", uint64(p))
	}
	return "StackedDrg" + p.Size().String() + groups[p/proofSizes].suffix
}

// ParseProof reads a name as String writes it.
func ParseProof(name string) (Proof, error) {
	for p := Proof(0); p < NumProofs; p++ {
		if p.String() == name {
			return p, nil
		}
	}
	return 0, fmt.Errorf("unknown registered seal proof %q: known are %s", name, strings.Join(proofNames(), ", "))
}

func proofNames() []string {
	var names []string
	for p := Proof(0); p < NumProofs; p++ {
		names = append(names, p.String())
	}
	return names
}

// FindProof is the registered proof of a size, api version and feature.
func FindProof(size sector.Size, api API, feature Feature) (Proof, error) {
	for p := Proof(0); p < NumProofs; p++ {
		if p.Size() == size && p.API() == api && p.Feature() == feature {
			return p, nil
		}
	}
	return 0, fmt.Errorf("no registered seal proof of %v, api %v, feature %d", size, api, int(feature))
}

// Config is everything about a proof that its rules depend on. Registered
// proofs have one; tests use others.
type Config struct {
	Size    sector.Size
	API     API
	Feature Feature
	PorepID [32]byte
}

// Config is the configuration of a valid registered proof; its porep id is the
// number as little-endian 64 bits and zeros.
func (p Proof) Config() Config {
	c := Config{Size: p.Size(), API: p.API(), Feature: p.Feature()}
	binary.LittleEndian.PutUint64(c.PorepID[:], uint64(p))
	return c
}

// Partitions is the number of partitions of one PoRep.
func (c Config) Partitions() int {
	if c.Feature != NonInteractive {
		return c.Size.PoRepPartitions()
	}
	if c.Size >= sector.Size32GiB {
		return 126
	}
	return 13
}

// Challenges is the number of challenges of one partition.
func (c Config) Challenges() int { return c.Size.PoRepChallenges() }
