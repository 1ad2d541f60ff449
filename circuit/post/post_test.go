package post

import (
	"encoding/hex"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/gadget/gadgettest"
	"cuzk/gadget/merkle"
	"cuzk/gadget/poseidon"
	"cuzk/internal/circuittest"
	"cuzk/internal/offheap"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/sector"
)

// What a witness leaves unwritten must show.
func init() { offheap.Poison = true }

const circuits = "../../testdata/circuits.jsonl"

// TestDigest expands the compiled form of every size and compares it with the
// reference. The 32 and 64 GiB window circuits take half a minute each and are
// slow tests.
func TestDigest(t *testing.T) {
	for _, kind := range []Kind{Winning, Window} {
		for _, size := range sector.Sizes {
			c := Blank(kind, size)
			t.Run(c.Name(), func(t *testing.T) {
				if kind == Window && size >= sector.Size32GiB {
					testutil.Slow(t, "more than 125 million rows")
				}
				circuittest.Digest(t, circuits, c)
			})
		}
	}
}

// TestFlatAgreesWithCompiled runs the text flat, without templates.
func TestFlatAgreesWithCompiled(t *testing.T) {
	for _, c := range []*Circuit{Blank(Window, sector.Size2KiB), Blank(Winning, sector.Size2KiB), Blank(Window, sector.Size32KiB)} {
		d := r1cs.NewDigester()
		c.Synthesize(d)
		circuittest.Same(t, circuits, c.Name(), d.Summary())
	}
}

// TestPrefixDigests pins places inside winning-2KiB (circuits.md G.3).
func TestPrefixDigests(t *testing.T) {
	at := []int{1, 311, 312, 313, 314, 316, 338, 843, 1375}
	want := []string{
		"d2eb761b9acf4bfa1b12a947f4b57da8c6d1472ef423d2b6784ecc7e10ac335a",
		"f516d0abc324c8ef3c1ee7fb963de713cbb66100031e91af27abd9b809125348",
		"43d3133ae86d0f5eb8f8ea5011784d50db9a02b8ab16bb4c688889b87f13d100",
		"364968a5185bc7f345dae4fc7c67ee72577d2711dd2bac2b1de90fd337f1efc6",
		"7ba2ab4014e280bc11053f024799d8a88a67dc18f0a553b4a917ebc6df2231d5",
		"59354b1de925bf591c8c8f7dec07c1873abf9207a3051a0f1a5bbe85a5476075",
		"f1a2af30ae270a24d05092de6af9fe627d3a35e5b45e53bade7da59d73dbd05b",
		"d1bff3008afef5f9d57dd0c79242d070b51f2d64004355a703c52d251fc60375",
		"c7cfebe01c7d91110d666299a3843d3d7b61e020bb8d6f9ab7519427902e952c",
	}
	got := r1cs.PrefixDigests(Blank(Winning, sector.Size2KiB), at...)
	for i := range want {
		if h := hex.EncodeToString(got[i][:]); h != want[i] {
			t.Errorf("first %d rows: %s, reference %s", at[i], h, want[i])
		}
	}
}

// synthetic is a sector with consistent paths over made-up siblings: all paths
// lead to the root of the first only if there is one challenge.
func synthetic(size sector.Size, challenges, seed int) *Sector {
	s := &Sector{CommC: gadgettest.Number(seed)}
	for i := range challenges {
		ch := Challenge{Leaf: gadgettest.Number(seed + i + 1)}
		node := ch.Leaf
		for l, n := range size.Arities() {
			all := make([]fr.Element, n)
			for j := range all {
				all[j] = gadgettest.Number(seed + 10*l + j)
			}
			k := (seed + i + l) % n
			all[k] = node
			ch.Steps = append(ch.Steps, merkle.Step{Index: k, Siblings: append(append([]fr.Element{}, all[:k]...), all[k+1:]...)})
			node = poseidon.ForArity(n).Hash(all)
		}
		if i == 0 {
			s.CommRLast = node
		}
		s.Challenges = append(s.Challenges, ch)
	}
	s.CommR = poseidon.ForArity(2).Hash([]fr.Element{s.CommC, s.CommRLast})
	return s
}

