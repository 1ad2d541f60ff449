package post

import (
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/sector"
	"cuzk/vanilla"
)

const requests = "../../testdata/requests"

func readRequestFile(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(requests, name))
}

// load reads a reference request.
func load(t testing.TB, name string) Input {
	t.Helper()
	data, err := readRequestFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	in, err := ParseRequest(data, readRequestFile)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// names lists the reference requests of both kinds.
func names(t testing.TB) (out []string) {
	t.Helper()
	for _, kind := range []string{"winning", "window"} {
		files, err := filepath.Glob(filepath.Join(requests, kind+"-*.witness.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no reference requests of kind %s: %v", kind, err)
		}
		for _, f := range files {
			out = append(out, strings.TrimSuffix(filepath.Base(f), ".witness.json"))
		}
	}
	return out
}

type witnessFile struct {
	Circuit    string
	Partitions []struct {
		Partition    int
		PublicInputs []string `json:"public_inputs"`
	}
}

func loadWitness(t *testing.T, name string) (w witnessFile) {
	t.Helper()
	data, err := readRequestFile(name + ".witness.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &w); err != nil {
		t.Fatal(err)
	}
	return w
}

func hexOf(e fr.Element) string {
	b := e.Bytes()
	return hex.EncodeToString(b[:])
}

func TestReferenceRequests(t *testing.T) {
	for _, name := range names(t) {
		t.Run(name, func(t *testing.T) {
			p, err := New(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			want := loadWitness(t, name)
			if got := p.Registered.Circuit(); got != want.Circuit {
				t.Errorf("circuit %s, want %s", got, want.Circuit)
			}
			if len(p.Partitions) != len(want.Partitions) {
				t.Fatalf("%d partitions, want %d", len(p.Partitions), len(want.Partitions))
			}
			for i := range p.Partitions {
				comparePublic(t, &p.Partitions[i], want.Partitions[i].PublicInputs)
			}
		})
	}
}

func comparePublic(t *testing.T, p *Partition, want []string) {
	t.Helper()
	got := p.PublicInputs()
	if len(got) != len(want) {
		t.Fatalf("partition %d: %d public inputs, want %d", p.Index, len(got), len(want))
	}
	for i := range got {
		if hexOf(got[i]) != want[i] {
			t.Fatalf("partition %d: public input %d is %s, want %s", p.Index, i, hexOf(got[i]), want[i])
		}
	}
}

// The real 32 GiB proof: a partition of 2,349 slots over one sector's data.
func TestPaddedPartitionSharesItsSector(t *testing.T) {
	p, err := New(load(t, "window-32GiB-V1-1of2349"))
	if err != nil {
		t.Fatal(err)
	}
	slots := p.Partitions[0].Slots
	if len(slots) != 2349 || len(p.Sectors) != 1 {
		t.Fatalf("%d slots over %d sectors", len(slots), len(p.Sectors))
	}
	if a, b := slots[0], slots[2348]; a.Sector != b.Sector || &a.Paths[0] != &b.Paths[0] {
		t.Error("the last slot has its own copy of the sector")
	}
}

func TestLeafChallengesMatchReference(t *testing.T) {
	randomness := vanilla.Domain{}
	for i := range randomness {
		randomness[i] = 1
	}
	for index, want := range []uint64{262629804, 965016778, 186707329, 381118628, 819045567} {
		if got := LeafChallenge(randomness, 7, uint64(index), sector.Size32GiB); got != want {
			t.Errorf("index %d: leaf %d, want %d", index, got, want)
		}
	}
}

func TestWinningSectorIsBelowCount(t *testing.T) {
	seen := map[uint64]bool{}
	for n := range uint64(64) {
		s := WinningSector(vanilla.Domain{1}, vanilla.Domain{2}, n, 5)
		if s >= 5 {
			t.Fatalf("sector %d of 5", s)
		}
		seen[s] = true
	}
	if len(seen) != 5 {
		t.Errorf("64 draws hit %d of 5 sectors", len(seen))
	}
}

func TestRegisteredProofs(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "StackedDrgWinning2KiBV1", 3: "StackedDrgWinning32GiBV1", 8: "StackedDrgWindow32GiBV1",
		9: "StackedDrgWindow64GiBV1", 10: "StackedDrgWindow2KiBV1_2", 13: "StackedDrgWindow32GiBV1_2",
	} {
		r, err := FromNumber(n)
		if err != nil || r.Name != want {
			t.Errorf("number %d is %q, %v; want %s", n, r.Name, err, want)
		}
		if again, err := ParseRegistered(want); err != nil || again != r {
			t.Errorf("%s parses to %+v, %v", want, again, err)
		}
	}
	if _, err := FromNumber(15); err == nil {
		t.Error("number 15 is taken")
	}
	for _, name := range []string{"", "StackedDrgWindow32GiBV1_1", "StackedDrgWinning2KiBV1_2", "StackedDrg2KiBV1"} {
		if _, err := ParseRegistered(name); err == nil {
			t.Errorf("%q is taken", name)
		}
	}
}

func TestOnlyOnePartition(t *testing.T) {
	whole := load(t, "window-2KiB-V1-3of4")
	all, err := New(whole)
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	part := whole
	part.Proofs, part.Only = whole.Proofs[2:], &one
	p, err := New(part)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Partitions) != 1 || p.Partitions[0].Index != 1 {
		t.Fatalf("%d partitions, the first has index %d", len(p.Partitions), p.Partitions[0].Index)
	}
	for i, e := range all.Partitions[1].PublicInputs() {
		if got := p.Partitions[0].PublicInputs()[i]; got != e {
			t.Fatalf("public input %d differs from the whole proof's", i)
		}
	}
	zero := 0
	part.Only = &zero
	_, err = New(part)
	expectError(t, err, "challenge 0: path is of leaf")
}

