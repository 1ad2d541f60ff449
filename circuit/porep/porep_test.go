package porep

import (
	"encoding/hex"
	"testing"

	"cuzk/internal/circuittest"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/sector"
)

const circuits = "../../testdata/circuits.jsonl"

// TestDigest expands the compiled form of every size and compares it with the
// reference. Sizes from 32 GiB on have 130 million rows and are slow tests.
func TestDigest(t *testing.T) {
	for _, size := range sector.Sizes {
		c := Blank(size)
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() && size > sector.Size2KiB {
				t.Skip("seconds: runs without -short")
			}
			if size >= sector.Size32GiB {
				testutil.Slow(t, "130 million rows")
			}
			circuittest.Digest(t, circuits, c)
		})
	}
}

// TestFlatAgreesWithCompiled runs the text flat, without templates.
func TestFlatAgreesWithCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	c := Blank(sector.Size2KiB)
	d := r1cs.NewDigester()
	c.Synthesize(d)
	circuittest.Same(t, circuits, c.Name(), d.Summary())
}

// prefixes are digests of the first rows of porep-2KiB (circuits.md G.3): they
// tell where a difference begins.
var prefixes = []struct {
	rows          int
	after, digest string
}{
	{1, "replica id input", "c1e4b82b101baded4d1feb1a92da143cea37cb1d02925a61d0cc52593bd7ae04"},
	{257, "its bits", "1b2ca0178c3aaccb91f989add34721653edfd34811843cc4db746345acb6a76e"},
	{571, "preamble", "681bfeb5237a77e92c0fc9dfbf20ef5588a0c960a9ac7ad6e9f6f84be2f4b97b"},
	{572, "first position bit", "4303bb5c96cf629d068ca202213c31e518c0def6694e98ffbdcdbe24a87327ed"},
	{574, "insertion", "c273ffb0fad6a1fe4354c1ced07a0cdde213f2984e5df9ede5a3b6258a96ccb2"},
	{1087, "first row of SHA-256", "63c2e80e1a75ed9fec7fb5966a4e1b86ee457f496e83b03776a09ca4d210403d"},
	{45953, "a level of tree D", "e69a788f861f2a1dec071c4fe5c30985b498ea4c427667db45320752b14ecf2d"},
	{272865, "path in tree D", "a2813cff7e0940dd10d667864f5cfb13201034a9474fd91918df88cc22e80f05"},
	{274238, "a parent", "5482a3fb8967af97f767a564f6f87f16e497072ba2b99e09e1b2ebd5f7c491e6"},
	{292087, "all parents", "8cd646da1d9d4f36bbfa368d03b84f172b347933bc07a4e4819bb77d6f5f44ff"},
	{292152, "challenge input", "2b9ea02a6f6ea1ed87fa1780907c7fadac01a80836ab54cea3c7f6f17206acc3"},
	{815957, "label of layer 1", "ad80a9c8f546aad00607a76c961b1c22f96c055edc3cde9aa705f3fa06b89fae"},
	{1341810, "label of layer 2", "2ba1843440396de9300f1b1af2a1187fffc81e78c53bb2c0084cd13f89432850"},
	{1341811, "replica node", "54bb009078a2f00db443d0ab1bbf6658958e481a3c12393eb391e97d131f7435"},
	{1342873, "path in tree R", "18106437a80875c1186d7525772f4efc95e6ae45b4fb0c53c558552e6c60e8bd"},
	{1344246, "a challenge", "edccf624b9281a5ef7256d5f8a16dc681248236e886a95e7be132ac5e74c0c61"},
}

func TestPrefixDigests(t *testing.T) {
	if testing.Short() {
		t.Skip("slow: runs without -short")
	}
	var at []int
	for _, p := range prefixes {
		at = append(at, p.rows)
	}
	got := r1cs.PrefixDigests(Blank(sector.Size2KiB), at...)
	for i, p := range prefixes {
		if h := hex.EncodeToString(got[i][:]); h != p.digest {
			t.Errorf("first %d rows, up to %s: %s, reference %s", p.rows, p.after, h, p.digest)
		}
	}
}

// TestTemplates pins the set of templates and how often each stands in the
// circuit, and that the counts of the parts make the whole.
func TestTemplates(t *testing.T) {
	c := compiled(t, sector.Size32GiB)
	rows, distinct, all, instances := 0, 0, 0, map[string]int{}
	for _, m := range c.Templates() {
		rows += m.OwnRows * m.Instances
		distinct += m.OwnRows
		all += m.Instances
		instances[m.Shape] = m.Instances
	}
	if n := c.Counts().Rows; rows != n {
		t.Errorf("templates make %d rows, the circuit has %d", rows, n)
	}
	if n := c.Counts(); n.Aux-n.Bits != 1_699_102 || len(instances) != 39 || distinct != 377_422 || all != 16_635 {
		t.Errorf("%d elements, %d templates, %d distinct rows, %d instances: not what the package says",
			n.Aux-n.Bits, len(instances), distinct, all)
	}
	const challenges, layers = 18, 11
	for shape, want := range map[string]int{
		"challenge":                  challenges,
		"column-11":                  challenges * 14,
		"path-C 8-8-8-8-8-8-8-8-8-8": challenges * 15,
		"path-R 8-8-8-8-8-8-8-8-8-8": challenges,
		"merkle-level sha256-2":      challenges * 30,
		"merkle-level poseidon-8":    challenges * 16 * 10,
		"poseidon-11":                challenges * 15,
		"to-bits":                    1 + challenges*(2*30+6+10*14),
		"sha256-compression 7*v v:ffffff7f 7*v v:ffffff7f from 8*v": challenges * layers * 18,
	} {
		if instances[shape] != want {
			t.Errorf("%d instances of %q, want %d", instances[shape], shape, want)
		}
	}
}
