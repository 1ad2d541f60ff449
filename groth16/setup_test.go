package groth16

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"hash"
	"os"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/circuit/porep"
	"cuzk/circuit/post"
	"cuzk/circuit/snap"
	"cuzk/internal/testutil"
	"cuzk/r1cs"
	"cuzk/sector"
	"cuzk/srs"
	vsnap "cuzk/vanilla/snap"
)

// fileSink writes the bytes of a .params file to a hash or a buffer.
type fileSink struct {
	w     interface{ Write([]byte) (int, error) }
	left  []int // lengths of the lists to come
	count int   // points still to come in the open list
}

func newFileSink(w interface{ Write([]byte) (int, error) }, vk *srs.VerifyingKey, s srs.Shape) *fileSink {
	w.Write(vk.Encode())
	return &fileSink{w: w, left: []int{s.H, s.L, s.A, s.B, s.B}}
}

func (f *fileSink) next() {
	for f.count == 0 && len(f.left) > 0 {
		f.count, f.left = f.left[0], f.left[1:]
		f.w.Write(binary.BigEndian.AppendUint32(nil, uint32(f.count)))
	}
	f.count--
}

func (f *fileSink) G1(points []bls12381.G1Affine) error {
	for i := range points {
		f.next()
		b := points[i].RawBytes()
		f.w.Write(b[:])
	}
	return nil
}

func (f *fileSink) G2(points []bls12381.G2Affine) error {
	for i := range points {
		f.next()
		b := points[i].RawBytes()
		f.w.Write(b[:])
	}
	return nil
}

// keyLine is a line of testdata/keys/keys.jsonl: a key that bellperson made
// from the known secrets.
type keyLine struct {
	Circuit string
	Params  string `json:"params_sha256"`
	VK      string `json:"vk_sha256"`
}

func referenceKeys(t testing.TB) map[string]keyLine {
	t.Helper()
	b, err := os.ReadFile("../testdata/keys/keys.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]keyLine{}
	for line := range strings.Lines(string(b)) {
		var k keyLine
		if err := json.Unmarshal([]byte(line), &k); err != nil {
			t.Fatal(err)
		}
		out[k.Circuit] = k
	}
	return out
}

func compile(t testing.TB, c r1cs.Circuit) *r1cs.Compiled {
	t.Helper()
	compiled, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

func TestSetupMakesBellpersonsKeys(t *testing.T) {
	rules, err := vsnap.RulesFor(sector.Size2KiB)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []r1cs.Circuit{
		post.Blank(post.Window, sector.Size2KiB),
		post.Blank(post.Winning, sector.Size2KiB),
		porep.Blank(sector.Size2KiB),
		snap.Blank(rules),
	} {
		t.Run(c.Name(), func(t *testing.T) {
			if testing.Short() && c.Name() != "window-2KiB" {
				t.Skip("some seconds: runs without -short")
			}
			if strings.HasPrefix(c.Name(), "porep") || strings.HasPrefix(c.Name(), "update") {
				testutil.Slow(t, "a key of a gigabyte")
			}
			checkSetup(t, c)
		})
	}
}

// sized skips what the size of the test run has no room for.
func sized(t *testing.T, circuit string) {
	t.Helper()
	switch circuit {
	case "window-2KiB":
	case "winning-2KiB":
		if testing.Short() {
			t.Skip("some seconds: runs without -short")
		}
	default:
		testutil.Slow(t, "a key of a gigabyte")
	}
}

// checkSetup compares a whole key with the reference by its digest.
func checkSetup(t *testing.T, c r1cs.Circuit) {
	want := referenceKeys(t)[c.Name()]
	var params hash.Hash = sha256.New()
	var vkBytes []byte
	open := func(vk *srs.VerifyingKey, s srs.Shape) (Sink, error) {
		vkBytes = vk.Encode()
		return newFileSink(params, vk, s), nil
	}
	if err := Setup(context.Background(), compile(t, c), InsecureSecrets(), open, nil); err != nil {
		t.Fatal(err)
	}
	if got := sha256.Sum256(vkBytes); hex.EncodeToString(got[:]) != want.VK {
		t.Errorf("verifying key has SHA-256 %x, want %s", got, want.VK)
	}
	if got := hex.EncodeToString(params.Sum(nil)); got != want.Params {
		t.Errorf("key has SHA-256 %s, want %s", got, want.Params)
	}
	file, err := os.ReadFile("../testdata/keys/" + c.Name() + ".vk")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, vkBytes) {
		t.Error("verifying key differs from the reference file")
	}
}

func BenchmarkSetup(b *testing.B) {
	for _, c := range []r1cs.Circuit{
		post.Blank(post.Window, sector.Size2KiB),
		post.Blank(post.Winning, sector.Size2KiB),
	} {
		compiled := compile(b, c)
		b.Run(c.Name(), func(b *testing.B) {
			for b.Loop() {
				open := func(vk *srs.VerifyingKey, s srs.Shape) (Sink, error) {
					return newFileSink(new(bytes.Buffer), vk, s), nil
				}
				if err := Setup(b.Context(), compiled, InsecureSecrets(), open, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