func TestOrderDoesNotMatter(t *testing.T) {
	in := load(t, "window-2KiB-V1-3of4")
	in.Proofs[0], in.Proofs[2] = in.Proofs[2], in.Proofs[0]
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	comparePublic(t, &p.Partitions[0], loadWitness(t, "window-2KiB-V1-3of4").Partitions[0].PublicInputs)
}

func expectError(t *testing.T, err error, part string) {
	t.Helper()
	var fault *vanilla.Error
	switch {
	case err == nil:
		t.Errorf("no error, want one with %q", part)
	case !strings.Contains(err.Error(), part):
		t.Errorf("error %q, want one with %q", err, part)
	case !errors.As(err, &fault):
		t.Errorf("error %q is not a vanilla.Error", err)
	}
}

// Each fault that a caller can make has its own message.
func TestWrongRequestsAreRefused(t *testing.T) {
	minus := -1
	modulus := vanilla.Domain{}
	for i, b := range fr.Modulus().Bytes() {
		modulus[31-i] = b
	}
	find := func(name string) Registered {
		r, err := ParseRegistered(name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, c := range []struct {
		name, base string
		change     func(in *Input)
		want       string
	}{
		{"randomness above the modulus", "winning-2KiB", func(in *Input) { in.Randomness = modulus }, "randomness"},
		{"prover id above the modulus", "winning-2KiB", func(in *Input) { in.ProverID[31] = 0xff }, "prover id"},
		{"other randomness", "winning-2KiB", func(in *Input) { in.Randomness[0] ^= 1 }, "challenge 0: path is of leaf"},
		{"larger size", "winning-2KiB", func(in *Input) { in.Registered = find("StackedDrgWinning8MiBV1") }, "inclusion proofs"},
		{"smaller size", "winning-8MiB", func(in *Input) { in.Registered = find("StackedDrgWinning2KiBV1") }, "base path: has 6 entries, want 2"},
		{"winning as window", "winning-2KiB", func(in *Input) { in.Registered = find("StackedDrgWindow2KiBV1") }, "has 66 entries, want 10"},
		{"window as winning", "window-2KiB-V1-1of2", func(in *Input) { in.Registered = find("StackedDrgWinning2KiBV1") }, "has 10 entries, want 66"},
		{"V1 as V1_2", "window-2KiB-V1-3of4", func(in *Input) { in.Registered = find("StackedDrgWindow2KiBV1_2") }, "challenge 0: path is of leaf"},
		{"no sectors", "window-2KiB-V1-1of2", func(in *Input) { in.Proofs = nil }, "no vanilla proofs"},
		{"two winning sectors", "winning-2KiB", func(in *Input) { in.Proofs = append(in.Proofs, in.Proofs[0]) }, "2 vanilla proofs for a WinningPoSt"},
		{"sector twice", "window-2KiB-V1-3of4", func(in *Input) { in.Proofs[1] = in.Proofs[0] }, "sector 2126961807 is given twice"},
		{"too many for one partition", "window-2KiB-V1_2-3of4", func(in *Input) { in.Only = new(int) }, "3 vanilla proofs for one partition, at most 2 fit"},
		{"negative partition", "window-2KiB-V1-1of2", func(in *Input) { in.Only = &minus }, "partition -1"},
		{"partition of winning", "winning-2KiB", func(in *Input) { in.Only = new(int) }, "partition 0 of a winning PoSt"},
		{"nothing registered", "winning-2KiB", func(in *Input) { in.Registered = Registered{} }, "no registered PoSt proof"},
		{"cut off", "winning-2KiB", func(in *Input) { in.Proofs[0] = in.Proofs[0][:9999] }, "do not fit"},
		{"empty", "winning-2KiB", func(in *Input) { in.Proofs[0] = nil }, "sector id: cut off at byte 0 of 0"},
		{"left over", "winning-2KiB", func(in *Input) { in.Proofs[0] = append(in.Proofs[0], 0) }, "1 bytes left over"},
		{"sector left out", "window-2KiB-V1-3of4", func(in *Input) { in.Proofs = in.Proofs[1:] }, "sector 2207798158: challenge 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := load(t, c.base)
			c.change(&in)
			_, err := New(in)
			expectError(t, err, c.want)
		})
	}
}

// accept runs everything there is to a request.
func accept(in Input) error {
	p, err := New(in)
	if err != nil {
		return err
	}
	return p.Check()
}

// Bits of a winning and of window proofs, spread evenly: every flip is refused.
// The stride is prime to the sizes of the encoding's parts, so that all kinds
// of fields and all bits of a byte are hit.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	stride := map[string]int{"winning-2KiB": 409, "window-2KiB-V1-3of4": 211, "window-2KiB-V1_2-2of2": 211, "window-8MiB-V1-1of2": 1021}
	if testing.Short() {
		for name := range stride {
			stride[name] = stride[name]*11 + 2
		}
	}
	for name, step := range stride {
		t.Run(name, func(t *testing.T) {
			in := load(t, name)
			for i := range in.Proofs {
				tryFlips(t, in, i, step)
			}
		})
	}
}

