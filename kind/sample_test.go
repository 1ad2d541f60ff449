package kind

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cuzk/internal/offheap"
	"cuzk/internal/testutil"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/sample"
	"cuzk/synth"
	vporep "cuzk/vanilla/porep"
	vpost "cuzk/vanilla/post"
	vsnap "cuzk/vanilla/snap"
)

// golden is what the reference made of a sample.
type golden struct {
	Circuit      string `json:"circuit"`
	Registered   string `json:"registered_proof"`
	Seed         uint64 `json:"seed"`
	Sectors      int    `json:"sectors"`
	Partition    int    `json:"partition"`
	Aux          int    `json:"aux"`
	AuxBits      int    `json:"aux_that_are_0_or_1"`
	AuxSHA256    string `json:"aux_sha256"`
	Inputs       int    `json:"public_inputs"`
	InputsSHA256 string `json:"public_inputs_sha256"`
}

// TestSampleWitnessEqualsReference makes 32 GiB requests without a sector and
// compares one partition of each with what the reference made of it.
func TestSampleWitnessEqualsReference(t *testing.T) {
	data, err := os.ReadFile("../testdata/samples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for s := bufio.NewScanner(strings.NewReader(string(data))); s.Scan(); {
		var g golden
		if err := json.Unmarshal(s.Bytes(), &g); err != nil {
			t.Fatal(err)
		}
		t.Run(g.Circuit, func(t *testing.T) {
			if g.Circuit != "winning-32GiB" {
				testutil.Slow(t, "up to 130 million variables, 4 GiB")
			}
			compareSample(t, &g)
		})
	}
}

func compareSample(t *testing.T, g *golden) {
	j := sampleJob(t, g)
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
	p := &j.Partitions[g.Partition]
	w, err := p.Witness(t.Context(), compiled)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	for _, x := range p.Inputs {
		b := x.Bytes()
		h.Write([]byte(hex.EncodeToString(b[:])))
	}
	if got := hex.EncodeToString(h.Sum(nil)); len(p.Inputs) != g.Inputs || got != g.InputsSHA256 {
		t.Errorf("%d public inputs with digest %s, reference %d with %s", len(p.Inputs), got, g.Inputs, g.InputsSHA256)
	}
	got, err := synth.Summarize(t.Context(), compiled, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sum := hex.EncodeToString(got.SHA256[:]); got.Aux != g.Aux || got.Bits != g.AuxBits || sum != g.AuxSHA256 {
		t.Errorf("%d aux, %d of them 0 or 1, digest %s; reference %d, %d, %s", got.Aux, got.Bits, sum, g.Aux, g.AuxBits, g.AuxSHA256)
	}
	if bad, err := compiled.Check(t.Context(), w); err != nil || bad != nil {
		t.Errorf("%v, %v", bad, err)
	}
}

func sampleJob(t testing.TB, g *golden) (j *Job) {
	var err error
	if r, perr := vpost.ParseRegistered(g.Registered); perr == nil {
		var in vpost.Input
		if in, err = sample.PoSt(r, g.Sectors, g.Seed, 2); err == nil {
			j, err = Post(in)
		}
	} else if strings.HasPrefix(g.Circuit, "update") {
		var r vsnap.Registered
		var in vsnap.Input
		if r, err = vsnap.ParseRegistered(g.Registered); err == nil {
			in, err = sample.Update(r, g.Seed)
		}
		if err == nil {
			j, err = Snap(in)
		}
	} else {
		j, err = samplePoRep(g)
	}
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func samplePoRep(g *golden) (*Job, error) {
	p, err := porep.ParseProof(g.Registered)
	if err != nil {
		return nil, err
	}
	s, err := sample.PoRep(p.Config(), g.Seed, 2)
	if err != nil {
		return nil, err
	}
	c1, err := s.C1()
	if err != nil {
		return nil, err
	}
	return PoRep(&vporep.Request{C1: c1, Identity: s.Identity})
}

// BenchmarkSampleWitness writes one partition of a 32 GiB sample; with -cpu 1 it
// is the time of one core.
func BenchmarkSampleWitness(b *testing.B) {
	offheap.Poison = false
	defer func() { offheap.Poison = true }()
	for _, g := range []golden{
		{Circuit: "porep-32GiB", Registered: "StackedDrg32GiBV1_1", Seed: 7},
		{Circuit: "update-32GiB", Registered: "StackedDrg32GiBV1", Seed: 7},
		{Circuit: "winning-32GiB", Registered: "StackedDrgWinning32GiBV1", Seed: 7, Sectors: 1},
		{Circuit: "window-32GiB", Registered: "StackedDrgWindow32GiBV1_2", Seed: 7, Sectors: 2349},
	} {
		j := sampleJob(b, &g)
		blank, err := Blank(j.Circuit)
		if err != nil {
			b.Fatal(err)
		}
		compiled, err := r1cs.Compile(blank)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(g.Circuit, func(b *testing.B) {
			for b.Loop() {
				if _, err := j.Partitions[0].Witness(b.Context(), compiled); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
