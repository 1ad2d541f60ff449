package porep

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/google/go-cmp/cmp"

	"cuzk/porep"
	"cuzk/vanilla"
)

func readRequestFile(name string) ([]byte, error) { return os.ReadFile(filepath.Join(requests, name)) }

// readRequest is a reference request by name.
func readRequest(t testing.TB, name string) *Request {
	t.Helper()
	data, err := readRequestFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	req, err := ParseRequest(data, readRequestFile)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func TestCheckAcceptsReferenceOutputs(t *testing.T) {
	for _, name := range references {
		for _, workers := range []int{0, 1, 3} {
			req := readRequest(t, name)
			if err := req.C1.Check(context.Background(), req.Identity, workers); err != nil {
				t.Errorf("%s, %d workers: %v", name, workers, err)
			}
		}
	}
}

// TestPublicInputsAreThoseOfTheReference holds the public inputs of a decoded
// output against those that the reference's synthesis gave.
func TestPublicInputsAreThoseOfTheReference(t *testing.T) {
	for _, name := range references {
		data, err := readRequestFile(name + ".witness.json")
		if err != nil {
			t.Fatal(err)
		}
		var want struct {
			Partitions []struct {
				Inputs []string `json:"public_inputs"`
			}
		}
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		c := decodeReference(t, name)
		for k, p := range want.Partitions {
			inputs, err := c.Proof.Config().PublicInputs(c.Statement(), k)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range inputs {
				b := e.Bytes()
				got = append(got, hex.EncodeToString(b[:]))
			}
			if d := cmp.Diff(p.Inputs, got); d != "" {
				t.Errorf("%s, partition %d (-want +got):\n%s", name, k, d)
			}
		}
	}
}

// bump adds one to an element.
func bump(e *fr.Element) {
	var one fr.Element
	one.SetOne()
	e.Add(e, &one)
}

// TestCheckRefuses changes one thing in an output of the reference; the error
// must name the place.
func TestCheckRefuses(t *testing.T) {
	const second = "partition 0, challenge 1 (node "
	ch := func(r *Request) *Challenge { return &r.C1.Partitions[0][1] }
	for _, c := range []struct {
		name string
		edit func(r *Request)
		want []string
	}{
		{"comm_d zero", func(r *Request) { r.C1.CommD = vanilla.Domain{} }, []string{"comm_d", "32 zero bytes"}},
		{"comm_r zero", func(r *Request) { r.C1.CommR = vanilla.Domain{} }, []string{"comm_r", "32 zero bytes"}},
		{"seed zero", func(r *Request) { r.C1.Seed = vanilla.Domain{} }, []string{"seed", "32 zero bytes"}},
		{"other miner", func(r *Request) { r.ProverID[0]++ }, []string{"replica id of sector 2126961807 of prover 9ff13d"}},
		{"other sector", func(r *Request) { r.SectorID++ }, []string{"replica id of sector 2126961808"}},
		{"other ticket", func(r *Request) { r.C1.Ticket[31] ^= 1 }, []string{"replica id"}},
		{"other proof", func(r *Request) { r.C1.Proof = 5 }, []string{"replica id"}},
		{"other size", func(r *Request) { r.C1.Proof = 1 }, []string{"replica id"}},
		{"non-interactive", func(r *Request) { r.C1.Proof = 15 }, []string{"NonInteractive", "SnarkPack"}},
		{"unknown proof", func(r *Request) { r.C1.Proof = 20 }, []string{"registered proof", "found 20"}},
		{"comm_d", func(r *Request) { r.C1.CommD[0] ^= 1 }, []string{"replica id"}},
		{"replica id", func(r *Request) { r.C1.ReplicaID[0] ^= 1 }, []string{"replica id"}},
		{"comm_r", func(r *Request) { r.C1.CommR[0] ^= 1 }, []string{"comm_r against the hash of the roots"}},
		{"comm_r above modulus", func(r *Request) { r.C1.CommR[31] = 0xff }, []string{"comm_r", "below the field modulus"}},
		{"seed", func(r *Request) { r.C1.Seed[0] ^= 1 }, []string{"partition 0, challenge 0 (node ", "path in tree D, position"}},
		{"wrapper's size", func(r *Request) { r.C1.Wrapper = &Wrapper{r.SectorID, 8 << 20} }, []string{"sector size of the wrapper", "expected 2048, found 8388608"}},
		{"wrapper's sector", func(r *Request) { r.C1.Wrapper = &Wrapper{7, 2048} }, []string{"sector number of the wrapper", "found 7"}},
		{"partition missing", func(r *Request) { r.C1.Partitions = nil }, []string{"partitions: expected 1, found 0"}},
		{"partition twice", func(r *Request) { r.C1.Partitions = append(r.C1.Partitions, r.C1.Partitions[0]) }, []string{"partitions: expected 1, found 2"}},
		{"challenge missing", func(r *Request) { r.C1.Partitions[0] = r.C1.Partitions[0][:1] }, []string{"partition 0: challenges: expected 2, found 1"}},

		{"D position", func(r *Request) { ch(r).Data.Index ^= 1 }, []string{second, "path in tree D, position"}},
		{"D leaf", func(r *Request) { bump(&ch(r).Data.Leaf) }, []string{second, "path in tree D, what the siblings hash to"}},
		{"D sibling", func(r *Request) { bump(&ch(r).Data.Siblings[5]) }, []string{second, "path in tree D, what the siblings hash to"}},
		{"D root", func(r *Request) { bump(&ch(r).Data.Root) }, []string{second, "path in tree D, root"}},
		{"R position", func(r *Request) { ch(r).Replica.Index ^= 1 }, []string{second, "path in tree R, position"}},
		{"R leaf", func(r *Request) { bump(&ch(r).Replica.Leaf) }, []string{second, "replica node, label plus data"}},
		{"R sibling", func(r *Request) { bump(&ch(r).Replica.Siblings[13]) }, []string{second, "path in tree R, what the siblings hash to"}},
		{"R root", func(r *Request) { bump(&ch(r).Replica.Root) }, []string{second, "path in tree R, root"}},
		{"R root of the first", func(r *Request) { bump(&r.C1.Partitions[0][0].Replica.Root) }, []string{"comm_r against the hash of the roots"}},
		{"column index", func(r *Request) { ch(r).Columns[0].Node++ }, []string{second, "challenged node, index of the column"}},
		{"parent's index", func(r *Request) { ch(r).Columns[3].Node++ }, []string{second, "DRG parent 2 (node", "index of the column"}},
		{"own label", func(r *Request) { bump(&ch(r).Columns[0].Rows[1]) }, []string{second, "challenged node, hash of the column"}},
		{"parent's label", func(r *Request) { bump(&ch(r).Columns[14].Rows[0]) }, []string{second, "expander parent 7 (node", "hash of the column"}},
		{"C leaf", func(r *Request) { bump(&ch(r).Columns[7].Path.Leaf) }, []string{second, "expander parent 0 (node", "hash of the column"}},
		{"C sibling", func(r *Request) { bump(&ch(r).Columns[1].Path.Siblings[6]) }, []string{second, "DRG parent 0 (node", "path in tree C, what the siblings hash to"}},
		{"C root", func(r *Request) { bump(&ch(r).Columns[0].Path.Root) }, []string{second, "challenged node, path in tree C, root"}},
		{"C position", func(r *Request) { ch(r).Columns[2].Path.Index ^= 8 }, []string{second, "DRG parent 1 (node", "path in tree C, position"}},
		{"parents in another order", func(r *Request) {
			cs := &ch(r).Columns
			cs[7], cs[8] = cs[8], cs[7]
		}, []string{second, "expander parent 0 (node", "index of the column"}},

		{"labelling layer", func(r *Request) { ch(r).Labeling[1].Layer = 1 }, []string{second, "labelling proof of layer 2, layer: expected 2, found 1"}},
		{"labelling node", func(r *Request) { ch(r).Labeling[0].Node++ }, []string{second, "labelling proof of layer 1, node"}},
		{"labelling parent", func(r *Request) { ch(r).Labeling[1].Parents[36][0] ^= 1 }, []string{second, "labelling proof of layer 2, parent 36"}},
		{"encoding layer", func(r *Request) { ch(r).Encoding.Layer = 1 }, []string{second, "encoding proof, layer: expected 2, found 1"}},
		{"encoding parent", func(r *Request) { ch(r).Encoding.Parents[0][31] ^= 1 }, []string{second, "encoding proof, parent 0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := readRequest(t, "porep-2KiB-V1")
			c.edit(r)
			err := r.C1.Check(context.Background(), r.Identity, 2)
			expectError(t, err, c.want...)
		})
	}
}

func TestCheckRefusesChallengesInAnotherOrder(t *testing.T) {
	r := readRequest(t, "porep-8MiB-V1")
	p := r.C1.Partitions[0]
	p[0], p[1] = p[1], p[0]
	expectError(t, r.C1.Check(context.Background(), r.Identity, 2), "partition 0, challenge 0 (node ", "path in tree D, position")
}

// TestNoNumberMayDiffer changes single numbers all over an output: every one
// is bound by something.
func TestNoNumberMayDiffer(t *testing.T) {
	r := readRequest(t, "porep-2KiB-V1_1")
	data := reference(t, "porep-2KiB-V1_1")
	number := regexp.MustCompile(`[0-9]+[],}]`)
	start := bytes.Index(data, []byte(`"vanilla_proofs"`)) + len(`"vanilla_proofs":{"StackedDrg2KiBV1":`)
	all := number.FindAllIndex(data[start:], -1)
	stride := 71
	if testing.Short() {
		stride = 797
	}
	for i := 0; i < len(all); i += stride {
		at := start + all[i][0]
		changed := bytes.Clone(data)
		if changed[at] == '0' || changed[at] == '2' {
			changed[at] = '1'
		} else {
			changed[at]-- // 1 becomes 0, which JSON forbids before other digits
		}
		c, err := Decode(changed)
		if err == nil {
			err = c.Check(context.Background(), r.Identity, 2)
		}
		if err == nil {
			t.Errorf("byte %d changed from %c to %c, and nobody minds", at, data[at], changed[at])
		}
	}
}

// TestCheckRefusesWrongLabel changes a label and everything that depends on it
// but for the label's own hash, so that only recomputing the label can tell.
func TestCheckRefusesWrongLabel(t *testing.T) {
	r := readRequest(t, "porep-2KiB-V1")
	k, err := newChecker(r.C1)
	if err != nil {
		t.Fatal(err)
	}
	ch := &r.C1.Partitions[0][1]
	for layer := range 2 {
		changed := *ch
		changed.Columns[0].Rows = append([]fr.Element(nil), ch.Columns[0].Rows...)
		bump(&changed.Columns[0].Rows[layer])
		if err := k.labels(&changed, ch.Node()); err == nil {
			t.Errorf("layer %d: a wrong label passes", layer+1)
		} else {
			expectError(t, err, "label in layer "+string(rune('1'+layer)))
		}
	}
}

func TestStripDropsWhatProvingDoesNotNeed(t *testing.T) {
	r := readRequest(t, "porep-2KiB-V1")
	before := r.C1.Bytes()
	r.C1.Strip()
	if after := r.C1.Bytes(); after >= before || r.C1.Partitions[0][0].Labeling != nil {
		t.Errorf("%d bytes before, %d after", before, after)
	}
}

func TestCheckStopsWhenCancelled(t *testing.T) {
	r := readRequest(t, "porep-2KiB-V1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.C1.Check(ctx, r.Identity, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want one that wraps context.Canceled", err)
	}
}