func tryFlips(t *testing.T, in Input, i, step int) {
	data := in.Proofs[i]
	for bit := i; bit < 8*len(data); bit += step {
		data[bit/8] ^= 1 << (bit % 8)
		if accept(in) == nil {
			t.Errorf("proof %d: bit %d of byte %d can be flipped", i, bit%8, bit/8)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
}

// A flip in each field of the encoding is refused for the right reason. Offsets
// are those of a 2 KiB proof: sector id 0, comm_r 8, lengths 40 and 48, first
// path at 56 (variant, root, leaf, length, two levels of 8+224+8 bytes, together
// 556), at the end comm_c and comm_r_last.
func TestFlipsAreRefusedInTheirPlace(t *testing.T) {
	size := 5680
	for _, c := range []struct {
		name string
		at   int
		want string
	}{
		{"sector id", 0, "challenge"},
		{"comm_r", 8, "comm_r is"},
		{"sector proofs", 40, "sector proofs: has 0 entries"},
		{"inclusion proofs", 48, "inclusion proofs: has 11 entries"},
		{"variant", 56, "challenge 0: variant of the path is 1"},
		{"root", 60, "challenge 0: tree R: states root"},
		{"leaf", 92, "challenge 0: tree R: leads to root"},
		{"levels", 124, "base path: has 3 entries, want 2"},
		{"siblings", 132, "challenge 0: level 0: siblings: has 6 entries, want 7"},
		{"first sibling", 140, "challenge 0: tree R: leads to root"},
		{"sibling's top bit", 171, "sibling: not below the modulus"},
		{"digit", 364, "challenge 0: path is of leaf"},
		{"digit's top byte", 371, "challenge 0: level 0: digit"},
		{"root of the second path", 56 + 556 + 4, "challenge 1: tree R: states root"},
		{"comm_c", size - 64, "comm_r is"},
		{"comm_r_last", size - 32, "comm_r is"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := load(t, "window-2KiB-V1-1of2")
			if len(in.Proofs[0]) != size {
				t.Fatalf("proof of %d bytes", len(in.Proofs[0]))
			}
			flip := byte(1)
			if strings.HasSuffix(c.name, "top bit") {
				flip = 0x80
			}
			in.Proofs[0][c.at] ^= flip
			expectError(t, accept(in), c.want)
		})
	}
}

func TestParseRequestIsStrict(t *testing.T) {
	good, err := readRequestFile("winning-2KiB.json")
	if err != nil {
		t.Fatal(err)
	}
	replace := func(old, new string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("request has no %s", old)
		}
		return strings.Replace(string(good), old, new, 1)
	}
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "request"},
		{"no object", "[]", "request"},
		{"unknown member", replace(`"kind"`, `"extra": 1, "kind"`), "extra"},
		{"member twice", replace(`"kind"`, `"kind": "winning", "kind"`), "kind"},
		{"something after", string(good) + "{}", "request"},
		{"other kind", replace(`"winning"`, `"window"`), `kind "window" does not go with registered proof StackedDrgWinning2KiBV1`},
		{"unknown proof", replace("StackedDrgWinning2KiBV1", "StackedDrgWinning3KiBV1"), "unknown registered PoSt proof"},
		{"short randomness", replace(`"randomness": "52`, `"randomness": "`), "has 62 characters, want 64 hex digits"},
		{"no hex", replace(`"randomness": "52`, `"randomness": "zz`), "not hex"},
		{"randomness missing", replace(`"randomness": "5214a544d1546cbb753370f18b78c327a5ffa84bdde0bb92648220e28bb91b1e",`, ""), "randomness is missing"},
		{"prover missing", replace(`"prover_id": "9ef13d0000000000000000000000000000000000000000000000000000000000",`, ""), "prover_id is missing"},
		{"path that leads out", replace("winning-2KiB.2126961807", "../x"), "not a plain relative path"},
		{"file missing", replace("2126961807", "1"), "read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseRequest([]byte(c.data), readRequestFile)
			expectError(t, err, c.want)
		})
	}
}

