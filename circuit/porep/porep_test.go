package porep

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"cuzk/r1cs"
	"cuzk/sector"
)

// reference is a line of the reference's list of circuits.
type reference struct {
	Circuit           string
	Inputs, Aux, Rows int
	Nnz               [3]int
	D1                string
}

func references(t testing.TB) map[string]reference {
	f, err := os.Open("../../testdata/circuits.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]reference{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var r reference
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out[r.Circuit] = r
	}
	return out
}

// TestDigest expands the compiled form of every size and compares it with the
// reference. Sizes from 512 MiB on take long and run without -short.
func TestDigest(t *testing.T) {
	refs := references(t)
	for _, size := range sector.Sizes {
		c := Blank(size)
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() && size > sector.Size2KiB {
				t.Skip("slow: runs without -short")
			}
			compiled, err := r1cs.Compile(c)
			if err != nil {
				t.Fatal(err)
			}
			b := compiled.Encode()
			t.Logf("%d bytes", len(b))
			again, err := r1cs.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := again.Summarize(nil)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, refs[c.Name()])
		})
	}
}

func same(t *testing.T, got r1cs.Summary, want reference) {
	t.Helper()
	if got.Inputs != want.Inputs || got.Aux != want.Aux || got.Rows != want.Rows || got.NonZero != want.Nnz {
		t.Errorf("sizes %+v %v, reference %+v", got.Counts, got.NonZero, want)
	}
	if d := hex.EncodeToString(got.D1[:]); d != want.D1 {
		t.Errorf("D1 %s, reference %s", d, want.D1)
	}
}
