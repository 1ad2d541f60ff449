package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// holds compares the names in a folder.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if len(got) != len(want) {
		t.Fatalf("folder holds %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("folder holds %q, want %q", got, want)
		}
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestCommitReplacesAtOnce(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := WriteFile(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("new and longer")); err != nil {
		t.Fatal(err)
	}
	if got := content(t, path); got != "old" {
		t.Fatalf("before Commit: %q", got)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Abort() // does nothing now
	if got := content(t, path); got != "new and longer" {
		t.Fatalf("after Commit: %q", got)
	}
	holds(t, dir, "x")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := f.Commit(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("second Commit: %v", err)
	}
}

func TestAbortLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	f.Abort()
	f.Abort()
	holds(t, dir)
	if err := f.Commit(); err == nil {
		t.Error("committed after Abort")
	}
}

// TestFailedCommitLeavesNothing gives the file a name that a folder has.
func TestFailedCommitLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "x")
	var e *fs.PathError
	if err := WriteFile(path, []byte("y")); !errors.As(err, &e) || e.Path != path {
		t.Errorf("a folder was replaced: %v", err)
	}
	holds(t, dir, "x")
}

func TestErrorNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "x")
	_, err := Create(path)
	var e *fs.PathError
	if !errors.As(err, &e) || e.Path != path || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// TestAbortAll comes last: no file can be created after it.
func TestAbortAll(t *testing.T) {
	defer func() { open = map[*File]struct{}{} }()
	dir := t.TempDir()
	f, err := Create(filepath.Join(dir, "x"))
	if err != nil {
		t.Fatal(err)
	}
	AbortAll()
	holds(t, dir)
	if _, err := f.Write([]byte("late")); err != nil {
		t.Errorf("the owner cannot write any more: %v", err)
	}
	if err := f.Commit(); !errors.Is(err, ErrAborted) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := Create(filepath.Join(dir, "y")); !errors.Is(err, ErrAborted) {
		t.Errorf("Create: %v", err)
	}
	holds(t, dir)
}
