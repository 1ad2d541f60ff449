package porep

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cuzk/sector"
)

// sealed is what the reference's sealing took and gave.
type sealed struct {
	Proof     string `json:"registered_proof"`
	PorepID   hex32  `json:"porep_id"`
	ProverID  hex32  `json:"prover_id"`
	SectorID  uint64 `json:"sector_id"`
	Ticket    hex32  `json:"ticket"`
	ReplicaID *hex32 `json:"replica_id"`
	CommD     hex32  `json:"comm_d"`
	CommC     hex32  `json:"comm_c"`
	CommRLast hex32  `json:"comm_r_last"`
	CommR     hex32  `json:"comm_r"`
	Piece     string `json:"piece"`
	Staged    string `json:"staged"`
	Sealed    string `json:"sealed"`
}

func readSealed(t testing.TB, name string) *sealed {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s := &sealed{}
	if err := json.Unmarshal(data, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func hexBytes(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (w *sealed) compare(t *testing.T, s *Sector) {
	t.Helper()
	for _, c := range []struct {
		name      string
		got, want [32]byte
	}{
		{"comm_d", bytesOf(s.CommD), w.CommD}, {"comm_c", bytesOf(s.CommC), w.CommC},
		{"comm_r_last", bytesOf(s.CommRLast), w.CommRLast}, {"comm_r", bytesOf(s.CommR), w.CommR},
	} {
		if c.got != c.want {
			t.Errorf("%s %x, want %x", c.name, c.got, c.want)
		}
	}
	if w.ReplicaID != nil && s.ReplicaID != *w.ReplicaID {
		t.Errorf("replica id %x, want %x", s.ReplicaID, *w.ReplicaID)
	}
}

func TestSealMakesTheReferencesSector(t *testing.T) {
	for _, name := range []string{"V1", "V1_1", "synthetic"} {
		t.Run(name, func(t *testing.T) {
			w := readSealed(t, filepath.Join("../testdata/requests/porep-2KiB-"+name+".sector.json"))
			p, err := ParseProof(w.Proof)
			if err != nil {
				t.Fatal(err)
			}
			if p.Config().PorepID != w.PorepID {
				t.Errorf("porep id %x, want %x", p.Config().PorepID, w.PorepID)
			}
			s, err := Seal(Order{p.Config(), w.ProverID, w.SectorID, w.Ticket, 2}, hexBytes(t, w.Piece))
			if err != nil {
				t.Fatal(err)
			}
			w.compare(t, s)
			if !bytes.Equal(s.Staged(), hexBytes(t, w.Staged)) {
				t.Error("padded data differs")
			}
			if !bytes.Equal(s.Sealed(), hexBytes(t, w.Sealed)) {
				t.Error("replica differs")
			}
		})
	}
}

func TestSealMakesTheSectorOfAnotherOrigin(t *testing.T) {
	w := readSealed(t, "testdata/sector-2k/sector.json")
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata/sector-2k", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	c := Config{Size: sector.Size2KiB, API: APIv1_1, PorepID: w.PorepID}
	s, err := Seal(Order{Config: c, ProverID: w.ProverID, SectorID: w.SectorID, Ticket: w.Ticket}, read("piece-unpadded.bin"))
	if err != nil {
		t.Fatal(err)
	}
	w.compare(t, s)
	if !bytes.Equal(s.Sealed(), read("sealed.bin")) {
		t.Error("replica differs")
	}
	aux := read("p_aux.bin")
	if c, r := bytesOf(s.CommC), bytesOf(s.CommRLast); !bytes.Equal(aux[:32], c[:]) || !bytes.Equal(aux[32:], r[:]) {
		t.Error("p_aux differs")
	}
}

func TestSealRefuses(t *testing.T) {
	for _, c := range []struct {
		size  sector.Size
		bytes int
	}{{sector.Size512MiB, 1}, {sector.Size2KiB, 2048}, {3000, 3000}} {
		if _, err := Seal(Order{Config: Config{Size: c.size}}, make([]byte, c.bytes)); err == nil {
			t.Errorf("no error for %d bytes in a %v sector", c.bytes, c.size)
		}
	}
	if _, err := Pad(make([]byte, 126)); err == nil {
		t.Error("no error for 126 bytes")
	}
}

// TestPathsLeadToTheRoot covers sub and top levels.
func TestPathsLeadToTheRoot(t *testing.T) {
	for _, size := range []sector.Size{sector.Size2KiB, sector.Size4KiB, sector.Size16KiB, sector.Size32KiB} {
		s, err := Seal(Order{Config: Config{Size: size}, Workers: 2}, make([]byte, size/128*127))
		if err != nil {
			t.Fatal(err)
		}
		for _, tree := range []*Tree{s.D, s.C, s.R} {
			root := tree.Root()
			for v := uint64(0); v < size.Nodes(); v += 37 {
				p := tree.Path(v)
				if err := tree.form.Check(&p, &root); err != nil {
					t.Errorf("%v, node %d: %v", size, v, err)
				}
			}
		}
	}
}

func BenchmarkSeal8MiB(b *testing.B) {
	data := make([]byte, sector.Size8MiB/128*127)
	for b.Loop() {
		if _, err := Seal(Order{Config: Proof(6).Config(), Workers: 2}, data); err != nil {
			b.Fatal(err)
		}
	}
}