// What the chain says of the real 32 GiB proof: registered proof 8, and a CID
// whose last 32 bytes are comm_r.
func TestRealProofMatchesItsPublicData(t *testing.T) {
	data, err := os.ReadFile("testdata/post-32g.public.json")
	if err != nil {
		t.Fatal(err)
	}
	var public struct {
		Randomness []byte
		Proofs     []struct{ PoStProof uint64 }
		Sectors    []struct {
			SectorNumber uint64
			SealedCID    map[string]string
		} `json:"ChallengedSectors"`
	}
	if err := json.Unmarshal(data, &public); err != nil {
		t.Fatal(err)
	}
	in := load(t, "window-32GiB-V1-1of2349")
	if r, err := FromNumber(public.Proofs[0].PoStProof); err != nil || r != in.Registered {
		t.Errorf("registered proof %+v, %v", r, err)
	}
	if in.Randomness != vanilla.Domain(public.Randomness) {
		t.Error("randomness differs")
	}
	p, err := New(in)
	if err != nil {
		t.Fatal(err)
	}
	cid, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(strings.ToUpper(public.Sectors[0].SealedCID["/"][1:]))
	if err != nil {
		t.Fatal(err)
	}
	if got := vanilla.DomainOf(&p.Sectors[0].CommR); got != vanilla.Domain(cid[len(cid)-32:]) {
		t.Errorf("comm_r %s is not that of the CID", got)
	}
	if p.Sectors[0].ID != public.Sectors[0].SectorNumber {
		t.Errorf("sector %d", p.Sectors[0].ID)
	}
}

// The commitments of the sectors are what sealing printed, integers read
// little-endian.
func TestCommitmentsMatchSealing(t *testing.T) {
	p, err := New(load(t, "window-2KiB-V1-1of2"))
	if err != nil {
		t.Fatal(err)
	}
	data, err := readRequestFile("porep-2KiB-V1.sector.json")
	if err != nil {
		t.Fatal(err)
	}
	var sealed struct {
		R     vanilla.Domain `json:"comm_r"`
		C     vanilla.Domain `json:"comm_c"`
		RLast vanilla.Domain `json:"comm_r_last"`
	}
	if err := json.Unmarshal(data, &sealed); err != nil {
		t.Fatal(err)
	}
	s := p.Sectors[0]
	for _, c := range []struct {
		name string
		got  fr.Element
		want vanilla.Domain
	}{{"comm_r", s.CommR, sealed.R}, {"comm_c", s.CommC, sealed.C}, {"comm_r_last", s.CommRLast, sealed.RLast}} {
		if got := vanilla.DomainOf(&c.got); got != c.want {
			t.Errorf("%s is %s, want %s", c.name, got, c.want)
		}
	}
	if s.CommR.BigInt(new(big.Int)).Sign() == 0 {
		t.Error("comm_r is zero")
	}
}

func BenchmarkNew(b *testing.B) {
	for _, name := range []string{"winning-2KiB", "window-32GiB-V1-1of2349"} {
		b.Run(name, func(b *testing.B) {
			in := load(b, name)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheckSector32GiB(b *testing.B) {
	p, err := New(load(b, "window-32GiB-V1-1of2349"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.Check(); err != nil {
			b.Fatal(err)
		}
	}
}
