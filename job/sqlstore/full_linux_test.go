package sqlstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"cuzk/job"
)

// TestFullDiskForAMoment fills the disk under a store: what it has accepted stays,
// what it cannot write is an error, and once there is space again it goes on.
func TestFullDiskForAMoment(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("cannot mount a small disk (%v): runs for root", err)
	}
	s, err := Open(t.Context(), filepath.Join(dir, "jobs.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	filler := filepath.Join(dir, "filler")
	if _, _, err := s.Create(t.Context(), sized("before", 1)); err != nil {
		t.Fatal(err)
	}
	accepted := append(createUntilFull(t, s, filler), "before")
	if err := s.Check(t.Context()); err == nil {
		t.Error("a full disk is not noticed")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	if _, created, err := s.Create(t.Context(), sized("after", 1)); err != nil || !created {
		t.Fatalf("with space again: %v, %v", created, err)
	}
	live, err := s.Live(t.Context())
	if err != nil || len(live) != len(accepted)+1 {
		t.Fatalf("%d jobs were accepted, %d are there, %v", len(accepted)+1, len(live), err)
	}
	proof := []byte(strings.Repeat("p", 192))
	for _, id := range append(accepted, "after") {
		if err := s.Finish(t.Context(), id, job.Completed, job.Result{Proof: proof, Ended: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
}

// createUntilFull stores jobs on a disk that has no space left for anything but
// the log's present pages.
func createUntilFull(t *testing.T, s *Store, filler string) (accepted []string) {
	t.Helper()
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	for i := range 10000 {
		id := fmt.Sprintf("job%05d", i)
		_, created, err := s.Create(t.Context(), sized(id, 1000))
		if err != nil {
			if created || !strings.Contains(err.Error(), "full") {
				t.Fatalf("created %v, %v", created, err)
			}
			return accepted
		}
		accepted = append(accepted, id)
	}
	t.Fatal("the disk was never full")
	return nil
}

// sized is a job with a request id of n characters.
func sized(id string, n int) job.Job {
	return job.Job{ID: id, RequestID: strings.Repeat("r", n) + id, Kind: "winning-post", Class: job.Critical, Submitted: time.Now(), State: job.Live}
}
