package daemon

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/internal/testutil"
	"cuzk/job"
	"cuzk/job/sqlstore"
	"cuzk/server"
)

// childEnv names the state directory for which the test program becomes a
// daemon, keysEnv its keys.
const (
	childEnv = "CUZK_TEST_STATE"
	keysEnv  = "CUZK_TEST_KEYS"
)

// fakes are a PoRep of some partitions on a fake card, beside the real kinds on
// the processor.
func fakes(o *Options) {
	k := &fake.Kind{ID: "porep-c2", Wire: 1, Priority: job.Normal, Key: "fake", Parts: 6,
		Synthesise: 5 * time.Millisecond, Check: time.Millisecond,
		Work: budget.Work{Witness: budget.MiB, GPU: budget.Placement{Able: true, Key: budget.Need{Device: 1}}}}
	o.Kinds = []engine.Kind{k}
	o.Devices = []engine.Device{fake.GPU("card", budget.GiB, 10*time.Millisecond)}
}

// child is the daemon that gets killed. It also ends when its parent does.
func child(state string) int {
	keyDir = os.Getenv(keysEnv)
	o := options(state)
	o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	fakes(&o)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	d, err := Open(context.Background(), o)
	if err == nil {
		err = d.Run(context.Background(), server.Config{Listen: "unix://" + filepath.Join(state, "sock"), Logger: o.Log})
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// spawn starts a child; kill ends it as power loss would.
func spawn(t *testing.T, state string) (kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childEnv+"="+state, keysEnv+"="+keyDir)
	var log bytes.Buffer
	cmd.Stderr = &log
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Errorf("daemon ended by itself: %v\n%s", err, &log)
		}
		_ = cmd.Wait()
		in.Close()
		for l := range strings.Lines(log.String()) {
			if !strings.Contains(l, "INSECURE") {
				t.Log(l)
			}
		}
	}
}

// batch are clients that insist: each submits one request until it is accepted
// and awaits its answer, however often the daemon dies.
type batch struct {
	t      *testing.T
	client cuzkv1.ProvingEngineClient
	wg     sync.WaitGroup
	left   atomic.Int64
	mu     sync.Mutex
	jobs   map[string]*answer // by job id
}

type answer struct {
	request string // its id
	valid   func(proof []byte) error
	proof   []byte
}

func (b *batch) add(m *cuzkv1.SubmitProofRequest, valid func([]byte) error) {
	b.left.Add(1)
	b.wg.Go(func() {
		defer b.left.Add(-1)
		a := &answer{request: m.RequestId, valid: valid}
		for {
			got, err := b.client.SubmitProof(b.t.Context(), m)
			if b.t.Context().Err() != nil {
				return
			}
			if err != nil {
				time.Sleep(20 * time.Millisecond)
				continue
			}
			b.mu.Lock()
			b.jobs[got.GetJobId()] = a
			b.mu.Unlock()
			b.await(got.GetJobId(), a)
			return
		}
	})
}

func (b *batch) await(id string, a *answer) {
	for b.t.Context().Err() == nil {
		got, err := b.client.AwaitProof(b.t.Context(), &cuzkv1.AwaitProofRequest{JobId: id})
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		if got.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
			b.t.Errorf("%s: %v %s", a.request, got.GetStatus(), got.GetErrorMessage())
			return
		}
		if err := a.valid(got.GetProof()); err != nil {
			b.t.Errorf("%s: %v", a.request, err)
		}
		a.proof = got.GetProof()
		return
	}
}

// realEvery is the number of rounds to one real proof: they take seconds where
// fakes take milliseconds, and one of them should end before a kill.
const realEvery = 5

// round adds three fakes of one to six partitions, and in some rounds a real
// WindowPoSt. It returns the time until the kill.
func (b *batch) round(n int, rnd *rand.Rand) time.Duration {
	live := 1000
	if n%realEvery == 0 {
		name := []string{"window-2KiB-V1_2-2of2", "window-2KiB-V1-1of2"}[n/realEvery%2]
		m := curio(b.t, name)
		m.RequestId += fmt.Sprint(" ", n)
		b.add(m, func(proof []byte) error { return valid(b.t, "window-2KiB", name, 0, proof) })
		live = 4000
	}
	for k := range 3 {
		parts := 1 + rnd.IntN(6)
		m := &cuzkv1.SubmitProofRequest{RequestId: fmt.Sprintf("fake %d.%d", n, k), ProofKind: cuzkv1.ProofKind_POREP_SEAL_COMMIT,
			VanillaProof: fmt.Appendf(nil, "fake:parts=%d", parts), SectorNumber: uint64(3*n + k)}
		r := &job.Request{Kind: "porep-c2", VanillaProof: m.VanillaProof, SectorNumber: m.SectorNumber}
		b.add(m, func(proof []byte) error {
			if !fake.Valid(r, parts, proof) {
				return fmt.Errorf("not the proof of %d partitions", parts)
			}
			return nil
		})
	}
	return time.Duration(rnd.IntN(live)) * time.Millisecond
}

// TestKill kills a daemon at seeded random points of a batch of mixed jobs. Every
// job that was accepted is answered with a valid proof, and stays answered with
// that one.
func TestKill(t *testing.T) {
	kills := 6
	if testing.Short() {
		kills = 2
	}
	if os.Getenv(testutil.SlowEnv) == "1" {
		kills = 100
	}
	needKey(t, "window-2KiB")
	rnd := rand.New(rand.NewPCG(6, 100))
	state := t.TempDir()
	b := &batch{t: t, client: dialUnix(t, filepath.Join(state, "sock")), jobs: map[string]*answer{}}
	for n := range kills {
		kill := spawn(t, state)
		time.Sleep(b.round(n, rnd))
		kill()
	}
	kill := spawn(t, state)
	b.wg.Wait()
	b.askAgain()
	kill()
	b.look(state, 3*kills+(kills+realEvery-1)/realEvery)
}

// askAgain wants the same proofs once more.
func (b *batch) askAgain() {
	for id, a := range b.jobs {
		// The last daemon may not listen yet: if all was answered before the last
		// kill, nobody waited for it.
		got, err := b.client.AwaitProof(b.t.Context(), &cuzkv1.AwaitProofRequest{JobId: id}, grpc.WaitForReady(true))
		if err != nil || !bytes.Equal(got.GetProof(), a.proof) {
			b.t.Errorf("%s: another answer the second time: %v", a.request, err)
		}
	}
}

// look counts what the store has: one job a request, and none alive.
func (b *batch) look(state string, want int) {
	store, err := sqlstore.Open(b.t.Context(), filepath.Join(state, "jobs.db"))
	if err != nil {
		b.t.Fatal(err)
	}
	defer store.Close()
	jobs, err := store.Recent(b.t.Context(), 10*want)
	if err != nil {
		b.t.Fatal(err)
	}
	seen := map[string]int{}
	for _, j := range jobs {
		if seen[j.RequestID]++; j.State != job.Completed || b.jobs[j.ID] == nil {
			b.t.Errorf("%s is %s: %s", j.RequestID, j.State, j.Result.Message)
		}
	}
	if len(jobs) != want || len(seen) != want {
		b.t.Errorf("the store has %d jobs of %d requests, want %d", len(jobs), len(seen), want)
	}
	files, err := os.ReadDir(filepath.Join(state, "spool"))
	if err != nil || len(files) > 0 {
		b.t.Errorf("%d payloads are left in the spool, %v", len(files), err)
	}
}
