package daemon

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"cuzk/api/cuzkv1"
	"cuzk/engine"
)

// TestClockJumpsWhileDown: the wall clock steps by a year, forth or back, between
// two starts. Jobs are proved all the same, and no time that is told is negative
// or absurd in units. While a daemon runs its scheduler has monotonic time alone
// ([engine.Engine]), which no step changes.
func TestClockJumpsWhileDown(t *testing.T) {
	for name, by := range map[string]time.Duration{"forth": -365 * 24 * time.Hour, "back": 365 * 24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
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
			submittedAt(t, filepath.Join(o.StateDir, "jobs.db"), time.Now().Add(by))

			r = serve(t, o)
			got, err := r.client.AwaitProof(t.Context(), &cuzkv1.AwaitProofRequest{JobId: a.GetJobId()})
			if err != nil || got.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
				t.Fatal(got, err)
			}
			const most = 2 * 365 * 24 * 3600 * 1000
			if got.GetTotalMs() > most || got.GetQueueWaitMs() > most || got.GetGpuComputeMs() > 60_000 {
				t.Errorf("times: %v", got)
			}
			r.proveFake(t, 2)
			jobs, err := r.Engine.Recent(t.Context(), 10)
			if err != nil || len(jobs) != 2 {
				t.Fatal(jobs, err)
			}
			for _, j := range jobs {
				if x := j.Result.Times; min(x.Queue, x.Key, x.Synthesise, x.Prove, x.Total) < 0 {
					t.Errorf("job %s: times %+v", j.ID, x)
				}
			}
		})
	}
}

// submittedAt changes when all jobs were submitted.
func submittedAt(t *testing.T, path string, at time.Time) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(`update job set submitted = $1`, at.UnixNano()); err != nil {
		t.Fatal(err)
	}
}
