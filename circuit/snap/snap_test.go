package snap

import (
	"testing"

	"cuzk/gadget/gadgettest"
	"cuzk/internal/circuittest"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/sector"
	"cuzk/vanilla/snap"
)

const circuits = "../../testdata/circuits.jsonl"

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
			circuittest.Digest(t, circuits, c)
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
