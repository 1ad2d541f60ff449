// Package circuittest compares circuits with the reference's list of them,
// testdata/circuits.jsonl.
package circuittest

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"cuzk/r1cs"
)

// Reference reads the reference's line of a circuit; list is the path of
// circuits.jsonl from the test's folder. The number of bits is not in it.
func Reference(t testing.TB, list, circuit string) r1cs.Summary {
	t.Helper()
	f, err := os.Open(list)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var l struct {
			Circuit           string
			Inputs, Aux, Rows int
			Nnz               [3]int
			D1                string
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		if l.Circuit != circuit {
			continue
		}
		s := r1cs.Summary{Counts: r1cs.Counts{Inputs: l.Inputs, Aux: l.Aux, Rows: l.Rows}, NonZero: l.Nnz}
		if _, err := hex.Decode(s.D1[:], []byte(l.D1)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Fatalf("%s has no circuit %s", list, circuit)
	return r1cs.Summary{}
}

// Same compares a summary with the reference's.
func Same(t *testing.T, list, circuit string, got r1cs.Summary) {
	t.Helper()
	want := Reference(t, list, circuit)
	want.Bits = got.Bits
	if got != want {
		t.Errorf("%s: %+v %v D1 %x, reference %+v %v D1 %x", circuit, got.Counts, got.NonZero, got.D1, want.Counts, want.NonZero, want.D1)
	}
}

// Digest compiles a circuit, writes and reads it, expands it and compares it
// with the reference's.
func Digest(t *testing.T, list string, c r1cs.Circuit) {
	t.Helper()
	compiled, err := r1cs.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r1cs.Decode(compiled.Encode())
	if err != nil {
		t.Fatal(err)
	}
	got, err := again.Summarize(nil)
	if err != nil {
		t.Fatal(err)
	}
	Same(t, list, c.Name(), got)
}
