package snap

import (
	"encoding/hex"
	"encoding/json"
	"errors"
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

var names = []string{"update-2KiB", "update-8MiB"}

func hexOf(e fr.Element) string {
	b := e.Bytes()
	return hex.EncodeToString(b[:])
}

func fromHex(t *testing.T, s string) fr.Element {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := fr.BigEndian.Element((*[fr.Bytes]byte)(b))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestReferenceRequests(t *testing.T) {
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p, err := New(load(t, name))
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(); err != nil {
				t.Fatal(err)
			}
			data, err := readRequestFile(name + ".witness.json")
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Circuit    string
				Partitions []struct {
					PublicInputs []string `json:"public_inputs"`
				}
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			if got := p.Registered.Circuit(); got != want.Circuit {
				t.Errorf("circuit %s, want %s", got, want.Circuit)
			}
			if len(p.Partitions) != len(want.Partitions) {
				t.Fatalf("%d partitions, want %d", len(p.Partitions), len(want.Partitions))
			}
			for k := range p.Partitions {
				comparePublic(t, k, p.PublicInputs(&p.Partitions[k]), want.Partitions[k].PublicInputs)
			}
		})
	}
}

func comparePublic(t *testing.T, k int, got []fr.Element, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("partition %d: %d public inputs, want %d", k, len(got), len(want))
	}
	for i := range got {
		if hexOf(got[i]) != want[i] {
			t.Errorf("partition %d: public input %d is %s, want %s", k, i, hexOf(got[i]), want[i])
		}
	}
}

// The table of the reference's own test: first five challenges of a partition.
func TestChallengesMatchReference(t *testing.T) {
	commR := fromHex(t, "6c0740d6edb22eb13054f4587d6d2dcbc688f796c303c7044f60429c4bbe1c10")
	for _, c := range []struct {
		size sector.Size
		k    int
		want [5]uint64
	}{
		{sector.Size2KiB, 0, [5]uint64{53, 51, 56, 3, 0}},
		{sector.Size4KiB, 0, [5]uint64{117, 25, 62, 0, 72}},
		{sector.Size16KiB, 0, [5]uint64{245, 140, 15, 128, 28}},
		{sector.Size16KiB, 1, [5]uint64{286, 308, 493, 510, 508}},
		{sector.Size32KiB, 0, [5]uint64{245, 454, 3, 400, 193}},
		{sector.Size32KiB, 1, [5]uint64{542, 666, 955, 927, 911}},
		{sector.Size8MiB, 0, [5]uint64{36085, 32783, 44060, 10950, 3731}},
		{sector.Size8MiB, 1, [5]uint64{78878, 130797, 112892, 93994, 78379}},
		{sector.Size16MiB, 0, [5]uint64{101621, 16391, 109319, 25944, 41193}},
		{sector.Size16MiB, 1, [5]uint64{209950, 163702, 175679, 224741, 197410}},
		{sector.Size512MiB, 0, [5]uint64{1019125, 116736, 706220, 59698, 799498}},
		{sector.Size512MiB, 1, [5]uint64{2092548, 1213276, 1185483, 1164598, 1095197}},
		{sector.Size512MiB, 14, [5]uint64{15212432, 15665918, 15015423, 15012912, 15495223}},
		{sector.Size512MiB, 15, [5]uint64{16388544, 15794686, 16637142, 16319148, 16328348}},
		{sector.Size32GiB, 0, [5]uint64{1019125, 27985696, 15282860, 11586600, 44651330}},
		{sector.Size32GiB, 1, [5]uint64{109168525, 127316247, 80331041, 97065716, 72310052}},
		{sector.Size32GiB, 14, [5]uint64{990420169, 955146989, 968005601, 976863263, 944650706}},
		{sector.Size32GiB, 15, [5]uint64{1038629497, 1053983614, 1030421316, 1027373887, 1068685433}},
		{sector.Size64GiB, 0, [5]uint64{1019125, 13992848, 3820715, 18225541, 57316660}},
		{sector.Size64GiB, 1, [5]uint64{243386253, 197875851, 204632136, 171516766, 247789010}},
		{sector.Size64GiB, 14, [5]uint64{1997053129, 1920414070, 2003609080, 1900492803, 1963254685}},
		{sector.Size64GiB, 15, [5]uint64{2045262457, 2036941247, 2136653521, 2091356007, 2147167623}},
	} {
		r, err := RulesFor(c.size)
		if err != nil {
			t.Fatal(err)
		}
		got := r.ChallengesOf(c.k, commR)
		if len(got) != r.Challenges || [5]uint64(got) != c.want {
			t.Errorf("%s, partition %d: %d challenges, first %v, want %v", c.size, c.k, len(got), got[:5], c.want)
		}
	}
}

