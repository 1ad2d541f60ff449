package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestSweepRemovesWhatNobodyFinished(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*c\\d")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := Create(filepath.Join(dir, "x.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	for _, name := range []string{"x.json", ".hidden", "y.partial"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{".hidden", "x.json", "y.partial"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left %v, %v", left, err)
	}
	if err := Sweep(filepath.Join(dir, "missing")); err != nil {
		t.Error(err)
	}
}
