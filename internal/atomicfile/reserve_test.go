//go:build linux

package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// blank is a file without content.
func blank(t *testing.T, dir string) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "f"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func blocks(t *testing.T, f *os.File) int64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return st.Blocks
}

func TestReserveTakesSpaceAndKeepsLength(t *testing.T) {
	f := blank(t, t.TempDir())
	if err := Reserve(f, 1<<20); err != nil {
		t.Fatal(err)
	}
	if info, err := f.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("length %d, %v", info.Size(), err)
	}
	if n := blocks(t, f); n != 0 && n < 1<<20/512 {
		t.Errorf("%d blocks of 512 bytes", n)
	}
}

// TestReserveOfTooMuchTakesNothing: not even for a moment, which others on the
// disk would notice.
func TestReserveOfTooMuchTakesNothing(t *testing.T) {
	dir := t.TempDir()
	f := blank(t, dir)
	before, stop := watchFree(dir)
	for range 5 {
		if err := Reserve(f, int64(before)+1<<30); !errors.Is(err, unix.ENOSPC) {
			t.Fatalf("got %v", err)
		}
	}
	if n := stop(); n < before/2 { // others may be writing here too
		t.Errorf("of %d free bytes, %d were left for a moment", before, n)
	}
	if n := blocks(t, f); n != 0 {
		t.Errorf("%d blocks are still taken", n)
	}
}

// watchFree looks all the time at how much of a disk is free, and tells the least
// that it saw.
func watchFree(dir string) (now uint64, stop func() uint64) {
	free := func() uint64 {
		var fs unix.Statfs_t
		if unix.Statfs(dir, &fs) != nil {
			return 0
		}
		return fs.Bavail * uint64(fs.Bsize)
	}
	var quit atomic.Bool
	now = free()
	seen := make(chan uint64)
	go func() {
		low := now
		for !quit.Load() {
			low = min(low, free())
		}
		seen <- low
	}()
	return now, func() uint64 {
		quit.Store(true)
		return <-seen
	}
}
