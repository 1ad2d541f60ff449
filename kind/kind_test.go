package kind

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuzk/internal/offheap"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/synth"
)

// What a witness leaves unwritten must show.
func init() { offheap.Poison = true }

const requests = "../testdata/requests"

// reference is what the reference makes of a request.
type reference struct {
	Circuit    string
	Partitions []struct {
		Partition    int
		PublicInputs []string `json:"public_inputs"`
		Aux, Rows    int
		AuxBits      int      `json:"aux_that_are_0_or_1"`
		AuxSHA256    string   `json:"aux_sha256"`
		Chunk        int      `json:"chunk"`
		Chunks       []string `json:"chunk_sha256_8"`
		Satisfied    bool
	}
}

func load(t testing.TB, name string) (*Job, *reference) {
	data, err := os.ReadFile(filepath.Join(requests, name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := Parse(data, func(f string) ([]byte, error) { return os.ReadFile(filepath.Join(requests, f)) })
	if err != nil {
		t.Fatal(err)
	}
	ref := &reference{}
	if data, err = os.ReadFile(filepath.Join(requests, name+".witness.json")); err == nil {
		err = json.Unmarshal(data, ref)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j, ref
}

// TestWitnessEqualsReference compares public inputs and digests of all
// requests. The 32 GiB partition takes a minute and 4 GiB and is a slow test.
func TestWitnessEqualsReference(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(requests, "*.witness.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no requests", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".witness.json")
		t.Run(name, func(t *testing.T) {
			if testing.Short() && strings.Contains(name, "8MiB") && !strings.HasPrefix(name, "w") {
				t.Skip("up to 10 million variables: runs without -short")
			}
			if strings.Contains(name, "32GiB") {
				testutil.Slow(t, "127 million variables, 4 GiB")
			}
			j, ref := load(t, name)
			witness(t, j, ref)
		})
	}
}

func witness(t *testing.T, j *Job, ref *reference) {
	if j.Circuit.String() != ref.Circuit || len(j.Partitions) != len(ref.Partitions) {
		t.Fatalf("%s with %d partitions, reference %s with %d", j.Circuit, len(j.Partitions), ref.Circuit, len(ref.Partitions))
	}
	if err := j.Check(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	blank, err := Blank(j.Circuit)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := r1cs.Compile(blank)
	if err != nil {
		t.Fatal(err)
	}
	for i := range j.Partitions {
		p, want := &j.Partitions[i], ref.Partitions[i]
		for k, x := range p.Inputs {
			if b := x.Bytes(); hex.EncodeToString(b[:]) != want.PublicInputs[k] {
				t.Errorf("partition %d: public input %d is %x, reference %s", i, k, b, want.PublicInputs[k])
			}
		}
		w, err := p.Witness(t.Context(), compiled)
		if err != nil {
			t.Fatal(err)
		}
		got, err := synth.Summarize(t.Context(), compiled, w, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Aux != want.Aux || got.Bits != want.AuxBits || hex.EncodeToString(got.SHA256[:]) != want.AuxSHA256 {
			t.Errorf("partition %d: %d aux, %d of them 0 or 1, digest %x; reference %d, %d, %s",
				i, got.Aux, got.Bits, got.SHA256, want.Aux, want.AuxBits, want.AuxSHA256)
		}
		for k := range want.Chunks {
			if hex.EncodeToString(got.Chunks[k][:]) != want.Chunks[k] {
				t.Fatalf("partition %d: values %d to %d differ from the reference", i, k*want.Chunk, (k+1)*want.Chunk-1)
			}
		}
		if bad, err := compiled.Check(t.Context(), w); err != nil || bad != nil {
			t.Errorf("partition %d: %v, %v", i, bad, err)
		}
	}
}
