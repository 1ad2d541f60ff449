package kind

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuzk/srs"
)

// miner is the actor id of the prover of all requests of the reference.
const miner = 1013918

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(requests, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wireOf makes of a request file of the reference what a client would send.
func wireOf(t testing.TB, name string) *Request {
	var f struct {
		Kind       string
		Randomness string
		SectorID   uint64   `json:"sector_id"`
		Proofs     []string `json:"vanilla_proofs"`
		Parts      []string `json:"partition_proofs"`
		C1         string
		CommROld   string `json:"comm_r_old"`
		CommRNew   string `json:"comm_r_new"`
		CommDNew   string `json:"comm_d_new"`
	}
	if err := json.Unmarshal(file(t, name+".json"), &f); err != nil {
		t.Fatal(err)
	}
	r := &Request{MinerID: miner, SectorSize: 2048, Randomness: unhex(t, f.Randomness),
		CommROld: unhex(t, f.CommROld), CommRNew: unhex(t, f.CommRNew), CommDNew: unhex(t, f.CommDNew)}
	for _, p := range append(f.Proofs, f.Parts...) {
		r.VanillaProofs = append(r.VanillaProofs, file(t, p))
	}
	switch f.Kind {
	case srs.PoRep:
		r.Kind, r.SectorNumber, r.RegisteredProof = "porep-c2", f.SectorID, 5
		r.VanillaProof = wrap(t, file(t, f.C1), f.SectorID)
	case srs.Update:
		r.Kind, r.SectorNumber = "snap-update", 77
	case srs.Winning:
		r.Kind = "winning-post"
	default:
		r.Kind, r.RegisteredProof = "window-post", 5
		if strings.Contains(name, "V1_2") {
			r.RegisteredProof = 10
		}
	}
	return r
}

// wrap is the object around a phase-1 output, as Go's encoder writes it.
func wrap(t testing.TB, c1 []byte, number uint64) []byte {
	b, err := json.Marshal(struct {
		SectorNum  int64
		Phase1Out  []byte
		SectorSize uint64
	}{int64(number), c1, 2048})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(t testing.TB, r *Request) (*Job, error) {
	for _, w := range Wires() {
		if w.Name == r.Kind {
			return w.Open(t.Context(), r)
		}
	}
	t.Fatalf("no kind %q", r.Kind)
	return nil, nil
}

// same compares a job from the wire with (partitions of) one from a file.
func same(t *testing.T, got *Job, want *Job, partitions []Partition) {
	t.Helper()
	if err := got.Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got.Circuit != want.Circuit || got.Registered != want.Registered || len(got.Partitions) != len(partitions) {
		t.Fatalf("%s %s with %d partitions, want %s %s with %d", got.Circuit, got.Registered, len(got.Partitions), want.Circuit, want.Registered, len(partitions))
	}
	for k, p := range got.Partitions {
		if fmt.Sprint(p.Inputs) != fmt.Sprint(partitions[k].Inputs) {
			t.Errorf("partition %d: other public inputs than from the file", k)
		}
	}
}

func TestWireEqualsFiles(t *testing.T) {
	for _, name := range []string{"porep-2KiB-V1_1", "update-2KiB", "winning-2KiB", "window-2KiB-V1-1of2", "window-2KiB-V1_2-2of2"} {
		t.Run(name, func(t *testing.T) {
			want, _ := load(t, name)
			r := wireOf(t, name)
			got, err := open(t, r)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, want, want.Partitions)
			r.SectorSize = 0 // some clients leave it out
			if _, err := open(t, r); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestWirePoRepForms: bare, other spacing, and with the proof's number left out.
func TestWirePoRepForms(t *testing.T) {
	want, _ := load(t, "porep-2KiB-V1_1")
	c1 := file(t, "porep-2KiB-V1_1.c1.json")
	spaced := strings.ReplaceAll(string(c1), ",", ", ")
	outer := fmt.Sprintf("{ \"SectorSize\" : 2048,\n\"Phase1Out\":\"%s\", \"SectorNum\": 2207798158 }", base64.StdEncoding.EncodeToString([]byte(spaced)))
	for name, payload := range map[string]string{"bare": string(c1), "spaced": outer} {
		r := wireOf(t, "porep-2KiB-V1_1")
		r.VanillaProof, r.RegisteredProof = []byte(payload), 0
		got, err := open(t, r)
		if err != nil {
			t.Fatal(name, err)
		}
		same(t, got, want, want.Partitions)
	}
}

// TestWireWindowPartitions sends the two partitions of a proof of three sectors
// one by one. Challenges of the newer version do not depend on the partition's
// position, so a client may send 0 for both; those of the older one do.
func TestWireWindowPartitions(t *testing.T) {
	for _, c := range []struct {
		name  string
		index [2]uint32
	}{{"window-2KiB-V1_2-3of4", [2]uint32{0, 0}}, {"window-2KiB-V1_2-3of4", [2]uint32{0, 1}}, {"window-2KiB-V1-3of4", [2]uint32{0, 1}}} {
		want, _ := load(t, c.name)
		all := wireOf(t, c.name)
		for k, proofs := range [][][]byte{{all.VanillaProofs[1], all.VanillaProofs[0]}, all.VanillaProofs[2:]} {
			r := *all
			r.VanillaProofs, r.PartitionIndex = proofs, c.index[k]
			got, err := open(t, &r)
			if err != nil {
				t.Fatal(c.name, k, err)
			}
			same(t, got, want, want.Partitions[k:k+1])
		}
	}
	r := wireOf(t, "window-2KiB-V1-3of4")
	r.VanillaProofs = r.VanillaProofs[2:]
	if _, err := open(t, r); !errors.Is(err, ErrBadInput) || !strings.Contains(err.Error(), "position") {
		t.Errorf("older version at the wrong position: %v", err)
	}
}

// TestWireRefuses changes one thing of a good request; the error names it.
func TestWireRefuses(t *testing.T) {
	for _, c := range []struct {
		request, want string
		change        func(r *Request)
	}{
		{"porep-2KiB-V1_1", "vanilla_proof is missing", func(r *Request) { r.VanillaProof = nil }},
		{"porep-2KiB-V1_1", "vanilla_proof", func(r *Request) { r.VanillaProof = []byte("{}") }},
		{"porep-2KiB-V1_1", "registered_proof is 8 (StackedDrg32GiBV1_1)", func(r *Request) { r.RegisteredProof = 8 }},
		{"porep-2KiB-V1_1", "sector_size is 34359738368", func(r *Request) { r.SectorSize = 32 << 30 }},
		{"porep-2KiB-V1_1", "replica id", func(r *Request) { r.MinerID++ }},
		{"porep-2KiB-V1_1", "sector number", func(r *Request) { r.SectorNumber++ }},
		{"porep-2KiB-V1_1", "vanilla_proofs is there", func(r *Request) { r.VanillaProofs = [][]byte{{1}} }},
		{"porep-2KiB-V1_1", "randomness is there", func(r *Request) { r.Randomness = []byte{1} }},
		{"porep-2KiB-V1_1", "kind \"porep\"", func(r *Request) { r.Kind = "porep" }},
		{"update-2KiB", "not a CID", func(r *Request) { r.CommRNew = append(make([]byte, 8), r.CommRNew...) }},
		{"update-2KiB", "comm_d_new is missing", func(r *Request) { r.CommDNew = nil }},
		{"update-2KiB", "comm_r_old", func(r *Request) { r.CommROld = r.CommROld[:31] }},
		{"update-2KiB", "comm_r_new", func(r *Request) { r.CommRNew = []byte(strings.Repeat("\xff", 32)) }},
		{"update-2KiB", "unknown registered update proof number 5", func(r *Request) { r.RegisteredProof = 5 }},
		{"update-2KiB", "2 partition proofs", func(r *Request) { r.VanillaProofs = append(r.VanillaProofs, r.VanillaProofs[0]) }},
		{"update-2KiB", "challenge", func(r *Request) { r.CommRNew = r.CommROld }},
		{"winning-2KiB", "not a winning PoSt", func(r *Request) { r.RegisteredProof = 10 }},
		{"winning-2KiB", "unknown registered PoSt proof number 15", func(r *Request) { r.RegisteredProof = 15 }},
		{"winning-2KiB", "no vanilla proofs", func(r *Request) { r.VanillaProofs = nil }},
		{"winning-2KiB", "2 vanilla proofs", func(r *Request) { r.VanillaProofs = append(r.VanillaProofs, r.VanillaProofs[0]) }},
		{"winning-2KiB", "randomness is missing", func(r *Request) { r.Randomness = nil }},
		{"winning-2KiB", "randomness", func(r *Request) { r.Randomness = r.Randomness[1:] }},
		{"winning-2KiB", "randomness", func(r *Request) { r.Randomness[31] |= 0xc0 }},
		{"winning-2KiB", "challenge", func(r *Request) { r.Randomness[0] ^= 1 }},
		{"winning-2KiB", "partition_index is there", func(r *Request) { r.PartitionIndex = 1 }},
		{"window-2KiB-V1_2-2of2", "not a window PoSt", func(r *Request) { r.RegisteredProof = 0 }},
		{"window-2KiB-V1_2-2of2", "given twice", func(r *Request) { r.VanillaProofs[1] = r.VanillaProofs[0] }},
		{"window-2KiB-V1_2-3of4", "3 vanilla proofs for one partition", func(r *Request) {}},
		{"window-2KiB-V1_2-2of2", "comm_r_new is there", func(r *Request) { r.CommRNew = []byte{1} }},
	} {
		r := wireOf(t, c.request)
		kind := r.Kind
		c.change(r)
		var err error
		for _, w := range Wires() {
			if w.Name == kind {
				var j *Job
				if j, err = w.Open(t.Context(), r); err == nil {
					err = j.Check(t.Context(), nil)
				}
			}
		}
		if !errors.Is(err, ErrBadInput) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.request, err, c.want)
		}
	}
}

func TestCircuitNames(t *testing.T) {
	for name, want := range map[string]string{"porep-32g": "porep-32GiB", "wpost-32g": "window-32GiB", "winning-32g": "winning-32GiB",
		"snap-32g": "update-32GiB", "porep-64g": "porep-64GiB", "wpost-2k": "window-2KiB", "snap-8m": "update-8MiB", "window-32GiB": "window-32GiB"} {
		id, err := ParseCircuit(name)
		if err != nil || id.String() != want {
			t.Errorf("%s is %s, %v, want %s", name, id, err, want)
		}
		if back, err := ParseCircuit(WireID(id)); err != nil || back != id {
			t.Errorf("%s: %s is %s, %v", name, WireID(id), back, err)
		}
	}
	for _, name := range []string{"", "porep", "porep-", "porep-31g", "POREP-32g", "window-32g", "snap-1g"} {
		if id, err := ParseCircuit(name); err == nil {
			t.Errorf("%q is %s", name, id)
		}
	}
}

// FuzzWire opens any bytes as any kind: an error or a job that can be checked.
func FuzzWire(f *testing.F) {
	for i, name := range []string{"porep-2KiB-V1_1", "update-2KiB", "window-2KiB-V1_2-2of2", "winning-2KiB"} {
		r := wireOf(f, name)
		payload := r.VanillaProof
		if payload == nil {
			payload = r.VanillaProofs[0]
		}
		f.Add(i, r.RegisteredProof, uint32(0), payload, r.Randomness, r.CommRNew)
	}
	f.Fuzz(func(t *testing.T, k int, registered uint64, index uint32, payload, randomness, comm []byte) {
		w := wires[uint(k)%uint(len(wires))]
		r := &Request{Kind: w.Name, RegisteredProof: registered, PartitionIndex: index, Randomness: randomness, MinerID: miner}
		if r.VanillaProof = payload; w.Number != 1 {
			r.VanillaProof, r.VanillaProofs = nil, [][]byte{payload}
		}
		if w.Number == 2 {
			r.CommROld, r.CommRNew, r.CommDNew = comm, comm, comm
		}
		if j, err := w.Open(t.Context(), r); err == nil {
			_ = j.Check(t.Context(), nil)
		} else if !errors.Is(err, ErrBadInput) {
			t.Error(err)
		}
	})
}

// TestWireRequests: what is made of a file has the file's statement.
func TestWireRequests(t *testing.T) {
	for name, n := range map[string]int{"porep-2KiB-V1_1": 1, "porep-2KiB-synthetic": 1, "update-2KiB": 1, "winning-2KiB": 1,
		"window-2KiB-V1_2-2of2": 1, "window-2KiB-V1_2-3of4": 2, "window-2KiB-V1-3of4": 2} {
		read := func(f string) ([]byte, error) { return os.ReadFile(filepath.Join(requests, f)) }
		rs, err := WireRequests(file(t, name+".json"), read)
		if err != nil || len(rs) != n {
			t.Fatal(name, len(rs), err)
		}
		want, _ := load(t, name)
		for k, r := range rs {
			got, err := open(t, r)
			if err != nil {
				t.Fatal(name, err)
			}
			if r.Kind != "snap-update" && r.MinerID != miner || r.SectorSize != 2048 {
				t.Errorf("%s: miner %d, sectors of %d bytes", name, r.MinerID, r.SectorSize)
			}
			same(t, got, want, want.Partitions[k:k+1])
		}
	}
	if _, err := WireRequests([]byte(`{"kind":"x"}`), nil); !errors.Is(err, ErrBadInput) {
		t.Error(err)
	}
}
