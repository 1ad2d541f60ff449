package job

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSpoolOnFullDisk: what finds no space leaves nothing and holds nothing, what
// was stored is still there, and with space again payloads are taken.
func TestSpoolOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a small disk (%v): runs for root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	s, err := OpenSpool(filepath.Join(dir, "payloads"), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	of := func(c byte) *Request {
		return &Request{Kind: "winning-post", VanillaProofs: [][]byte{make([]byte, 400<<10), {c}}}
	}
	first, err := s.Put(of(1))
	if err != nil {
		t.Fatal(err)
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	before, _ := s.Usage()
	if _, err := s.Put(of(2)); !errors.Is(err, ErrSpool) || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("on a full disk: %v", err)
	}
	if used, _ := s.Usage(); used != before {
		t.Errorf("%d bytes are held, %d were before", used, before)
	}
	if files, _ := os.ReadDir(filepath.Join(dir, "payloads")); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	second, err := s.Put(of(2))
	if err != nil {
		t.Fatalf("with space again: %v", err)
	}
	for _, d := range []Digest{first, second} {
		if _, err := s.Read(d); err != nil {
			t.Error(err)
		}
	}
}
