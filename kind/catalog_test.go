package kind

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"

	"cuzk/r1cs"
	"cuzk/srs"
)

var rewrite = flag.Bool("rewrite", false, "write catalog.tsv anew; its D1 are still compared with the reference's")

// TestCatalog compiles every supported circuit and compares sizes, digest and
// bytes with the table, and the table's D1 with the reference's. (That the
// compiled form expands to D1 is the circuits' own test.)
func TestCatalog(t *testing.T) {
	d1 := referenceD1(t)
	var lines []string
	for _, id := range srs.Circuits() {
		blank, err := Blank(id)
		if err != nil {
			continue
		}
		c, err := r1cs.Compile(blank)
		if err != nil {
			t.Fatal(err)
		}
		b := c.Encode()
		got := Entry{ID: id, Digest: r1cs.Digest(b), Bytes: len(b)}
		got.Summary = r1cs.Summary{Counts: c.Counts(), NonZero: d1[id.String()].NonZero, D1: d1[id.String()].D1}
		lines = append(lines, got.line())
		if want, ok := Lookup(id); !*rewrite && (!ok || got != want) {
			t.Errorf("%s: compiled\n%s\ncatalog\n%s", id, got.line(), want.line())
		}
	}
	if *rewrite {
		if err := os.WriteFile("catalog.tsv", []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// referenceD1 reads the reference's sizes and digests.
func referenceD1(t *testing.T) map[string]r1cs.Summary {
	f, err := os.Open("../testdata/circuits.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]r1cs.Summary{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var l struct {
			Circuit string
			Nnz     [3]int
			D1      string
		}
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		sum := r1cs.Summary{NonZero: l.Nnz}
		if _, err := hex.Decode(sum.D1[:], []byte(l.D1)); err != nil {
			t.Fatal(err)
		}
		out[l.Circuit] = sum
	}
	return out
}
