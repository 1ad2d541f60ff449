package kind

import (
	"bufio"
	_ "embed"
	"encoding/hex"
	"fmt"
	"strings"

	"cuzk/r1cs"
	"cuzk/srs"
)

// catalog has a line for every supported circuit: name, inputs, aux, bits, rows,
// non-zero terms of A, B, C, D1, then digest and bytes of the compiled form. The
// tests write it (-rewrite) and compare its D1 with the reference's; whoever
// changes a gadget sees it change.
//
//go:embed catalog.tsv
var catalog string

// Entry is a supported circuit.
type Entry struct {
	ID srs.ID
	r1cs.Summary
	Digest [32]byte // SHA-256 of the compiled form: its content address
	Bytes  int      // of the compiled form
}

var entries = func() []Entry {
	var out []Entry
	for lines := bufio.NewScanner(strings.NewReader(catalog)); lines.Scan(); {
		e, err := parseEntry(lines.Text())
		if err != nil {
			panic("kind: catalog.tsv: " + err.Error()) // the embedded table is part of the program
		}
		out = append(out, e)
	}
	return out
}()

func parseEntry(line string) (e Entry, err error) {
	var name, d1, digest string
	s := &e.Summary
	if _, err = fmt.Sscan(line, &name, &s.Inputs, &s.Aux, &s.Bits, &s.Rows, &s.NonZero[0], &s.NonZero[1], &s.NonZero[2], &d1, &digest, &e.Bytes); err != nil {
		return e, err
	}
	if e.ID, err = srs.ParseID(name); err != nil {
		return e, err
	}
	if _, err = hex.Decode(s.D1[:], []byte(d1)); err != nil {
		return e, err
	}
	_, err = hex.Decode(e.Digest[:], []byte(digest))
	return e, err
}

// line is the inverse of parseEntry.
func (e *Entry) line() string {
	s := &e.Summary
	return fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%x\t%x\t%d", e.ID, s.Inputs, s.Aux, s.Bits, s.Rows,
		s.NonZero[0], s.NonZero[1], s.NonZero[2], s.D1, e.Digest, e.Bytes)
}

// Catalog lists the supported circuits with their known sizes and digests.
func Catalog() []Entry { return append([]Entry(nil), entries...) }

// Lookup finds a circuit of the catalog.
func Lookup(id srs.ID) (Entry, bool) {
	for _, e := range entries {
		if e.ID == id {
			return e, true
		}
	}
	return Entry{}, false
}
