package job

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Opener opens, or opens again, the store that lives in a folder.
type Opener func(dir string) (Store, error)

// RunStoreConformance checks that a store keeps the promises of [Store], also
// when its process is killed. It must be called from a test of its own, without
// subtests around it, because it runs that test again as the process to kill.
func RunStoreConformance(t *testing.T, open Opener) {
	if dir := os.Getenv(childEnv); dir != "" {
		writeUntilKilled(open, dir)
		return
	}
	for _, c := range []struct {
		name string
		run  func(*suite)
	}{
		{"create and get", (*suite).createAndGet}, {"find", (*suite).find}, {"join", (*suite).join}, {"no join after failure", (*suite).noJoinAfterFailure},
		{"anonymous", (*suite).anonymous}, {"ends once", (*suite).endsOnce}, {"partitions", (*suite).partitions},
		{"order", (*suite).order}, {"reopen", (*suite).reopen}, {"prune", (*suite).prune}, {"concurrent create", (*suite).concurrentCreate},
		{"concurrent finish", (*suite).concurrentFinish}, {"check", (*suite).check},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &suite{T: t, open: open, dir: t.TempDir()}
			s.reopenStore()
			c.run(s)
		})
	}
	t.Run("kill", func(t *testing.T) { killed(t, open) })
}

// suite is one subtest with a store of its own.
type suite struct {
	*testing.T
	open  Opener
	dir   string
	store Store
	n     int
}

func (s *suite) reopenStore() {
	s.Helper()
	if s.store != nil {
		s.must(s.store.Close())
	} else {
		s.Cleanup(func() { s.store.Close() })
	}
	st, err := s.open(s.dir)
	s.must(err)
	s.store = st
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *suite) want(err, target error) {
	s.Helper()
	if !errors.Is(err, target) {
		s.Fatalf("want %v, got %v", target, err)
	}
}

var conformanceStart = time.Date(2026, 8, 1, 12, 0, 0, 123, time.UTC)

func (s *suite) make(request, content string) Job {
	s.n++
	return Job{ID: fmt.Sprintf("id%014d", s.n), RequestID: request, Digest: (&Request{VanillaProof: []byte(content)}).Digest(),
		Size: 51 << 20, Kind: "porep-c2", Class: Normal, Submitted: conformanceStart.Add(time.Duration(s.n) * time.Second), State: Live}
}

func (s *suite) create(j Job) Job {
	s.Helper()
	got, created, err := s.store.Create(s.Context(), j)
	s.must(err)
	if !created {
		s.Fatalf("job %s was not created but joined %s", j.ID, got.ID)
	}
	return got
}

func (s *suite) createAndGet() {
	j := s.make("porep-1000-1", "a")
	j.Deadline = j.Submitted.Add(time.Hour)
	s.create(j)
	got, err := s.store.Get(s.Context(), j.ID)
	s.must(err)
	if fmt.Sprint(got) != fmt.Sprint(j) {
		s.Fatalf("stored\n%v\nread\n%v", j, got)
	}
	s.must(s.store.SetClass(s.Context(), j.ID, Critical))
	if got, _ = s.store.Get(s.Context(), j.ID); got.Class != Critical {
		s.Fatalf("class %v", got.Class)
	}
	_, err = s.store.Get(s.Context(), "nobody")
	s.want(err, ErrNotFound)
	s.want(s.store.SetClass(s.Context(), "nobody", High), ErrNotFound)
}

func (s *suite) find() {
	j := s.create(s.make("r", "a"))
	s.create(s.make("", "a"))
	found := func(request string, d Digest) string {
		got, err := s.store.Find(s.Context(), request, d)
		if err != nil {
			s.want(err, ErrNotFound)
		}
		return got.ID
	}
	if found("r", j.Digest) != j.ID || found("q", j.Digest) != "" || found("", j.Digest) != "" || found("r", Digest{}) != "" {
		s.Fatal("found another job")
	}
	s.must(s.store.Finish(s.Context(), j.ID, Completed, Result{Proof: []byte("proof")}))
	if got, err := s.store.Find(s.Context(), "r", j.Digest); err != nil || string(got.Result.Proof) != "proof" {
		s.Fatalf("the completed one: %v, %v", got, err)
	}
	j = s.create(s.make("f", "a"))
	s.must(s.store.Finish(s.Context(), j.ID, Failed, Result{}))
	if found("f", j.Digest) != "" {
		s.Fatal("found a failed job")
	}
}

func (s *suite) join() {
	first := s.create(s.make("r", "a"))
	got, created, err := s.store.Create(s.Context(), s.make("r", "a"))
	s.must(err)
	if created || got.ID != first.ID {
		s.Fatalf("same id and content made job %s beside %s", got.ID, first.ID)
	}
	s.create(s.make("r", "b"))
	s.create(s.make("q", "a"))
	s.must(s.store.Finish(s.Context(), first.ID, Completed, Result{Proof: []byte("proof")}))
	got, created, err = s.store.Create(s.Context(), s.make("r", "a"))
	s.must(err)
	if created || got.State != Completed || string(got.Result.Proof) != "proof" {
		s.Fatalf("a finished proof was not handed out: created %v, %v", created, got)
	}
}