func TestFirstReportsTheLowestFailure(t *testing.T) {
	for range 50 {
		err := first(context.Background(), 100, 4, func(i int) error {
			if i >= 40 {
				return &CheckError{Challenge: i}
			}
			return nil
		})
		var e *CheckError
		if !errors.As(err, &e) || e.Challenge != 40 {
			t.Fatalf("error %v, want that of 40", err)
		}
	}
}

func TestParseRequestRefuses(t *testing.T) {
	prover := "9ef13d0000000000000000000000000000000000000000000000000000000000"
	good := `{"kind":"porep","c1":"porep-2KiB-V1.c1.json","prover_id":"` + prover + `","sector_id":1}`
	if _, err := ParseRequest([]byte(good), readRequestFile); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"kind":"window","c1":"x","prover_id":"` + prover + `","sector_id":1}`, `kind is "window"`},
		{`{"kind":"porep","c1":"x","prover_id":"` + prover + `","sector_id":1}`, `read "x"`},
		{`{"kind":"porep","c1":"../x","prover_id":"` + prover + `","sector_id":1}`, "not a plain relative path"},
		{`{"kind":"porep","c1":"prover.json","prover_id":"` + prover + `","sector_id":1}`, "prover.json: phase-1 output"},
		{`{"kind":"porep","c1":"x","prover_id":"` + prover + `0","sector_id":1}`, "want 64 hex digits"},
		{`{"kind":"porep","c1":"x","prover_id":"00","sector_id":1}`, "want 64 hex digits"},
		{`{"kind":"porep","c1":"x","prover_id":"` + prover + `","sector_id":-1}`, "sector_id"},
		{`{"kind":"porep","c1":"x","prover_id":"` + prover + `"}`, "sector_id is missing"},
		{good + "1", "request"},
	} {
		_, err := ParseRequest([]byte(c.text), readRequestFile)
		expectError(t, err, c.want)
	}
}

// TestEveryRegisteredShapeFits holds the slab of a challenge against what its
// slices take.
func TestEveryRegisteredShapeFits(t *testing.T) {
	for p := porep.Proof(0); p < porep.NumProofs; p++ {
		s := newShape(p.Size())
		n := 0
		for _, pt := range s.tree.parts {
			n += pt.levels
		}
		if n != len(s.tree.Arities) {
			t.Errorf("%v: parts have %d levels, tree has %d", p, n, len(s.tree.Arities))
		}
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add([]byte(`{"kind":"porep","c1":"porep-2KiB-V1.c1.json","prover_id":"00","sector_id":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ParseRequest(data, func(string) ([]byte, error) { return nil, os.ErrNotExist })
	})
}

func BenchmarkCheck(b *testing.B) {
	r := readRequest(b, "porep-8MiB-V1")
	for b.Loop() {
		if err := r.C1.Check(context.Background(), r.Identity, 1); err != nil {
			b.Fatal(err)
		}
	}
}
