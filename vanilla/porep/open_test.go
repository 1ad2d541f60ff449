package porep

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"testing"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/vanilla"
)

// resealed seals the reference's sector again.
func resealed(t testing.TB, name string) (*porep.Sector, Identity) {
	t.Helper()
	data, err := readRequestFile(name + ".sector.json")
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Proof    string         `json:"registered_proof"`
		ProverID vanilla.Domain `json:"prover_id"`
		SectorID uint64         `json:"sector_id"`
		Ticket   vanilla.Domain `json:"ticket"`
		Piece    string         `json:"piece"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	p, err := porep.ParseProof(w.Proof)
	if err != nil {
		t.Fatal(err)
	}
	piece, err := hex.DecodeString(w.Piece)
	if err != nil {
		t.Fatal(err)
	}
	s, err := porep.Seal(porep.Order{Config: p.Config(), ProverID: w.ProverID, SectorID: w.SectorID, Ticket: w.Ticket}, piece)
	if err != nil {
		t.Fatal(err)
	}
	return s, Identity{w.ProverID, w.SectorID}
}

// TestOpenMakesTheReferencesOutput seals the reference's data and opens the
// replica for the reference's seed: all bytes must be the same.
func TestOpenMakesTheReferencesOutput(t *testing.T) {
	for _, name := range []string{"porep-2KiB-V1", "porep-2KiB-V1_1", "porep-2KiB-synthetic"} {
		s, _ := resealed(t, name)
		c, err := Of(s).Open(decodeReference(t, name).Seed)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := c.Encode(&out); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(out.Bytes(), reference(t, name)) {
			t.Errorf("%s: the output differs from the reference's", name)
		}
	}
}

func TestOpenedReplicasPassTheCheck(t *testing.T) {
	s, who := resealed(t, "porep-2KiB-V1_1")
	r := Of(s)
	for seed := range byte(20) {
		c, err := r.Open(vanilla.Domain{seed + 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Check(context.Background(), who, 2); err != nil {
			t.Errorf("seed %d: %v", seed+1, err)
		}
	}
}

func TestOpenRefusesUnregisteredConfigurations(t *testing.T) {
	for _, c := range []porep.Config{
		{Size: sector.Size4KiB},
		{Size: sector.Size2KiB, PorepID: [32]byte{9}},
	} {
		if _, err := (&Replica{Config: c}).Open(vanilla.Domain{}); err == nil {
			t.Errorf("no error for %+v", c)
		}
	}
	_, err := (&Replica{Config: porep.Proof(15).Config()}).Open(vanilla.Domain{})
	expectError(t, err, "SnarkPack")
}