func TestPhiAndRhoMatchReference(t *testing.T) {
	phi := Phi(fr.NewElement(2), fr.NewElement(3))
	if got := hexOf(phi); got != "4d96c347895dafe1c050092ad7aa3976e25c9f3620a5a3d6d82b2ab4ba6cb970" {
		t.Errorf("phi is %s", got)
	}
	if got := hexOf(Rho(phi, 5)); got != "6c65f3b3c62ff4ce2206e4ff085f4ca68052d6b12b7ce2d2de1e1a5dbf29d97b" {
		t.Errorf("rho is %s", got)
	}
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		size                                                sector.Size
		partitions, challenges, apex, h, hSelect, perDigest int
	}{
		{sector.Size2KiB, 1, 10, 8, 1, 1, 42},
		{sector.Size32KiB, 2, 10, 128, 1, 1, 28},
		{sector.Size8MiB, 4, 10, 128, 10, 8, 15},
		{sector.Size16MiB, 4, 10, 128, 10, 8, 14},
		{sector.Size512MiB, 16, 86, 128, 10, 8, 12},
		{sector.Size32GiB, 16, 86, 128, 10, 8, 9},
		{sector.Size64GiB, 16, 86, 128, 10, 8, 9},
	} {
		r, err := RulesFor(c.size)
		if err != nil {
			t.Fatal(err)
		}
		got := [6]int{r.Partitions(), r.Challenges, r.ApexLeaves(), r.H, r.HSelect, r.PerDigest()}
		if want := [6]int{c.partitions, c.challenges, c.apex, c.h, c.hSelect, c.perDigest}; got != want {
			t.Errorf("%s: rules %v, want %v", c.size, got, want)
		}
	}
	for _, s := range []sector.Size{sector.Size1GiB, 0, 12345} {
		_, err := RulesFor(s)
		expectError(t, err, "cannot be updated")
	}
}

func TestRegistered(t *testing.T) {
	for n, want := range []string{"StackedDrg2KiBV1", "StackedDrg8MiBV1", "StackedDrg512MiBV1", "StackedDrg32GiBV1", "StackedDrg64GiBV1"} {
		r, err := FromNumber(uint64(n))
		if err != nil || r.Name != want {
			t.Errorf("number %d is %q, %v", n, r.Name, err)
		}
	}
	_, err := FromNumber(5)
	expectError(t, err, "number 5")
	_, err = ParseRegistered("StackedDrg1GiBV1")
	expectError(t, err, "unknown registered update proof")
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

func accept(in Input) error {
	p, err := New(in)
	if err != nil {
		return err
	}
	return p.Check()
}

func TestWrongRequestsAreRefused(t *testing.T) {
	for _, c := range []struct {
		name, base string
		change     func(in *Input)
		want       string
	}{
		{"comm_r_old", "update-2KiB", func(in *Input) { in.CommROld[0] ^= 1 }, "partition 0: comm_r_old is"},
		{"comm_r_new", "update-2KiB", func(in *Input) { in.CommRNew[0] ^= 1 }, "challenge 0: old replica: path is of node"},
		{"comm_d_new", "update-2KiB", func(in *Input) { in.CommDNew[0] ^= 1 }, "partition 0: apex leaves lead to root"},
		{"not canonical", "update-2KiB", func(in *Input) { in.CommDNew[31] = 0xff }, "comm_d_new"},
		{"other size", "update-2KiB", func(in *Input) { in.Registered = registered[1] }, "1 partition proofs, an update of 8MiB has 4"},
		{"1 GiB", "update-2KiB", func(in *Input) { in.Registered.Size = sector.Size1GiB }, "a sector of 1GiB cannot be updated"},
		{"no proofs", "update-2KiB", func(in *Input) { in.Proofs = nil }, "0 partition proofs"},
		{"partition missing", "update-8MiB", func(in *Input) { in.Proofs = in.Proofs[:3] }, "3 partition proofs"},
		{"partitions exchanged", "update-8MiB", func(in *Input) { in.Proofs[1], in.Proofs[2] = in.Proofs[2], in.Proofs[1] }, "partition 1: challenge 0: old replica: path is of node"},
		{"cut off", "update-2KiB", func(in *Input) { in.Proofs[0] = in.Proofs[0][:5000] }, "partition 0: challenge proofs: 10 entries do not fit"},
		{"left over", "update-2KiB", func(in *Input) { in.Proofs[0] = append(in.Proofs[0], 0) }, "1 bytes left over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := load(t, c.base)
			c.change(&in)
			expectError(t, accept(in), c.want)
		})
	}
}