func (s *suite) noJoinAfterFailure() {
	for _, st := range []State{Failed, Cancelled, TimedOut} {
		j := s.create(s.make("r", "a"))
		s.must(s.store.Finish(s.Context(), j.ID, st, Result{Failure: BadInput, Message: "no"}))
		got, err := s.store.Get(s.Context(), j.ID)
		s.must(err)
		if got.State != st || got.Result.Failure != BadInput || got.Result.Message != "no" {
			s.Fatalf("read %v", got)
		}
	}
	s.create(s.make("r", "a"))
}

func (s *suite) anonymous() {
	s.create(s.make("", "a"))
	s.create(s.make("", "a"))
}

func (s *suite) endsOnce() {
	j := s.create(s.make("r", "a"))
	r := Result{Proof: []byte("p"), Ended: conformanceStart.Add(time.Minute), Times: Times{Queue: 1, Key: 2, Synthesise: 3, Prove: 4, Total: 5}}
	s.must(s.store.Finish(s.Context(), j.ID, Completed, r))
	s.want(s.store.Finish(s.Context(), j.ID, Failed, Result{Failure: Internal}), ErrEnded)
	s.want(s.store.SavePartition(s.Context(), j.ID, 0, []byte("x")), ErrEnded)
	s.want(s.store.SetClass(s.Context(), j.ID, High), ErrEnded)
	s.want(s.store.Finish(s.Context(), "nobody", Failed, Result{}), ErrNotFound)
	got, err := s.store.Get(s.Context(), j.ID)
	s.must(err)
	if got.State != Completed || fmt.Sprint(got.Result) != fmt.Sprint(r) {
		s.Fatalf("read %v, want %v", got.Result, r)
	}
	k := s.create(s.make("q", "a"))
	if err := s.store.Finish(s.Context(), k.ID, Live, Result{}); err == nil {
		s.Fatal("live is not an end")
	}
}

func (s *suite) partitions() {
	j := s.create(s.make("r", "a"))
	s.must(s.store.SavePartition(s.Context(), j.ID, 3, []byte("three")))
	s.must(s.store.SavePartition(s.Context(), j.ID, 0, []byte("zero")))
	s.must(s.store.SavePartition(s.Context(), j.ID, 0, []byte("null")))
	s.want(s.store.SavePartition(s.Context(), "nobody", 0, nil), ErrNotFound)
	got, err := s.store.Partitions(s.Context(), j.ID)
	s.must(err)
	if len(got) != 2 || string(got[3]) != "three" || string(got[0]) != "null" {
		s.Fatalf("read %v", got)
	}
	s.must(s.store.Finish(s.Context(), j.ID, Completed, Result{Proof: []byte("p")}))
	if got, err = s.store.Partitions(s.Context(), j.ID); err != nil || len(got) != 0 {
		s.Fatalf("partitions after the end: %v, %v", got, err)
	}
}

func (s *suite) order() {
	var want []string
	for i := range 5 {
		want = append(want, s.create(s.make(fmt.Sprint(i), "a")).ID)
	}
	s.must(s.store.Finish(s.Context(), want[2], Failed, Result{}))
	live, err := s.store.Live(s.Context())
	s.must(err)
	recent, err := s.store.Recent(s.Context(), 3)
	s.must(err)
	if ids(live) != fmt.Sprint([]string{want[0], want[1], want[3], want[4]}) || ids(recent) != fmt.Sprint([]string{want[4], want[3], want[2]}) {
		s.Fatalf("live %s, recent %s, all %v", ids(live), ids(recent), want)
	}
}

func ids(js []Job) string {
	out := []string{}
	for _, j := range js {
		out = append(out, j.ID)
	}
	return fmt.Sprint(out)
}

func (s *suite) reopen() {
	a, b := s.create(s.make("r", "a")), s.create(s.make("q", "b"))
	s.must(s.store.SavePartition(s.Context(), a.ID, 1, []byte("one")))
	s.must(s.store.Finish(s.Context(), b.ID, Completed, Result{Proof: []byte("proof")}))
	s.reopenStore()
	live, err := s.store.Live(s.Context())
	s.must(err)
	parts, err := s.store.Partitions(s.Context(), a.ID)
	s.must(err)
	got, err := s.store.Get(s.Context(), b.ID)
	s.must(err)
	if ids(live) != fmt.Sprint([]string{a.ID}) || string(parts[1]) != "one" || string(got.Result.Proof) != "proof" {
		s.Fatalf("live %s, partitions %v, result %v", ids(live), parts, got.Result)
	}
}

