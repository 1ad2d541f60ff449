package main

import "testing"

// TestCommitmentForms reads one comm_r as hex and as its CID, and one comm_d;
// the CIDs are of real commitments, as explorers show them.
func TestCommitmentForms(t *testing.T) {
	for _, text := range []string{
		"baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq", // the data of a sector of 32 GiB of zeros
		"0000000000000000000000000000000000000000000000000000000000000000",
	} {
		if _, err := commitment(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	d, err := commitment("baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mpq")
	if err != nil || d.String() != "077e5fde35c50a9303a55009e3498a4ebedff39c42b710b730d8ec7ac7afa63e" {
		t.Errorf("comm_d of zeros read as %s, %v", d, err)
	}
	for _, text := range []string{"", "00", "bafkqaaa", "baga6ea4seaqao7s73y24kcutaosvacpdjgfe5pw76ooefnyqw4ynr3d2y6x2mp"} {
		if _, err := commitment(text); err == nil {
			t.Errorf("%q was taken for a commitment", text)
		}
	}
}

func TestMinerForms(t *testing.T) {
	for text, want := range map[string]uint64{"f01000": 1000, "t01000": 1000, "1000": 1000} {
		if got, err := minerID(text); err != nil || got != want {
			t.Errorf("%s read as %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "f0", "f1abc", "-1", "f0f01"} {
		if _, err := minerID(text); err == nil {
			t.Errorf("%q was taken for a miner", text)
		}
	}
}
