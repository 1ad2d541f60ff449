package kind

import (
	"flag"
	"os"
	"strings"
	"testing"

	"cuzk/internal/circuittest"
	"cuzk/r1cs"
	"cuzk/sector"
	"cuzk/srs"
)

var rewrite = flag.Bool("rewrite", false, "write catalog.tsv anew; its D1 are still compared with the reference's")

// TestCatalog compiles every supported circuit and compares sizes, digest and
// bytes with the table, and the table's D1 with the reference's. (That the
// compiled form expands to D1 is the circuits' own test.)
func TestCatalog(t *testing.T) {
	var lines []string
	for _, id := range srs.Circuits() {
		if testing.Short() && !*rewrite && id.Family == srs.PoRep && id.Size > sector.Size2KiB {
			continue // a third of a second each
		}
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
		got.Summary = circuittest.Reference(t, "../testdata/circuits.jsonl", id.String())
		got.Counts = c.Counts()
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
