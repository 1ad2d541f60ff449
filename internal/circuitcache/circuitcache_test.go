package circuitcache

import (
	"os"
	"path/filepath"
	"testing"

	"cuzk/sector"
	"cuzk/srs"
)

var id = srs.ID{Family: srs.Window, Size: sector.Size2KiB}

func get(t *testing.T, dir string) *Result {
	t.Helper()
	r, err := Get(t.Context(), dir, id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCompiledOnceThenRead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "circuits")
	if r := get(t, dir); r.Read || r.Trouble != nil {
		t.Fatalf("first: read %v, trouble %v", r.Read, r.Trouble)
	}
	r := get(t, dir)
	if !r.Read || r.Trouble != nil || r.Counts().Rows != 21866 {
		t.Fatalf("second: read %v, trouble %v, %d rows", r.Read, r.Trouble, r.Counts().Rows)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "*")); len(files) != 1 {
		t.Errorf("the cache holds %v", files)
	}
}

// TestDamagedFileIsReplaced flips a byte: the circuit is compiled, the trouble
// told, and the next time the file is whole again.
func TestDamagedFileIsReplaced(t *testing.T) {
	dir := t.TempDir()
	path := get(t, dir).Path
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := get(t, dir); r.Read || r.Trouble == nil {
		t.Fatalf("damaged: read %v, trouble %v", r.Read, r.Trouble)
	}
	if r := get(t, dir); !r.Read || r.Trouble != nil {
		t.Fatalf("after: read %v, trouble %v", r.Read, r.Trouble)
	}
}

func TestUnusableFolderIsToldAndSurvived(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := get(t, file); r.Compiled == nil || r.Trouble == nil {
		t.Fatalf("compiled %v, trouble %v", r.Compiled != nil, r.Trouble)
	}
}