func filled(t testing.TB, kind Kind, size sector.Size) *Circuit {
	n, ch := kind.Shape(size)
	var ss []*Sector
	for i := range n {
		if i > 0 && i == n-1 {
			ss = append(ss, ss[0]) // one repeat, as padding makes
			break
		}
		ss = append(ss, synthetic(size, ch, 1000*i))
	}
	c, err := New(kind, size, ss)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestWitnessAgreesWithBody compares the direct witness with the generic path,
// variable for variable.
func TestWitnessAgreesWithBody(t *testing.T) {
	for _, size := range []sector.Size{sector.Size2KiB, sector.Size4KiB, sector.Size32KiB} {
		for _, kind := range []Kind{Winning, Window} {
			t.Run(Blank(kind, size).Name(), func(t *testing.T) {
				if testing.Short() && kind == Winning {
					t.Skip("more of the same: runs without -short")
				}
				agree(t, filled(t, kind, size))
			})
		}
	}
}

func agree(t *testing.T, c *Circuit) {
	compiled, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Witness(t.Context(), compiled)
	if err != nil {
		t.Fatal(err)
	}
	run := r1cs.Run(c)
	values := make([]fr.Element, got.Aux())
	if err := compiled.AuxValues(got, 0, values); err != nil {
		t.Fatal(err)
	}
	for i := range values {
		if values[i] != run.Aux[i] {
			t.Fatalf("aux %d: direct %s, body %s", i, values[i].String(), run.Aux[i].String())
		}
		if _, bit, _ := compiled.Locate(i); bit != run.IsBit.Has(i) {
			t.Fatalf("aux %d: kinds differ", i)
		}
	}
	for i := range got.Inputs {
		if got.Inputs[i] != run.Inputs[i] {
			t.Fatalf("input %d differs", i)
		}
	}
	bad, err := compiled.Check(t.Context(), got)
	if err != nil {
		t.Fatal(err)
	}
	if (bad == nil) != (run.Failed < 0) || bad != nil && bad.Row != run.Failed {
		t.Fatalf("check finds %v, body fails at row %d in %v", bad, run.Failed, run.FailedIn)
	}
}

// TestUnsatisfiedRowIsNamed spoils a sibling of the third sector.
func TestUnsatisfiedRowIsNamed(t *testing.T) {
	c := filled(t, Winning, sector.Size2KiB)
	c.sectors[2].Challenges[0].Steps[1].Siblings[3].SetUint64(9)
	compiled, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c.Witness(t.Context(), compiled)
	if err != nil {
		t.Fatal(err)
	}
	bad, err := compiled.Check(t.Context(), w)
	if err != nil || bad == nil {
		t.Fatalf("found %v, %v", bad, err)
	}
	if want := "winning-2KiB/sector[2]/path-R 8-8[0]"; bad.Path != want || bad.Row != 3*1375-1 {
		t.Errorf("row %d in %q, want the last row of the path in %q", bad.Row, bad.Path, want)
	}
}

func TestNewRefusesWrongShapes(t *testing.T) {
	good := synthetic(sector.Size2KiB, 10, 1)
	short := *good
	short.Challenges = good.Challenges[:9]
	wide := synthetic(sector.Size4KiB, 10, 1)
	for name, ss := range map[string][]*Sector{
		"one sector": {good}, "nine challenges": {good, &short}, "another shape": {wide, good}, "none": nil,
	} {
		if _, err := New(Window, sector.Size2KiB, ss); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		c, err := r1cs.Compile(Blank(Window, sector.Size32GiB))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(c.Encode())), "file-bytes")
	}
}

func BenchmarkWitness(b *testing.B) {
	for _, kind := range []Kind{Winning, Window} {
		c := filled(b, kind, sector.Size2KiB)
		compiled, err := r1cs.Compile(c)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.Name(), func(b *testing.B) {
			for b.Loop() {
				if _, err := c.Witness(b.Context(), compiled); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWitnessFull writes a whole window-32GiB partition of 2,349 different
// sectors: 4 GB. With -cpu 1 it is the time of one core.
func BenchmarkWitnessFull(b *testing.B) {
	n, challenges := Window.Shape(sector.Size32GiB)
	sectors := make([]*Sector, n)
	for i := range sectors {
		sectors[i] = arbitrary(sector.Size32GiB, challenges, uint64(i))
	}
	c, err := New(Window, sector.Size32GiB, sectors)
	if err != nil {
		b.Fatal(err)
	}
	compiled, err := r1cs.Compile(c)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.Witness(b.Context(), compiled); err != nil {
			b.Fatal(err)
		}
	}
}

// arbitrary is a sector of the right shape whose paths lead nowhere.
func arbitrary(size sector.Size, challenges int, seed uint64) *Sector {
	next := func() fr.Element {
		seed = seed*6364136223846793005 + 1442695040888963407
		return fr.Element{seed, seed >> 7, seed << 9, seed >> 3}
	}
	s := &Sector{CommC: next(), CommRLast: next(), CommR: next()}
	for range challenges {
		ch := Challenge{Leaf: next()}
		for _, n := range size.Arities() {
			st := merkle.Step{Index: int(seed>>20) % n}
			for range n - 1 {
				st.Siblings = append(st.Siblings, next())
			}
			ch.Steps = append(ch.Steps, st)
		}
		s.Challenges = append(s.Challenges, ch)
	}
	return s
}
