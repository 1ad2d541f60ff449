package sample

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/google/go-cmp/cmp"

	"cuzk/porep"
	"cuzk/sector"
	"cuzk/vanilla"
	porepc1 "cuzk/vanilla/porep"
	"cuzk/vanilla/post"
	"cuzk/vanilla/snap"
)

const requests = "../testdata/requests"

func read(name string) ([]byte, error) { return os.ReadFile(filepath.Join(requests, name)) }

func mustRead(t testing.TB, name string) []byte {
	t.Helper()
	data, err := read(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// resealed seals the reference's sector again.
func resealed(t testing.TB, name string) *porep.Sector {
	t.Helper()
	var w struct {
		Proof    string         `json:"registered_proof"`
		ProverID vanilla.Domain `json:"prover_id"`
		SectorID uint64         `json:"sector_id"`
		Ticket   vanilla.Domain `json:"ticket"`
		Piece    string         `json:"piece"`
	}
	if err := json.Unmarshal(mustRead(t, name+".sector.json"), &w); err != nil {
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
	return s
}

// TestSealedPoStIsTheReferences seals the reference's sectors again; the
// vanilla proofs must be the same bytes.
func TestSealedPoStIsTheReferences(t *testing.T) {
	a, b, c := resealed(t, "porep-2KiB-V1"), resealed(t, "porep-2KiB-V1_1"), resealed(t, "porep-2KiB-synthetic")
	for name, sectors := range map[string][]*porep.Sector{
		"winning-2KiB":          {a},
		"window-2KiB-V1-1of2":   {a},
		"window-2KiB-V1_2-2of2": {a, b},
		"window-2KiB-V1-3of4":   {a, b, c},
		"window-2KiB-V1_2-3of4": {a, b, c},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := post.ParseRequest(mustRead(t, name+".json"), read)
			if err != nil {
				t.Fatal(err)
			}
			got, err := SealedPoSt(want.Registered, sectors, want.Randomness)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

// TestSealedUpdateIsTheReferences updates the reference's sector again.
func TestSealedUpdateIsTheReferences(t *testing.T) {
	var w struct {
		Staged string `json:"staged"`
		New    string `json:"new_sealed"`
	}
	if err := json.Unmarshal(mustRead(t, "update-2KiB.sector.json"), &w); err != nil {
		t.Fatal(err)
	}
	staged, err := hex.DecodeString(w.Staged)
	if err != nil {
		t.Fatal(err)
	}
	want, err := snap.ParseRequest(mustRead(t, "update-2KiB.json"), read)
	if err != nil {
		t.Fatal(err)
	}
	got, replica, err := SealedUpdate(want.Registered, resealed(t, "porep-2KiB-V1_1"), unpad(staged))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if hex.EncodeToString(replica) != w.New {
		t.Error("new replica differs")
	}
}

// unpad takes out the two zero bits after every 254 bits.
func unpad(padded []byte) []byte {
	out := make([]byte, len(padded)/128*127)
	for i := range 8 * len(padded) / 256 * 254 {
		from := i/254*256 + i%254
		out[i/8] |= padded[from/8] >> (from % 8) & 1 << (i % 8)
	}
	return out
}

func TestSealedRequestsRefuseWhatDoesNotFit(t *testing.T) {
	s := resealed(t, "porep-2KiB-V1")
	window, _ := post.FromNumber(6) // 8 MiB
	small, _ := post.FromNumber(5)
	for _, sectors := range [][]*porep.Sector{nil, {s}} {
		if _, err := SealedPoSt(window, sectors, vanilla.Domain{}); err == nil {
			t.Errorf("no error for %d sectors of another size", len(sectors))
		}
	}
	if _, err := SealedPoSt(small, []*porep.Sector{s, s}, vanilla.Domain{}); err == nil {
		t.Error("no error for a sector given twice")
	}
	update, _ := snap.FromNumber(1)
	if _, _, err := SealedUpdate(update, s, nil); err == nil {
		t.Error("no error for an update of another size")
	}
	update, _ = snap.FromNumber(0)
	for _, n := range []int{1, 127} {
		if _, _, err := SealedUpdate(update, s, make([]byte, n)); err == nil {
			t.Errorf("no error for %d bytes of data", n)
		}
	}
}

// openFiles gives the request and what reads the files that it names.
func openFiles(t testing.TB, files []File) ([]byte, vanilla.ReadFile) {
	t.Helper()
	content := map[string][]byte{}
	for _, f := range files {
		var b bytes.Buffer
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		content[f.Name] = b.Bytes()
	}
	return content[files[0].Name], func(name string) ([]byte, error) {
		data, ok := content[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return data, nil
	}
}

func TestPoRepSamplesPassTheCheck(t *testing.T) {
	for p := porep.Proof(0); p < 15; p++ {
		t.Run(p.String(), func(t *testing.T) {
			if size := p.Size(); testing.Short() && (size >= sector.Size32GiB || p.Feature() == porep.Synthetic && size > sector.Size2KiB) {
				t.Skip("many hashes")
			}
			s, err := PoRep(p.Config(), 7, 0)
			if p.Feature() == porep.Synthetic && p.Size() > porep.MaxSeal {
				if !errors.Is(err, ErrNeedsSector) {
					t.Fatalf("error %v, want %v", err, ErrNeedsSector)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkPoRep(t, s)
		})
	}
}

func checkPoRep(t *testing.T, s *PoRepSample) {
	t.Helper()
	c1, err := s.C1()
	if err != nil {
		t.Fatal(err)
	}
	files, err := PoRepFiles("x", "x.c1.json", c1, s.Identity)
	if err != nil {
		t.Fatal(err)
	}
	data, readFile := openFiles(t, files)
	req, err := porepc1.ParseRequest(data, readFile)
	if err != nil {
		t.Fatal(err)
	}
	if req.C1.Sample == "" {
		t.Error("the sample has no mark")
	}
	var before, after bytes.Buffer
	if err := errors.Join(c1.Encode(&before), req.C1.Encode(&after)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("written and read again, it differs")
	}
	if err := req.C1.Check(context.Background(), req.Identity, 2); err != nil {
		t.Error(err)
	}
}

// TestPoRepSamplesOfUnregisteredSizes covers sub and top levels in small.
func TestPoRepSamplesOfUnregisteredSizes(t *testing.T) {
	for _, size := range sector.Sizes {
		if testing.Short() && size >= sector.Size32GiB {
			continue
		}
		s, err := PoRep(porep.Config{Size: size, API: porep.APIv1_1}, 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.Replica.Challenges(s.Seed)
		if err != nil {
			t.Fatal(err)
		}
		form := vanilla.TreeR(size)
		for _, p := range parts {
			for i := range p {
				for _, path := range []*vanilla.Path{&p[i].Replica, &p[i].Columns[0].Path, &p[i].Columns[14].Path} {
					if err := form.Check(path, &path.Root); err != nil {
						t.Errorf("%v: %v", size, err)
					}
				}
			}
		}
	}
}

func TestSamplesDependOnTheSeedAlone(t *testing.T) {
	make := func(seed uint64, workers int) []byte {
		s, err := PoRep(porep.Proof(5).Config(), seed, workers)
		if err != nil {
			t.Fatal(err)
		}
		c1, err := s.C1()
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := c1.Encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	if !bytes.Equal(make(7, 1), make(7, 3)) {
		t.Error("two samples of one seed differ")
	}
	if bytes.Equal(make(7, 1), make(8, 1)) {
		t.Error("samples of two seeds are the same")
	}
}

func TestPoStSamplesPassTheCheck(t *testing.T) {
	for n := range uint64(15) {
		r, err := post.FromNumber(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(r.Name, func(t *testing.T) {
			sectors := 3
			if r.Kind == post.Winning {
				sectors = 1
			}
			in, err := PoSt(r, sectors, 7, 0)
			if err != nil {
				t.Fatal(err)
			}
			files, err := PoStFiles("x", in)
			if err != nil {
				t.Fatal(err)
			}
			data, readFile := openFiles(t, files)
			again, err := post.ParseRequest(data, readFile)
			if err != nil {
				t.Fatal(err)
			}
			p, err := post.New(again)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPoStSampleRefusesNumbersOfSectors(t *testing.T) {
	winning, _ := post.FromNumber(0)
	window, _ := post.FromNumber(5)
	if _, err := PoSt(winning, 2, 1, 0); err == nil {
		t.Error("no error for a WinningPoSt of two sectors")
	}
	if _, err := PoSt(window, 0, 1, 0); err == nil {
		t.Error("no error for a WindowPoSt of no sector")
	}
}

func TestUpdateSamplesPassTheCheck(t *testing.T) {
	for n := range uint64(5) {
		r, err := snap.FromNumber(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(r.Name, func(t *testing.T) {
			if testing.Short() && r.Size > sector.Size8MiB {
				t.Skip("many hashes")
			}
			in, err := Update(r, 7)
			if err != nil {
				t.Fatal(err)
			}
			if in.CommROld == in.CommRNew {
				t.Error("old and new replica are the same")
			}
			files, err := UpdateFiles("x", in)
			if err != nil {
				t.Fatal(err)
			}
			data, readFile := openFiles(t, files)
			again, err := snap.ParseRequest(data, readFile)
			if err != nil {
				t.Fatal(err)
			}
			p, err := snap.New(again)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Check(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestUpdateSampleRefusesOneGiB(t *testing.T) {
	if _, err := Update(snap.Registered{Name: "x", Size: sector.Size1GiB}, 1); err == nil {
		t.Error("no error for 1 GiB")
	}
}

// TestPatternedTreeEqualsTheFullOne hashes the same leaves without the pattern.
func TestPatternedTreeEqualsTheFullOne(t *testing.T) {
	for _, c := range []struct {
		size          sector.Size
		block, period uint64
	}{{sector.Size2KiB, 32, 64}, {sector.Size16KiB, 256, 16}, {sector.Size32KiB, 512, 64}, {sector.Size32KiB, 16, 8}} {
		src := source{3}
		leaf := func(i uint64) uint64 { return i/c.block*c.block + i%min(c.block, c.period) }
		form := vanilla.TreeR(c.size)
		leaves := map[uint64]fr.Element{}
		for i := range c.size.Nodes() {
			leaves[i] = src.element("leaf", leaf(i), 0)
		}
		full := newSparse(form, leaves, 2, nil)
		pat := newPatterned(form, c.block, c.period, func(i uint64) fr.Element { return src.element("leaf", leaf(i), 0) })
		a, b := full.root(), pat.root()
		if a != b {
			t.Errorf("%v, blocks of %d, period %d: root %v, want %v", c.size, c.block, c.period, b, a)
		}
		for i := uint64(0); i < c.size.Nodes(); i += 29 {
			if d := cmp.Diff(full.Path(i), pat.Path(i)); d != "" {
				t.Errorf("path %d:\n%s", i, d)
			}
		}
	}
}

func BenchmarkPoRep32GiB(b *testing.B) {
	for b.Loop() {
		s, err := PoRep(porep.Proof(8).Config(), 7, 2)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.C1(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUpdate32GiB(b *testing.B) {
	r, _ := snap.FromNumber(3)
	for b.Loop() {
		if _, err := Update(r, 7); err != nil {
			b.Fatal(err)
		}
	}
}

func ExamplePoSt() {
	r, _ := post.ParseRegistered("StackedDrgWindow32GiBV1_2")
	in, _ := PoSt(r, 2, 7, 0)
	fmt.Println(len(in.Proofs), "sectors,", len(in.Proofs[0]), "bytes each, randomness", string(in.Randomness[:20]))
	// Output: 2 sectors, 24960 bytes each, randomness cuzk sample window 7
}
