package daemon

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/backend"
	"cuzk/backend/cpu"
	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
	"cuzk/job/sqlstore"
	"cuzk/r1cs"
	"cuzk/srs"
)

// anotherFake is a request of the fake kind that differs from those before it.
func anotherFake(n uint64) *cuzkv1.SubmitProofRequest {
	return &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprint("fake ", n), ProofKind: cuzkv1.ProofKind_POREP_SEAL_COMMIT,
		VanillaProof: []byte("fake:"), SectorNumber: n}
}

// proveFake wants the daemon alive and working.
func (r *running) proveFake(t testing.TB, n uint64) {
	t.Helper()
	got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: anotherFake(n)})
	if err != nil || got.GetResult().GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
		t.Fatalf("the daemon does not prove any more: %v %v", got, err)
	}
}

// TestFlippedPayloadFailsItsJob: one bit of a payload turns on disk while the
// daemon is down. Its job fails with a class, the others do not.
func TestFlippedPayloadFailsItsJob(t *testing.T) {
	o := options(t.TempDir())
	fakes(&o)
	first := o
	first.Kinds = []engine.Kind{stuck{o.Kinds[0]}}
	r := serveDraining(t, first, 0)
	a, err := r.client.SubmitProof(t.Context(), anotherFake(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	flip(t, filepath.Join(o.StateDir, "spool"))

	r = serve(t, o)
	got, err := r.client.AwaitProof(t.Context(), &cuzkv1.AwaitProofRequest{JobId: a.GetJobId()})
	if err != nil || got.GetStatus() != cuzkv1.AwaitProofResponse_FAILED || !strings.HasPrefix(got.GetErrorMessage(), "storage: ") {
		t.Errorf("got %v, %v", got, err)
	}
	r.proveFake(t, 2)
	r.proveFake(t, 1) // sent again, it is proved
}

// flip turns a bit of the only file of a folder.
func flip(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 1 {
		t.Fatalf("payloads: %v, %v", files, err)
	}
	path := filepath.Join(dir, files[0].Name())
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// slowFakes are fakes whose proofs take a while.
func slowFakes(o *Options) {
	fakes(o)
	o.Kinds[0].(*fake.Kind).Parts = 1
	o.Devices = []engine.Device{fake.GPU("card", budget.GiB, 300*time.Millisecond)}
}

// TestJobStoreLostUnderTheDaemon: the file is overwritten or deleted while a job
// runs. Who waits still gets the proof; new jobs are refused, with the reason;
// the process goes on and ends in order.
func TestJobStoreLostUnderTheDaemon(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"overwritten": func(path string) error { return os.WriteFile(path, make([]byte, 64<<10), 0o600) },
		"truncated":   func(path string) error { return os.Truncate(path, 0) },
		"deleted":     os.Remove,
		"log deleted": func(path string) error { return os.Remove(path + "-wal") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t.TempDir())
			slowFakes(&o)
			d, err := Open(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(n uint64) (string, error) {
				a, err := d.Engine.Submit(t.Context(), &job.Request{Kind: "porep-c2", VanillaProof: []byte("fake:"), SectorNumber: n}, engine.Options{})
				return a.ID, err
			}
			id, err := ask(1)
			if err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(o.StateDir, "jobs.db")); err != nil {
				t.Fatal(err)
			}
			if j, err := d.Engine.Wait(t.Context(), id); err != nil || j.State != job.Completed {
				t.Errorf("the running job: %v %s, %v", j.State, j.Result.Message, err)
			}
			refused(t, ask)
			if err := d.Engine.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			_ = d.Close(t.Context()) // the store may say that it is spoilt
		})
	}
}

// refused wants no job accepted, for one reason: not by the first, which finds
// out, nor by others.
func refused(t *testing.T, ask func(uint64) (string, error)) {
	t.Helper()
	for n := range uint64(2) {
		_, err := ask(n + 2)
		if !errors.Is(err, engine.ErrStore) {
			t.Errorf("job %d: %v", n+2, err)
		}
		t.Log(err)
	}
}

