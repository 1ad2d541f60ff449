package snap

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"cuzk/gadget/gadgettest"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/sector"
	"cuzk/vanilla/snap"
)

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

func blank(t testing.TB, size sector.Size) *Circuit {
	r, err := snap.RulesFor(size)
	if err != nil {
		t.Fatal(err)
	}
	return Blank(r)
}

// TestDigest expands the compiled form of every size and compares it with the
// reference; sizes from 512 MiB on are slow tests.
func TestDigest(t *testing.T) {
	refs := references(t)
	for _, size := range sector.Sizes {
		if size == sector.Size1GiB {
			continue
		}
		c := blank(t, size)
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() && size > sector.Size4KiB {
				t.Skip("6 million rows and more: runs without -short")
			}
			if size >= sector.Size512MiB {
				testutil.Slow(t, "more than 57 million rows")
			}
			compiled, err := r1cs.Compile(c)
			if err != nil {
				t.Fatal(err)
			}
			got, err := compiled.Summarize(nil)
			if err != nil {
				t.Fatal(err)
			}
			want := refs[c.Name()]
			if got.Inputs != want.Inputs || got.Aux != want.Aux || got.Rows != want.Rows || got.NonZero != want.Nnz {
				t.Errorf("sizes %+v %v, reference %+v", got.Counts, got.NonZero, want)
			}
			if d := hex.EncodeToString(got.D1[:]); d != want.D1 {
				t.Errorf("D1 %s, reference %s", d, want.D1)
			}
		})
	}
}

// TestGadgetDigest compares parts with the reference's (circuits.md G.1).
func TestGadgetDigest(t *testing.T) {
	gadgettest.Digest(t, "label_r_new", func(s r1cs.System) {
		v := gadgettest.Numbers(s, 3)
		encode(s, v[0], v[1], v[2])
	})
	gadgettest.Digest(t, "get_challenge_high_bits_30", func(s r1cs.System) {
		bits := gadgettest.Bits(s, 30, 0)
		highBits(s, []int{7, 8, 9, 10, 11, 12}, gadgettest.Bits(s, 6, 0), bits)
	})
	gadgettest.Digest(t, "gen_challenge_bits_10x5", func(s r1cs.System) {
		v := gadgettest.Numbers(s, 2)
		c := Blank(snap.Rules{NodeBits: 5, Challenges: 10})
		c.challengeBits(s, &frame{commRNew: v[0], partition: v[1]})
	})
}
