package srs

import (
	"bufio"
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"

	"cuzk/sector"
)

// lines reads the fields of a text table, comments left out.
func lines(t *testing.T, path string) [][]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l != "" && l[0] != '#' {
			out = append(out, strings.Fields(l))
		}
	}
	return out
}

// circuitLine is a line of testdata/circuits.jsonl.
type circuitLine struct {
	Circuit           string
	Inputs, Aux, Rows int
	Key               string
}

// jsonLines calls f with a decoded line at a time.
func jsonLines[T any](t *testing.T, path string, f func(T)) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	n := 0
	for s := bufio.NewScanner(file); s.Scan(); n++ {
		var l T
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		f(l)
	}
	return n
}

func mustID(t testing.TB, name string) ID {
	t.Helper()
	id, err := ParseID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestCircuitsOfReference compares names and shapes with what the reference's
// circuits and caches say.
func TestCircuitsOfReference(t *testing.T) {
	seen := map[string]bool{}
	n := jsonLines(t, "../testdata/circuits.jsonl", func(l circuitLine) {
		seen[l.Circuit] = true
		if got, err := CacheID(l.Circuit); err != nil || got != l.Key {
			t.Errorf("%s: cache id %s, want %s (%v)", l.Circuit, got, l.Key, err)
		}
		s := mustID(t, l.Circuit).Shape()
		m := 1
		for m < l.Rows+l.Inputs {
			m *= 2
		}
		if s.Inputs != l.Inputs || s.L != l.Aux || s.H != m-1 {
			t.Errorf("%s: shape %+v, circuit has %d inputs, %d aux, domain %d", l.Circuit, s, l.Inputs, l.Aux, m)
		}
	})
	if n != 39 || len(seen) != 39 {
		t.Errorf("%d lines, %d circuits, want 39", n, len(seen))
	}
	for _, name := range Names() {
		if !seen[name] {
			t.Errorf("%s is not a circuit of the reference", name)
		}
		delete(seen, name)
	}
	for name := range seen {
		t.Errorf("%s is not listed", name)
	}
}

func TestNameHashes(t *testing.T) {
	table := lines(t, "testdata/name-hashes.txt")
	if len(table) != 39 {
		t.Errorf("%d lines, want 39", len(table))
	}
	for _, l := range table {
		id := mustID(t, l[0])
		if got := id.CacheID(); !strings.HasSuffix(got, "-"+l[2]) || !strings.Contains(got, "poseidon_hasher-"+l[1]+"-") {
			t.Errorf("%s: %s, want shape %s, hash %s", l[0], got, l[1], l[2])
		}
	}
}

func TestKeySizes(t *testing.T) {
	table := lines(t, "testdata/key-sizes.txt")
	if len(table) != 39 {
		t.Errorf("%d lines, want 39", len(table))
	}
	for _, l := range table {
		for i, part := range []string{VK, Params} {
			want, err := strconv.ParseInt(l[i+1], 10, 64)
			if got := mustID(t, l[0]).Shape().Bytes(part); err != nil || got != want {
				t.Errorf("%s%s: %d bytes, want %s", l[0], part, got, l[i+1])
			}
		}
	}
}

// TestShapesOfReferenceKeys compares with keys that bellperson made.
func TestShapesOfReferenceKeys(t *testing.T) {
	type line struct {
		Circuit, Key string
		IC, H, L, A  int
		BG1          int `json:"b_g1"`
		BG2          int `json:"b_g2"`
	}
	n := jsonLines(t, "../testdata/keys/keys.jsonl", func(l line) {
		id := mustID(t, l.Circuit)
		if want := (Shape{l.IC, l.H, l.L, l.A, l.BG1}); id.Shape() != want || l.BG1 != l.BG2 || id.CacheID() != l.Key {
			t.Errorf("%s: shape %+v, want %+v; %s, want %s", id, id.Shape(), want, id.CacheID(), l.Key)
		}
	})
	if n != 4 {
		t.Errorf("%d keys, want 4", n)
	}
}

func TestUnknownNames(t *testing.T) {
	for _, name := range []string{"", "porep", "porep-", "-2KiB", "porep-1KiB", "porep-32gib", "porep-32GiB ", "update-1GiB",
		"update-poseidon-32GiB", "snap-32GiB", "porep-2KiB-2KiB"} {
		if id, err := ParseID(name); err == nil {
			t.Errorf("%q read as %v", name, id)
		}
		if _, err := CacheID(name); err == nil {
			t.Errorf("%q has a cache id", name)
		}
	}
	none := ID{Update, sector.Size1GiB}
	if none.Valid() || none.Identifier() != "" || none.Shape() != (Shape{}) {
		t.Errorf("update of 1 GiB exists: %q %+v", none.Identifier(), none.Shape())
	}
}

// TestManifest checks that every published file is the part of a circuit known
// here, the four of the unused Poseidon variant excepted.
func TestManifest(t *testing.T) {
	names := map[string]ID{}
	for _, id := range Circuits() {
		names[id.FileName(Params)], names[id.FileName(VK)] = id, id
	}
	poseidon := 0
	for file, p := range manifest() {
		id, ok := names[file]
		switch {
		case strings.HasPrefix(file, "v28-empty-sector-update-poseidon-"):
			poseidon++
		case !ok:
			t.Errorf("%s belongs to no circuit", file)
		case uint64(id.Size) != p.SectorSize:
			t.Errorf("%s: sector size %d, want %d", file, p.SectorSize, id.Size)
		}
		if len(p.Digest) != 32 || p.CID == "" {
			t.Errorf("%s: %+v", file, p)
		}
	}
	if len(manifest()) != 44 || poseidon != 4 || len(Official()) != 20 {
		t.Errorf("%d files, %d of the Poseidon variant, %d circuits", len(manifest()), poseidon, len(Official()))
	}
	embedded, err := os.ReadFile("../testdata/field/parameters.json")
	if err != nil || string(embedded) != string(manifestJSON) {
		t.Errorf("the embedded manifest differs from testdata/field/parameters.json (%v)", err)
	}
	if p, ok := (ID{PoRep, sector.Size32GiB}).Published(Params); !ok || p.Digest != "6a388072a518cf46ebd661f5cc46900a" {
		t.Errorf("porep-32GiB: %+v, %v", p, ok)
	}
	if _, ok := (ID{PoRep, sector.Size4KiB}).Published(Params); ok {
		t.Error("porep-4KiB is published")
	}
}

// TestInsecureNamesCannotBeMistaken keeps the two kinds of names apart.
func TestInsecureNamesCannotBeMistaken(t *testing.T) {
	for _, id := range Circuits() {
		for _, part := range []string{Params, VK} {
			if n := id.InsecureFileName(part); !strings.HasPrefix(n, "insecure-") || strings.Contains(id.FileName(part), "insecure") {
				t.Errorf("%s: %s and %s", id, n, id.FileName(part))
			}
		}
	}
}
