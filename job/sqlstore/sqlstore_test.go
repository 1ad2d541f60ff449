package sqlstore

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cuzk/job"
)

func TestStoreConforms(t *testing.T) {
	job.RunStoreConformance(t, func(dir string) (job.Store, error) { return Open(t.Context(), filepath.Join(dir, "jobs.db")) })
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestDowngradeIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobs.db")
	s := open(t, path)
	if _, err := s.db.Exec(`update meta set value = '2' where name = 'schema'`); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(t.Context(), path); !errors.Is(err, job.ErrNewer) {
		t.Fatalf("want newer, got %v", err)
	}
}

func TestGarbageIsRefused(t *testing.T) {
	for name, content := range map[string][]byte{"text": bytes.Repeat([]byte("not a database "), 1000), "zeros": make([]byte, 8192)} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path); !errors.Is(err, job.ErrCorrupt) {
			t.Errorf("%s: want corrupt, got %v", name, err)
		}
	}
}

func TestPathWithOddCharacters(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41")
	open(t, filepath.Join(dir, "jobs.db"))
	if _, err := os.Stat(filepath.Join(dir, "jobs.db")); err != nil {
		t.Fatal(err)
	}
}

func TestFlippedProofIsNoticed(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "jobs.db"))
	for _, id := range []string{"live", "done"} {
		if _, _, err := s.Create(t.Context(), job.Job{ID: id, Submitted: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := s.SavePartition(t.Context(), id, 0, []byte("good")); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Finish(t.Context(), "done", job.Completed, job.Result{Proof: []byte("good")}); err != nil {
		t.Fatal(err)
	}
	for _, q := range []string{`update part set proof = 'evil'`, `update job set proof = 'evil' where id = 'done'`} {
		if _, err := s.db.Exec(q); err != nil {
			t.Fatal(err)
		}
	}
	if parts, err := s.Partitions(t.Context(), "live"); err != nil || len(parts) != 0 {
		t.Errorf("partitions %v, %v", parts, err)
	}
	if _, err := s.Get(t.Context(), "done"); !errors.Is(err, job.ErrCorrupt) {
		t.Errorf("want corrupt, got %v", err)
	}
}

// TestSpoiltProofIsMadeAgain: the retry of a request whose stored proof is spoilt
// is a new job.
func TestSpoiltProofIsMadeAgain(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "jobs.db"))
	j := job.Job{ID: "first", RequestID: "r", Submitted: time.Now()}
	if _, _, err := s.Create(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	if err := s.Finish(t.Context(), j.ID, job.Completed, job.Result{Proof: []byte("good")}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(`update job set proof = 'evil'`); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Find(t.Context(), "r", j.Digest); !errors.Is(err, job.ErrCorrupt) {
		t.Errorf("found: %v", err)
	}
	j.ID = "second"
	if got, created, err := s.Create(t.Context(), j); err != nil || !created || got.ID != "second" {
		t.Fatalf("got %v, %v, %v", got, created, err)
	}
	if got, err := s.Recent(t.Context(), 9); err != nil || len(got) != 2 {
		t.Errorf("recent %v, %v", got, err)
	}
}

// TestSpoiltRowSpoilsNoOther: of a live row whatever column has other content, by
// other means than this package.
func TestSpoiltRowSpoilsNoOther(t *testing.T) {
	for _, set := range []string{"digest = 'x'", "digest = x'00ff'", "class = 'high'", "submitted = 'yesterday'", "size = 1.5", "t_prove = x'01'", "proof_sum = 9", "kind = x'00'"} {
		t.Run(set, func(t *testing.T) {
			s := open(t, filepath.Join(t.TempDir(), "jobs.db"))
			for _, id := range []string{"good", "bad"} {
				if _, _, err := s.Create(t.Context(), job.Job{ID: id, Kind: "k", Submitted: time.Now()}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.db.Exec(`update job set ` + set + ` where id = 'bad'`); err != nil {
				t.Fatal(err)
			}
			live, err := s.Live(t.Context())
			if err != nil || len(live) != 2 {
				t.Fatalf("live %v, %v", live, err)
			}
			for _, j := range live {
				if spoilt := j.Result.Failure == job.Storage; spoilt != (j.ID == "bad" && !strings.HasPrefix(set, "kind")) {
					t.Errorf("read %+v", j)
				}
			}
			if err := s.Finish(t.Context(), "bad", job.Failed, job.Result{Failure: job.Storage, Message: "spoilt"}); err != nil {
				t.Fatal(err)
			}
			if j, err := s.Get(t.Context(), "bad"); err != nil || j.State != job.Failed || j.Result.Message != "spoilt" {
				t.Errorf("after its end: %v, %v", j, err)
			}
		})
	}
}

// BenchmarkJob is what one job of one partition writes: created and finished.
func BenchmarkJob(b *testing.B) {
	s, err := Open(b.Context(), filepath.Join(b.TempDir(), "jobs.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("j", i)
		if _, _, err := s.Create(b.Context(), job.Job{ID: id, RequestID: id, Submitted: time.Now()}); err != nil {
			b.Fatal(err)
		}
		if err := s.Finish(b.Context(), id, job.Completed, job.Result{Proof: make([]byte, 192)}); err != nil {
			b.Fatal(err)
		}
	}
}