// Offsets are those of a 2 KiB proof: comm_c 0, number of apex leaves 32, eight
// leaves from 40, number of challenges 296; from 304 on 1,476 bytes a challenge:
// old path (556 bytes: variant, root, leaf, length, levels), data path (364
// bytes), new path.
func TestFlipsAreRefusedInTheirPlace(t *testing.T) {
	const first, second, third = 304, 304 + 556, 304 + 556 + 364
	for _, c := range []struct {
		name string
		at   int
		want string
	}{
		{"comm_c", 0, "partition 0: comm_r_old is"},
		{"number of apex leaves", 32, "apex leaves: has 9 entries, want 8"},
		{"apex leaf", 40 + 7*32, "apex leaves lead to root"},
		{"number of challenges", 296, "challenge proofs: has 11 entries, want 10"},
		{"old variant", first, "challenge 0: old replica: variant"},
		{"old root", first + 4, "comm_r_old is"},
		{"old leaf", first + 36, "challenge 0: node"},
		{"old sibling", first + 84, "challenge 0: old replica: tree R: leads to root"},
		{"old digit", first + 76 + 8 + 224, "challenge 0: old replica: path is of node"},
		{"data leaf", second + 36, "challenge 0: node"},
		{"data root", second + 4, "challenge 0: data: tree D: states root"},
		{"data sibling", second + 84, "challenge 0: data: tree D: leads to root"},
		{"data digit", second + 76 + 8 + 32, "challenge 0: data: path is of node"},
		{"new root", third + 4, "comm_r_new is"},
		{"new leaf", third + 36, "challenge 0: node"},
		{"new sibling", third + 84, "challenge 0: new replica: tree R: leads to root"},
		{"second old root", first + 1476 + 4, "challenge 1: old replica: tree R: states root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := load(t, "update-2KiB")
			in.Proofs[0][c.at] ^= 1
			expectError(t, accept(in), c.want)
		})
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	step := 211
	if testing.Short() {
		step = 1009
	}
	in := load(t, "update-2KiB")
	data := in.Proofs[0]
	for bit := 0; bit < 8*len(data); bit += step {
		data[bit/8] ^= 1 << (bit % 8)
		if accept(in) == nil {
			t.Errorf("bit %d of byte %d can be flipped", bit%8, bit/8)
		}
		data[bit/8] ^= 1 << (bit % 8)
	}
}

// The node above a challenged data node, at the apex leaves' height, is the
// apex leaf that Rules.Apex tells.
func TestApexLeafIsOnThePath(t *testing.T) {
	p, err := New(load(t, "update-8MiB"))
	if err != nil {
		t.Fatal(err)
	}
	below := *p.TreeD
	below.Arities = below.Arities[:p.Rules.ApexHeight()]
	for k := range p.Partitions {
		for i, c := range p.Partitions[k].Challenges {
			if got := below.ComputeRoot(&c.Data); got != p.Partitions[k].Apex[p.Rules.Apex(c.Node)] {
				t.Errorf("partition %d: challenge %d is not under its apex leaf", k, i)
			}
		}
	}
}

func TestParseRequestIsStrict(t *testing.T) {
	good, err := readRequestFile("update-2KiB.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"other kind", `"update"`, `"window"`, `kind "window" is not update`},
		{"unknown member", `"kind"`, `"extra": 1, "kind"`, "extra"},
		{"unknown proof", "StackedDrg2KiBV1", "StackedDrg2KiBV1_1", "unknown registered update proof"},
		{"comm_d_new missing", `"comm_d_new": "23e28b6c6e28699ff86aa18b3d28a7a3216d369ee8a34d832a1a931ae2dd9a00",`, "", "comm_d_new is missing"},
		{"short", `"comm_r_old": "ea`, `"comm_r_old": "`, "has 62 characters"},
		{"file", "update-2KiB.0.vproof", "nowhere", `read "nowhere"`},
		{"path", "update-2KiB.0.vproof", "../nowhere", "not a plain relative path"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(string(good), c.old) {
				t.Fatalf("request has no %s", c.old)
			}
			_, err := ParseRequest([]byte(strings.Replace(string(good), c.old, c.new, 1)), readRequestFile)
			expectError(t, err, c.want)
		})
	}
}

// Arbitrary bytes do not panic, whatever size they claim to be of.
func FuzzDecodePartition(f *testing.F) {
	for n, name := range names {
		in := load(f, name)
		f.Add(uint8(n), uint8(0), in.Proofs[0])
	}
	f.Fuzz(func(t *testing.T, n, k uint8, data []byte) {
		r := registered[int(n)%len(registered)]
		in := Input{Registered: r}
		rules, err := RulesFor(r.Size)
		if err != nil {
			t.Fatal(err)
		}
		p := &Proof{Registered: r, Rules: rules, TreeR: vanilla.TreeR(r.Size), TreeD: vanilla.TreeD(r.Size)}
		if err := p.commitments(&in); err != nil {
			t.Fatal(err)
		}
		if _, err := p.decode(int(k)%rules.Partitions(), data); err != nil {
			mustBeFault(t, err)
		}
	})
}

// Seeds are the reference's requests; no file can be read.
func FuzzParseRequest(f *testing.F) {
	for _, name := range names {
		data, err := readRequestFile(name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseRequest(data, func(name string) ([]byte, error) { return []byte(name), nil })
		if err == nil {
			_, err = New(in)
		}
		if err != nil {
			mustBeFault(t, err)
		}
	})
}

func mustBeFault(t *testing.T, err error) {
	t.Helper()
	var fault *vanilla.Error
	if !errors.As(err, &fault) {
		t.Fatalf("error %q is not a vanilla.Error", err)
	}
}

func BenchmarkCheck(b *testing.B) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			in := load(b, name)
			for b.Loop() {
				if err := accept(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