func (s *suite) prune() {
	old, young, live := s.create(s.make("1", "a")), s.create(s.make("2", "a")), s.create(s.make("3", "a"))
	s.must(s.store.SavePartition(s.Context(), live.ID, 0, []byte("x")))
	s.must(s.store.Finish(s.Context(), old.ID, Completed, Result{Ended: conformanceStart}))
	s.must(s.store.Finish(s.Context(), young.ID, Completed, Result{Ended: conformanceStart.Add(time.Hour)}))
	n, err := s.store.Prune(s.Context(), conformanceStart.Add(time.Minute))
	s.must(err)
	_, gone := s.store.Get(s.Context(), old.ID)
	s.want(gone, ErrNotFound)
	parts, err := s.store.Partitions(s.Context(), live.ID)
	s.must(err)
	if recent, _ := s.store.Recent(s.Context(), 9); n != 1 || len(recent) != 2 || len(parts) != 1 {
		s.Fatalf("pruned %d, left %s, partitions %v", n, ids(recent), parts)
	}
}

func (s *suite) concurrentCreate() {
	jobs := make([]Job, 8)
	for i := range jobs {
		jobs[i] = s.make("r", "a")
	}
	created := make([]bool, len(jobs))
	var wg sync.WaitGroup
	for i := range jobs {
		wg.Go(func() {
			j, c, err := s.store.Create(s.Context(), jobs[i])
			if created[i], jobs[i] = c, j; err != nil {
				s.Error(err)
			}
		})
	}
	wg.Wait()
	n := 0
	for i := range jobs {
		if created[i] {
			n++
		}
		if jobs[i].ID != jobs[0].ID {
			s.Errorf("joined %s and %s", jobs[i].ID, jobs[0].ID)
		}
	}
	if n != 1 {
		s.Fatalf("created %d times", n)
	}
}

func (s *suite) concurrentFinish() {
	j := s.create(s.make("r", "a"))
	var wins, losses int
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			err := s.store.Finish(s.Context(), j.ID, Completed, Result{})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				wins++
			case errors.Is(err, ErrEnded):
				losses++
			}
		})
	}
	if wg.Wait(); wins != 1 || losses != 7 {
		s.Fatalf("ended %d times, refused %d times", wins, losses)
	}
}

func (s *suite) check() {
	s.must(s.store.Check(s.Context()))
	entries, err := os.ReadDir(s.dir)
	s.must(err)
	for _, e := range entries {
		s.must(os.Remove(filepath.Join(s.dir, e.Name())))
	}
	if s.store.Check(s.Context()) == nil {
		s.Fatal("the store did not notice that its files are gone")
	}
}

const childEnv = "CUZK_STORE_CONFORMANCE_DIR"

// writeUntilKilled prints a line for everything that the store has accepted.
func writeUntilKilled(open Opener, dir string) {
	st, err := open(dir)
	if err != nil {
		fmt.Println("error", err)
		return
	}
	base := time.Now()
	for i := 0; ; i++ {
		j := Job{ID: NewID(time.Now()), RequestID: fmt.Sprint(i, base.UnixNano()), Kind: "k", Class: Normal, Submitted: time.Now()}
		if err := writeOne(st, j, i); err != nil {
			fmt.Println("error", err)
			return
		}
	}
}

func writeOne(st Store, j Job, i int) error {
	ctx := context.Background()
	if _, _, err := st.Create(ctx, j); err != nil {
		return err
	}
	fmt.Println("created", j.ID)
	if err := st.SavePartition(ctx, j.ID, 1, []byte(j.ID)); err != nil {
		return err
	}
	fmt.Println("saved", j.ID)
	if i%2 == 0 {
		return nil
	}
	if err := st.Finish(ctx, j.ID, Completed, Result{Proof: []byte(j.ID)}); err != nil {
		return err
	}
	fmt.Println("finished", j.ID)
	return nil
}

// killed runs the writer, kills it after some hundred lines, and compares what
// it said with what the store has.
func killed(t *testing.T, open Opener) {
	dir := t.TempDir()
	last := map[string]string{} // job to the last thing said of it
	for round := range 3 {
		runAndKill(t, dir, 100+37*round, last)
		st, err := open(dir)
		if err != nil {
			t.Fatalf("open after a kill: %v", err)
		}
		for id, said := range last {
			verify(t, st, id, said)
		}
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func runAndKill(t *testing.T, dir string, lines int, last map[string]string) {
	parent, _, _ := strings.Cut(t.Name(), "/")
	cmd := exec.Command(os.Args[0], "-test.run=^"+parent+"$")
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	for n := 0; sc.Scan(); n++ { // what was in the pipe at the kill counts as said
		var what, id string
		if k, _ := fmt.Sscan(sc.Text(), &what, &id); k == 2 {
			last[id] = what
		}
		if what == "error" {
			t.Error(sc.Text())
		}
		if n == lines {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
}

func verify(t *testing.T, st Store, id, said string) {
	j, err := st.Get(t.Context(), id)
	if err != nil {
		t.Errorf("job %s was %s before the kill: %v", id, said, err)
		return
	}
	parts, err := st.Partitions(t.Context(), id)
	if err != nil {
		t.Error(err)
	}
	switch {
	case said == "saved" && j.State == Live && string(parts[1]) != id:
		t.Errorf("job %s lost its partition", id)
	case said == "finished" && string(j.Result.Proof) != id:
		t.Errorf("job %s lost its proof", id)
	}
}
