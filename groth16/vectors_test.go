package groth16

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/srs"
)

// vector is a proof of the reference or of a real network with its statement.
type vector struct {
	name   string
	vk     *srs.VerifyingKey
	inputs [][]fr.Element // a partition
	proof  []byte
}

const testdata = "../testdata"

func readJSON(t testing.TB, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, path))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func readVK(t testing.TB, path string) *srs.VerifyingKey {
	t.Helper()
	vk, err := srs.ReadVerifyingKey(filepath.Join(testdata, path))
	if err != nil {
		t.Fatal(err)
	}
	return vk
}

// element reads 32 big-endian bytes below r.
func element(t testing.TB, b []byte) fr.Element {
	t.Helper()
	var x fr.Element
	if err := x.SetBytesCanonical(b); err != nil {
		t.Fatal(err)
	}
	return x
}

// referenceVectors are the proofs that bellperson made of testdata/requests.
func referenceVectors(t testing.TB) []vector {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(testdata, "requests/*.proof.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference proofs: %v", err)
	}
	keys := map[string]*srs.VerifyingKey{}
	var out []vector
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".proof.json")
		var proof struct{ Circuit, Proof string }
		readJSON(t, "requests/"+name+".proof.json", &proof)
		if keys[proof.Circuit] == nil {
			keys[proof.Circuit] = readVK(t, "keys/"+proof.Circuit+".vk")
		}
		out = append(out, vector{name, keys[proof.Circuit], witnessInputs(t, name), unhex(t, proof.Proof)})
	}
	return out
}

func witnessInputs(t testing.TB, name string) [][]fr.Element {
	t.Helper()
	var w struct {
		Partitions []struct {
			PublicInputs []string `json:"public_inputs"`
		}
	}
	readJSON(t, "requests/"+name+".witness.json", &w)
	out := make([][]fr.Element, len(w.Partitions))
	for j, p := range w.Partitions {
		for _, x := range p.PublicInputs {
			out[j] = append(out[j], element(t, unhex(t, x)))
		}
	}
	return out
}

// fieldVectors are proofs that other software made with keys of its own.
func fieldVectors(t testing.TB) []vector {
	t.Helper()
	var proofs map[string]struct{ Proof string }
	var inputs map[string]json.RawMessage
	readJSON(t, "field/eiger-2k-proofs.json", &proofs)
	readJSON(t, "field/public-inputs.json", &inputs)
	var out []vector
	for _, c := range []struct{ name, proof string }{{"eiger-2k-porep", "porep"}, {"eiger-2k-wpost", "window_post"}} {
		out = append(out, vector{c.name, readVK(t, "field/"+c.name+".vk"),
			[][]fr.Element{mixedInputs(t, inputs[c.name])}, unhex(t, proofs[c.proof].Proof)})
	}
	return out
}

// mixedInputs reads integers and 32-byte little-endian hex.
func mixedInputs(t testing.TB, raw json.RawMessage) []fr.Element {
	t.Helper()
	var list []any
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	if err := dec.Decode(&list); err != nil {
		t.Fatal(err)
	}
	out := make([]fr.Element, len(list))
	for i, x := range list {
		if n, ok := x.(json.Number); ok {
			v, _ := new(big.Int).SetString(n.String(), 10)
			out[i].SetBigInt(v)
			continue
		}
		b := unhex(t, x.(string))
		slices.Reverse(b)
		out[i] = element(t, b)
	}
	return out
}

func allVectors(t testing.TB) []vector { return append(referenceVectors(t), fieldVectors(t)...) }

// stream is a fixed source of bytes.
type stream struct {
	counter uint64
	buf     []byte
}

func newStream(seed uint64) io.Reader { return &stream{counter: seed << 32} }

func (s *stream) Read(p []byte) (int, error) {
	if len(s.buf) == 0 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], s.counter)
		h := sha256.Sum256(b[:])
		s.buf, s.counter = h[:], s.counter+1
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	return n, nil
}
