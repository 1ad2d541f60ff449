package porep

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/google/go-cmp/cmp"

	"cuzk/sector"
)

// drawOf55 is the draw of the published challenges.
func drawOf55() Draw { return Draw{porepID(55), porepID(101), filled(1)} }

func TestInteractiveChallenges(t *testing.T) {
	c := Config{Size: sector.Size32GiB}
	first, err := c.Challenge(drawOf55(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint64{578006451, 233767224, 527517844, 659776159, 166998397}, first[:5]); d != "" {
		t.Errorf("partition 0 (-want +got):\n%s", d)
	}
	last, err := c.Challenge(drawOf55(), 9)
	if err != nil {
		t.Fatal(err)
	}
	if got := last[len(last)-1]; len(last) != 18 || got != 1037104873 {
		t.Errorf("partition 9: %d challenges, last %d, want 18 and 1037104873", len(last), got)
	}
}

func TestNonInteractiveChallenges(t *testing.T) {
	c := Config{Size: sector.Size32GiB, Feature: NonInteractive}
	got, err := c.Challenge(drawOf55(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint64{37871399, 401485964, 300729639, 37585560, 703810606}, got[:5]); d != "" {
		t.Errorf("partition 0 (-want +got):\n%s", d)
	}
}

func TestSyntheticChallenges(t *testing.T) {
	set := []uint64{178, 297, 869, 211, 875, 477, 94, 781, 124, 332, 856, 801, 176, 692, 429, 691, 290, 204, 986, 210, 973}
	d := drawOf55()
	ks, err := keystream(tagGeneration, d.ReplicaID[:], d.CommR[:])
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range set {
		if got := nonzeroNode([32]byte(ks.at(uint32(i), 32)), 1<<10); got != want {
			t.Errorf("member %d of the set is %d, want %d", i, got, want)
		}
	}
	got, err := synthetic(1<<10, 0, 10, d, 21)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]uint64{176, 781, 801, 986, 290, 211, 692, 856, 986, 332}, got); d != "" {
		t.Errorf("selection (-want +got):\n%s", d)
	}
}

func TestChallengeRefusesUnknownPartition(t *testing.T) {
	for _, k := range []int{-1, 10} {
		if _, err := (Config{Size: sector.Size32GiB}).Challenge(Draw{}, k); err == nil {
			t.Errorf("no error for partition %d of 10", k)
		}
	}
}

// record is a message of mainnet with the inputs of its proofs.
type record struct {
	ID       string  `json:"id"`
	Miner    uint64  `json:"miner_actor_id"`
	Proof    Proof   `json:"registered_seal_proof"`
	Sector   uint64  `json:"sector"`
	Ticket   hex32   `json:"ticket"`
	Seed     hex32   `json:"interactive_seed"`
	CommR    hex32   `json:"comm_r"`
	CommD    hex32   `json:"comm_d"`
	Expected [][]any `json:"public_inputs"`
}

type hex32 [32]byte

func (h *hex32) UnmarshalText(text []byte) error {
	if n, err := hex.Decode(h[:], text); err != nil || n != 32 {
		return fmt.Errorf("not 32 bytes of hex: %s", text)
	}
	return nil
}

// text writes an input as the records do: node numbers as decimal, the rest
// as hex of the bytes.
func text(i int, e fr.Element) string {
	b := bytesOf(e)
	if i >= 3 {
		return fmt.Sprint(binary.LittleEndian.Uint64(b[:]))
	}
	return hex.EncodeToString(b[:])
}

func TestPublicInputsOfMainnetRecords(t *testing.T) {
	f, err := os.Open("testdata/mainnet.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r record
		d := json.NewDecoder(strings.NewReader(lines.Text()))
		d.UseNumber()
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		t.Run(r.ID, func(t *testing.T) { checkRecord(t, r) })
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
}

func checkRecord(t *testing.T, r record) {
	c := r.Proof.Config()
	if len(r.Expected) != c.Partitions() {
		t.Fatalf("%d partitions expected of a proof with %d", len(r.Expected), c.Partitions())
	}
	s := Statement{CommD: r.CommD, CommR: r.CommR, Seed: r.Seed}
	s.ReplicaID = ReplicaID(ProverID(r.Miner), r.Sector, r.Ticket, r.CommD, c.PorepID)
	for k, expected := range r.Expected {
		got, err := c.PublicInputs(s, k)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(expected) || len(got) != c.Inputs() {
			t.Fatalf("partition %d: %d inputs, want %d", k, len(got), len(expected))
		}
		for i := range got {
			if want := fmt.Sprint(expected[i]); text(i, got[i]) != want {
				t.Fatalf("partition %d, input %d: %s, want %s", k, i, text(i, got[i]), want)
			}
		}
	}
}

func TestPublicInputsRefuseBytesAboveTheModulus(t *testing.T) {
	s := Statement{CommR: filled(0xff)}
	if _, err := Proof(0).Config().PublicInputs(s, 0); err == nil || !strings.Contains(err.Error(), "comm_r") {
		t.Errorf("error %v, want one about comm_r", err)
	}
}

func TestProofNames(t *testing.T) {
	for _, c := range []struct {
		p          Proof
		name       string
		size       sector.Size
		api        API
		feature    Feature
		partitions int
	}{
		{0, "StackedDrg2KiBV1", sector.Size2KiB, APIv1_0, Interactive, 1},
		{3, "StackedDrg32GiBV1", sector.Size32GiB, APIv1_0, Interactive, 10},
		{8, "StackedDrg32GiBV1_1", sector.Size32GiB, APIv1_1, Interactive, 10},
		{11, "StackedDrg8MiBV1_1_Feat_SyntheticPoRep", sector.Size8MiB, APIv1_2, Synthetic, 1},
		{14, "StackedDrg64GiBV1_1_Feat_SyntheticPoRep", sector.Size64GiB, APIv1_2, Synthetic, 10},
		{15, "StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", sector.Size2KiB, APIv1_2, NonInteractive, 13},
		{18, "StackedDrg32GiBV1_2_Feat_NonInteractivePoRep", sector.Size32GiB, APIv1_2, NonInteractive, 126},
	} {
		if c.p.String() != c.name || c.p.Size() != c.size || c.p.API() != c.api || c.p.Feature() != c.feature {
			t.Errorf("proof %d: %v %v %v %v", c.p, c.p, c.p.Size(), c.p.API(), c.p.Feature())
		}
		if got := c.p.Config().Partitions(); got != c.partitions {
			t.Errorf("%v: %d partitions, want %d", c.p, got, c.partitions)
		}
		if q, err := ParseProof(c.name); err != nil || q != c.p {
			t.Errorf("ParseProof(%q) = %v, %v", c.name, q, err)
		}
		if q, err := FindProof(c.size, c.api, c.feature); err != nil || q != c.p {
			t.Errorf("FindProof of %s = %v, %v", c.name, q, err)
		}
	}
	if _, err := ParseProof("StackedDrg4KiBV1"); err == nil {
		t.Error("4 KiB has no registered proof")
	}
}
