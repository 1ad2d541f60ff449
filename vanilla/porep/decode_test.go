package porep

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cuzk/porep"
)

const requests = "../../testdata/requests"

// names of the reference's phase-1 outputs.
var references = []string{"porep-2KiB-V1", "porep-2KiB-V1_1", "porep-2KiB-synthetic", "porep-8MiB-V1", "porep-8MiB-V1_1"}

func reference(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(requests, name+".c1.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func decodeReference(t testing.TB, name string) *C1 {
	t.Helper()
	c, err := Decode(reference(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// rewritten is the output as a program writes it that sorts names and indents.
func rewritten(t testing.TB, data []byte) []byte {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// wrap is the output as storage software sends it.
func wrap(t testing.TB, data []byte, c *C1) []byte {
	t.Helper()
	out, err := json.Marshal(struct {
		SectorNum  int64
		Phase1Out  []byte
		SectorSize uint64
	}{17, data, uint64(c.Proof.Size())})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecodeReadsReferenceOutputs(t *testing.T) {
	for _, name := range references {
		t.Run(name, func(t *testing.T) {
			data := reference(t, name)
			c := decodeReference(t, name)
			if got, want := c.Proof.String(), registeredName(t, data); got != want {
				t.Errorf("proof %s, want %s", got, want)
			}
			again, err := Decode(rewritten(t, data))
			if err != nil {
				t.Fatalf("rewritten: %v", err)
			}
			if d := cmp.Diff(c, again); d != "" {
				t.Errorf("rewritten differs:\n%s", d)
			}
			inside, err := Decode(wrap(t, data, c))
			if err != nil {
				t.Fatalf("wrapped: %v", err)
			}
			if w := inside.Wrapper; w == nil || w.SectorNum != 17 || w.SectorSize != uint64(c.Proof.Size()) {
				t.Errorf("wrapper %+v", w)
			}
			inside.Wrapper = nil
			if d := cmp.Diff(c, inside); d != "" {
				t.Errorf("wrapped differs:\n%s", d)
			}
		})
	}
}

func registeredName(t testing.TB, data []byte) string {
	t.Helper()
	var v struct {
		Proof string `json:"registered_proof"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v.Proof
}

func TestDecodeReadsEscapedWrapper(t *testing.T) {
	data := reference(t, references[0])
	text := strings.ReplaceAll(base64.StdEncoding.EncodeToString(data), "/", `\/`)
	c, err := Decode(fmt.Appendf(nil, `{"SectorSize":2048,"Phase1Out":"%s","SectorNum":17}`, text))
	if err != nil {
		t.Fatal(err)
	}
	if c.Wrapper.SectorNum != 17 || len(c.Partitions) != 1 {
		t.Errorf("wrapper %+v, %d partitions", c.Wrapper, len(c.Partitions))
	}
}

// TestDecodeRefuses replaces the first occurrence of a text in an output of
// the reference; the error must name the place and what is wrong there.
func TestDecodeRefuses(t *testing.T) {
	const first = "partition 0, challenge 0, "
	for _, c := range []struct {
		name, old, new string
		want           []string
	}{
		{"broken JSON", `"vanilla_proofs":`, `"vanilla_proofs"`, []string{"not JSON"}},
		{"unknown proof", `"StackedDrg2KiBV1"`, `"StackedDrg2KiBV9"`, []string{"registered_proof", "unknown registered seal proof"}},
		{"other size", `"registered_proof":"StackedDrg2KiBV1"`, `"registered_proof":"StackedDrg8MiBV1"`,
			[]string{"vanilla proofs are of StackedDrg2KiBV1 but StackedDrg8MiBV1 needs"}},
		{"other key", `{"StackedDrg2KiBV1":`, `{"StackedDrg8MiBV1":`, []string{first + "comm_d_proofs/data/Single/path/path", "6 levels, want 18"}},
		{"derived key", `{"StackedDrg2KiBV1":`, `{"StackedDrg2KiBV1_1":`, []string{"unknown kind"}},
		{"no vanilla proofs", `"vanilla_proofs":{`, `"vanilla_proofs":{},"x":{`, []string{"vanilla_proofs", "no vanilla proofs"}},
		{"unknown name", `"comm_d_proofs"`, `"comm_d_proof"`, []string{first + "comm_d_proof", "unknown name"}},
		{"name twice", `"comm_r_last_proof"`, `"comm_d_proofs"`, []string{first + "comm_d_proofs", "twice"}},
		{"variant", `"Single":`, `"Sub":`, []string{first + "comm_d_proofs/data/Sub", "unknown name"}},
		{"digest too long", `"root":[`, `"root":[1,`, []string{first + "comm_d_proofs/data/Single/root", "more than 32 bytes"}},
		{"digest of digests", `"root":[`, `"root":[[1],`, []string{"root", "byte 0 is not an integer"}},
		{"digest null", `"root":[`, `"root":null,"leaf":[`, []string{"root", "null, want an array of 32 bytes"}},
		{"negative byte", `"root":[`, `"root":[-1,`, []string{"root", "byte 0 is not an integer"}},
		{"byte above 255", `"root":[`, `"root":[256,`, []string{"root", "a number above 255"}},
		{"fraction", `"root":[`, `"root":[1.0,`, []string{"root", "byte 0 is not an integer"}},
		{"index above arity", `"index":1}`, `"index":2}`, []string{first + "comm_d_proofs/data/Single/path/path/0/index", "from 0 to 1"}},
		{"index a string", `"index":1}`, `"index":"1"}`, []string{"index", "a string, want an integer"}},
		{"index negative", `"index":1}`, `"index":-1}`, []string{"index", "-1, want an integer"}},
		{"hash missing", `"hashes":[[`, `"hashes":[],"x":[[`, []string{"path/0/hashes", "0 hashes, want 1"}},
		{"column index", `"column":{"index":`, `"column":{"index":99999999999`, []string{first + "replica_column_proofs/c_x/column/index", "from 0 to 4294967295"}},
		{"phantom", `"_h":null`, `"_h":0`, []string{"c_x/column/_h", "a number, want null"}},
		{"layers", `"rows":[[`, `"rows":[],"x":[[`, []string{"c_x/column/rows", "0 rows, want 2"}},
		{"field missing", `"_h":null},"inclusion_proof":{"data"`, `"_h":null},"_":{"data"`, []string{"c_x/_", "unknown name"}},
		{"non-interactive", `"registered_proof":"StackedDrg2KiBV1"`, `"registered_proof":"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep"`,
			[]string{"StackedDrg2KiBV1_2_Feat_NonInteractivePoRep", "SnarkPack"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			data := string(reference(t, "porep-2KiB-V1"))
			if !strings.Contains(data, c.old) {
				t.Fatalf("no %s in the output", c.old)
			}
			_, err := Decode([]byte(strings.Replace(data, c.old, c.new, 1)))
			expectError(t, err, c.want...)
		})
	}
}

func expectError(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one about %q", want)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

// edited decodes the output into maps, changes it and encodes it again.
func edited(t testing.TB, data []byte, edit func(top map[string]any, partitions []any)) []byte {
	t.Helper()
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	for _, v := range top["vanilla_proofs"].(map[string]any) {
		edit(top, v.([]any))
	}
	out, err := json.Marshal(top)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecodeRefusesWrongNumbers(t *testing.T) {
	data := reference(t, "porep-2KiB-V1")
	set := func(top map[string]any, v any) { top["vanilla_proofs"] = map[string]any{"StackedDrg2KiBV1": v} }
	for _, c := range []struct {
		name string
		edit func(top map[string]any, p []any)
		want []string
	}{
		{"no partition", func(top map[string]any, p []any) { set(top, []any{}) }, []string{"0 partitions", "has 1"}},
		{"partition twice", func(top map[string]any, p []any) { set(top, []any{p[0], p[0]}) }, []string{"2 partitions", "has 1"}},
		{"challenge missing", func(top map[string]any, p []any) { p[0] = p[0].([]any)[:1] }, []string{"partition 0", "1 challenges, want 2"}},
		{"challenge more", func(top map[string]any, p []any) { p[0] = append(p[0].([]any), p[0].([]any)[0]) }, []string{"partition 0, challenge 1", "more than 2 challenges"}},
		{"field missing", func(top map[string]any, p []any) { delete(p[0].([]any)[1].(map[string]any), "encoding_proof") },
			[]string{"partition 0, challenge 1", "encoding_proof is missing"}},
		{"seed missing", func(top map[string]any, p []any) { delete(top, "seed") }, []string{"top level", "seed is missing"}},
		{"two kinds", func(top map[string]any, p []any) {
			top["vanilla_proofs"] = map[string]any{"StackedDrg2KiBV1": p, "StackedDrg8MiBV1": []any{}}
		}, []string{"more than one kind"}},
		{"parent missing", func(top map[string]any, p []any) {
			c := p[0].([]any)[0].(map[string]any)["replica_column_proofs"].(map[string]any)
			c["exp_parents"] = c["exp_parents"].([]any)[:7]
		}, []string{"partition 0, challenge 0, replica_column_proofs/exp_parents", "7 columns, want 8"}},
		{"labelling parents", func(top map[string]any, p []any) {
			c := p[0].([]any)[0].(map[string]any)["labeling_proofs"].([]any)[1].(map[string]any)
			c["parents"] = nil
		}, []string{"labeling_proofs/1/parents", "null, want an array of parents"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode(edited(t, data, c.edit))
			expectError(t, err, c.want...)
		})
	}
}

func TestDecodeRefusesEnds(t *testing.T) {
	data := reference(t, "porep-2KiB-V1")
	_, err := Decode(append(bytes.Clone(data), '1'))
	expectError(t, err, "something follows")
	_, err = Decode(data[:len(data)/2])
	expectError(t, err, "partition 0, challenge 1", "the text ends")
	for _, text := range []string{"", "null", "[]", "{}", "1", "{", `{"SectorNum":1}`, `{"Phase1Out":null}`, `{"Phase1Out":"AA=="}`} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("no error for %s", text)
		}
	}
	_, err = Decode([]byte(`{"SectorNum":1,"SectorSize":2,"Phase1Out":"****"}`))
	expectError(t, err, "Phase1Out", "base64")
}

func TestDecodeRefusesElementAboveModulus(t *testing.T) {
	data := edited(t, reference(t, "porep-2KiB-V1"), func(top map[string]any, p []any) {
		c := p[0].([]any)[1].(map[string]any)["replica_column_proofs"].(map[string]any)["drg_parents"].([]any)[2]
		row := c.(map[string]any)["column"].(map[string]any)["rows"].([]any)[1].([]any)
		row[31] = 255
	})
	_, err := Decode(data)
	expectError(t, err, "partition 0, challenge 1, replica_column_proofs/drg_parents/2/column/rows/1", "modulus")
}

// TestDecodeKeepsMessagesShort sends names that would flood or break a log.
func TestDecodeKeepsMessagesShort(t *testing.T) {
	for _, text := range []string{
		`{"` + strings.Repeat("x", 1<<20) + `":1}`,
		`{"vanilla_proofs":{"StackedDrg2KiBV1":[[{"a\n\u001b[31m` + strings.Repeat("y", 5000) + `":1}]]}}`,
		`{"registered_proof":"` + strings.Repeat("z", 1<<20) + `"}`,
	} {
		_, err := Decode([]byte(text))
		if err == nil || len(err.Error()) > 800 || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("message %.900q", err)
		}
	}
}

func TestNonInteractiveIsAnErrorOfItsOwn(t *testing.T) {
	for p := porep.Proof(0); p < porep.NumProofs; p++ {
		_, err := Decode(fmt.Appendf(nil, `{"registered_proof":%q}`, p))
		if got, want := errors.Is(err, ErrNonInteractive), p.Feature() == porep.NonInteractive; got != want {
			t.Errorf("%v: %v", p, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	small := reference(f, "porep-2KiB-V1")
	first := decodeReference(f, "porep-2KiB-V1")
	f.Add(small)
	f.Add(rewritten(f, small))
	f.Add([]byte(`{"SectorNum":1,"Phase1Out":"e30=","SectorSize":2048}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Decode(data)
		if (c == nil) == (err == nil) {
			t.Fatalf("C1 %v, error %v", c != nil, err)
		}
		if err != nil {
			return
		}
		if len(c.Partitions) != c.Proof.Config().Partitions() {
			t.Fatalf("%d partitions of %v", len(c.Partitions), c.Proof)
		}
		// Sector 2126961807 of the reference: whatever passes the check has
		// the reference's statement.
		who := Identity{porep.ProverID(1013918), 2126961807}
		if c.Check(context.Background(), who, 1) == nil && c.CommD != first.CommD {
			t.Fatalf("another statement passes: comm_d %v", c.CommD)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	data := reference(b, "porep-8MiB-V1")
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data); err != nil {
			b.Fatal(err)
		}
	}
}