// TestHalfWrittenFilesAreSwept: what a kill -9 leaves goes at the next start.
func TestHalfWrittenFilesAreSwept(t *testing.T) {
	o := options(t.TempDir())
	o.CircuitDir = filepath.Join(o.StateDir, "circuits")
	spool := filepath.Join(o.StateDir, "spool")
	left := []string{filepath.Join(o.StateDir, ".key-digests.json.123.partial"), filepath.Join(o.CircuitDir, ".porep-2KiB.123.partial"),
		filepath.Join(spool, (&job.Request{}).Digest().String()+".partial"), filepath.Join(spool, (&job.Request{}).Digest().String())}
	for _, name := range left {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close(t.Context())
	for _, name := range left {
		if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNewerJobStoreIsRefused: an older program must not touch what a newer one
// wrote. It says which versions, and gives the directory back.
func TestNewerJobStoreIsRefused(t *testing.T) {
	o := options(t.TempDir())
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	newer(t, filepath.Join(o.StateDir, "jobs.db"))
	for range 2 {
		_, err = Open(t.Context(), o)
		want := fmt.Sprintf("schema %d, this program knows %d", sqlstore.Version+1, sqlstore.Version)
		if !errors.Is(err, job.ErrNewer) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
	}
}

// newer notes in a job store that a later version has written it.
func newer(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`update meta set value = $1 where name = 'schema'`, fmt.Sprint(sqlstore.Version+1)); err != nil {
		t.Fatal(err)
	}
}

// TestEightGiB: a control group with 8 GiB. A partition of porep-32GiB never fits
// and is refused at once, with the numbers; a WinningPoSt fits.
func TestEightGiB(t *testing.T) {
	limit, err := budget.Detect(fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal: 134217728 kB\n")},
		"proc/self/cgroup": {Data: []byte("0::/system.slice/cuzk.service\n")}, "sys/fs/cgroup/system.slice/cuzk.service/memory.max": {Data: []byte("8589934592\n")}})
	if err != nil || limit.Bytes != 8*budget.GiB {
		t.Fatal(limit, err)
	}
	p := &planner{cpu: cpu.New(cpu.Options{})}
	o := options(t.TempDir())
	o.Host = limit.Bytes
	o.Kinds = []engine.Kind{
		&fake.Kind{ID: "porep-c2", Wire: 1, Priority: job.Normal, Key: "porep-32g", Parts: 10, Work: p.work(circuitID(t, "porep-32GiB"))},
		&fake.Kind{ID: "winning-post", Wire: 4, Priority: job.Critical, Key: "winning-32g", Parts: 1, Work: p.work(circuitID(t, "winning-32GiB"))},
	}
	r := serve(t, o)
	_, err = r.client.SubmitProof(t.Context(), anotherFake(1))
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "of host memory, the limit is 8GiB") {
		t.Errorf("porep-32GiB: %v", err)
	}
	t.Log(err)
	m := anotherFake(2)
	m.ProofKind = cuzkv1.ProofKind_WINNING_POST
	if _, err := r.client.SubmitProof(t.Context(), m); err != nil {
		t.Errorf("winning-32GiB: %v", err)
	}
}

func circuitID(t *testing.T, name string) srs.ID {
	t.Helper()
	id, err := srs.ParseID(name)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// meddler is the processor's backend, with something that happens to the key's
// file between loading and proving.
type meddler struct {
	backend.Backend
	file string
	once sync.Once
	act  func(path string) error
	t    *testing.T
}

func (m *meddler) Load(ctx context.Context, c *r1cs.Compiled, k *srs.Key, progress func(float64)) (backend.Prover, error) {
	p, err := m.Backend.Load(ctx, c, k, progress)
	return meddled{p, m}, err
}

type meddled struct {
	backend.Prover
	*meddler
}

func (m meddled) Sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	m.once.Do(func() {
		if err := m.act(m.file); err != nil {
			m.t.Error(err)
		}
	})
	return m.Prover.Sums(ctx, w, progress)
}

// TestKeyFileChangesDuringProof: the mapped file is cut (reading it is a fault of
// the processor, SIGBUS), or another takes its name, in the midst of a proof.
func TestKeyFileChangesDuringProof(t *testing.T) {
	needKey(t, "window-2KiB")
	for name, c := range map[string]struct {
		act  func(path string) error
		want cuzkv1.AwaitProofResponse_Status
		text string
	}{
		"cut":      {func(path string) error { return os.Truncate(path, 4096) }, cuzkv1.AwaitProofResponse_FAILED, "no-key: "},
		"replaced": {replaceFile, cuzkv1.AwaitProofResponse_COMPLETED, ""},
		"deleted":  {os.Remove, cuzkv1.AwaitProofResponse_COMPLETED, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && c.want == cuzkv1.AwaitProofResponse_COMPLETED {
				t.Skip("makes two real proofs: seconds")
			}
			r := serve(t, meddling(t, c.act))
			for range 2 { // the second time what was changed is still so
				m := curio(t, "window-2KiB-V1_2-2of2")
				got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m})
				a := got.GetResult()
				if err != nil || a.GetStatus() != c.want || !strings.HasPrefix(a.GetErrorMessage(), c.text) {
					t.Fatalf("got %v %q, %v", a.GetStatus(), a.GetErrorMessage(), err)
				}
				if c.want == cuzkv1.AwaitProofResponse_COMPLETED {
					if err := valid(t, "window-2KiB", "window-2KiB-V1_2-2of2", 0, a.GetProof()); err != nil {
						t.Error(err)
					}
				} else {
					t.Log(a.GetErrorMessage())
				}
			}
			if err := r.Engine.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// replaceFile puts another file in the place of one, whole.
func replaceFile(path string) error {
	if err := os.WriteFile(path+".new", []byte("something else"), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// meddling are options of a daemon whose one card meddles with its copy of the
// key.
func meddling(t *testing.T, act func(string) error) Options {
	id := circuitID(t, "window-2KiB")
	o := options(t.TempDir())
	o.ParamsDir, o.NoCPU = t.TempDir(), true
	for _, part := range []string{srs.Params, srs.VK} {
		raw, err := os.ReadFile(filepath.Join(keyDir, id.InsecureFileName(part)))
		if err == nil {
			err = os.WriteFile(filepath.Join(o.ParamsDir, id.InsecureFileName(part)), raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	b := cpu.New(cpu.Options{}) // reads the mapped file as it sums
	o.Accelerators = []Accelerator{{Device: sched.Device{ID: "card", Name: "card", Slots: 1, Memory: budget.GiB},
		Backend: &meddler{Backend: b, file: filepath.Join(o.ParamsDir, id.InsecureFileName(srs.Params)), act: act, t: t},
		Need: func(srs.ID, r1cs.Counts, srs.Shape) budget.Placement {
			return budget.Placement{Able: true, Key: budget.Need{Device: 1}, Prove: budget.Need{Device: 1}}
		}}}
	return o
}
