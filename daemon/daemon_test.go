package daemon

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/event"
	"cuzk/groth16"
	"cuzk/internal/circuitcache"
	"cuzk/internal/testutil"
	"cuzk/job"
	"cuzk/proving"
	"cuzk/server"
	"cuzk/srs"
)

const (
	testdata = "../testdata"
	miner    = 1013918 // prover of all requests of the reference
)

// keyDir is a folder with insecure keys that all tests share.
var keyDir string

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		os.Exit(child(dir))
	}
	dir, err := os.MkdirTemp("", "cuzk-daemon-")
	if err != nil {
		panic(err)
	}
	keyDir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var making sync.Mutex

// needKey makes the insecure key of a circuit unless a test before has.
func needKey(t testing.TB, circuit string) {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	id, err := srs.ParseID(circuit)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(keyDir, id.InsecureFileName(srs.Params))); err == nil {
		return
	}
	r, err := circuitcache.Get(t.Context(), filepath.Join(keyDir, "circuits"), id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := proving.MakeInsecureKey(t.Context(), keyDir, id, r.Compiled, nil); err != nil {
		t.Fatal(err)
	}
}

func options(state string) Options {
	return Options{StateDir: state, ParamsDir: keyDir, CircuitDir: filepath.Join(keyDir, "circuits"), Insecure: true,
		Sched: sched.Config{MaxJobs: 1000, Making: 2, CPU: sched.CPUFallback, MaxAttempts: 3, HangFactor: 100, HangFloor: time.Minute},
		Host:  2 * budget.GiB, Events: event.NewHub(1000)}
}

// running is a daemon that serves on a port of its own.
type running struct {
	*Daemon
	client cuzkv1.ProvingEngineClient
	addr   string
	end    func() error // drain and wait
}

func serve(t testing.TB, o Options) *running {
	t.Helper()
	return serveDraining(t, o, time.Minute)
}

func serveDraining(t testing.TB, o Options, drain time.Duration) *running {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	d, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan server.Addresses, 1), make(chan error, 1)
	go func() {
		done <- d.Run(ctx, server.Config{Listen: "127.0.0.1:0", DrainTimeout: drain, Events: o.Events, Logger: o.Log,
			Ready: func(a server.Addresses) { ready <- a }})
	}()
	r := &running{Daemon: d, end: sync.OnceValue(func() error { cancel(); return <-done })}
	t.Cleanup(func() {
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
	select {
	case a := <-ready:
		r.addr = a.Listen.String()
	case err := <-done:
		done <- err
		t.Fatal(err)
	}
	r.client = dial(t, r.addr)
	return r
}

// dial connects as Curio does.
func dial(t testing.TB, addr string) cuzkv1.ProvingEngineClient { return dialTarget(t, "dns:///"+addr) }

// dialUnix connects to a socket.
func dialUnix(t testing.TB, path string) cuzkv1.ProvingEngineClient {
	return dialTarget(t, "unix://"+path)
}

func dialTarget(t testing.TB, target string) cuzkv1.ProvingEngineClient {
	c, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(256<<20), grpc.MaxCallSendMsgSize(256<<20)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return cuzkv1.NewProvingEngineClient(c)
}

func read(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// curio makes of a request of the reference what Curio sends: its ids, payload
// shapes and quirks.
func curio(t testing.TB, name string) *cuzkv1.SubmitProofRequest {
	t.Helper()
	var f struct {
		Kind       string
		Randomness string
		SectorID   uint64   `json:"sector_id"`
		Proofs     []string `json:"vanilla_proofs"`
		Parts      []string `json:"partition_proofs"`
		C1         string
		CommROld   string `json:"comm_r_old"`
		CommRNew   string `json:"comm_r_new"`
		CommDNew   string `json:"comm_d_new"`
	}
	if err := json.Unmarshal(read(t, "requests/"+name+".json"), &f); err != nil {
		t.Fatal(err)
	}
	m := &cuzkv1.SubmitProofRequest{MinerId: miner}
	for _, p := range append(f.Proofs, f.Parts...) {
		m.VanillaProofs = append(m.VanillaProofs, read(t, "requests/"+p))
	}
	if f.Randomness != "" {
		m.Randomness = unhex(t, f.Randomness)
	}
	switch f.Kind {
	case srs.PoRep:
		m.ProofKind, m.RegisteredProof, m.Priority = cuzkv1.ProofKind_POREP_SEAL_COMMIT, 5, cuzkv1.Priority_NORMAL
		m.SectorNumber, m.SectorSize = f.SectorID, 2048
		m.RequestId = fmt.Sprintf("porep-%d-%d", miner, f.SectorID)
		m.VanillaProof = fmt.Appendf(nil, `{"SectorNum":%d,"Phase1Out":"%s","SectorSize":2048}`, f.SectorID, base64.StdEncoding.EncodeToString(read(t, "requests/"+f.C1)))
	case srs.Update: // market jobs leave the sector size out
		m.ProofKind, m.Priority, m.RequestId = cuzkv1.ProofKind_SNAP_DEALS_UPDATE, cuzkv1.Priority_NORMAL, fmt.Sprintf("ps-snap-%d-%d-%d", 1000, 1, 9)
		m.CommROld, m.CommRNew, m.CommDNew = unhex(t, f.CommROld), unhex(t, f.CommRNew), unhex(t, f.CommDNew)
	case srs.Winning:
		m.ProofKind, m.Priority, m.SectorSize = cuzkv1.ProofKind_WINNING_POST, cuzkv1.Priority_CRITICAL, 2048
		m.RequestId = fmt.Sprintf("winpost-%d-%x", miner, m.Randomness[:8])
	default: // the index is 0 whichever partition it is, and so is the id's
		m.ProofKind, m.Priority, m.SectorSize, m.RegisteredProof = cuzkv1.ProofKind_WINDOW_POST_PARTITION, cuzkv1.Priority_HIGH, 2048, 10
		if strings.Contains(name, "V1-") {
			m.RegisteredProof = 5
		}
		m.RequestId = fmt.Sprintf("wdpost-%d-%d-%v", miner, 0, m.Randomness[:8])
	}
	return m
}

// valid holds a proof against the reference's verifying key and public inputs of
// one partition.
func valid(t testing.TB, circuit, request string, partition int, proof []byte) error {
	t.Helper()
	vk, err := srs.DecodeVerifyingKey(read(t, "keys/"+circuit+".vk"))
	if err != nil {
		t.Fatal(err)
	}
	var ref struct {
		Partitions []struct {
			PublicInputs []string `json:"public_inputs"`
		}
	}
	if err := json.Unmarshal(read(t, "requests/"+request+".witness.json"), &ref); err != nil {
		t.Fatal(err)
	}
	var inputs []fr.Element
	for _, x := range ref.Partitions[partition].PublicInputs {
		inputs = append(inputs, *new(fr.Element).SetBytes(unhex(t, x)))
	}
	p, err := groth16.DecodeProof(proof)
	if err != nil {
		return err
	}
	return groth16.Verify(vk, inputs, p)
}

// prove asks for a proof and wants it valid.
func (r *running) prove(t testing.TB, circuit, request string) {
	t.Helper()
	m := curio(t, request)
	got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m})
	if err != nil {
		t.Fatal(request, err)
	}
	a := got.GetResult()
	if a.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED || a.GetErrorMessage() != "" {
		t.Fatalf("%s: %v %s", request, a.GetStatus(), a.GetErrorMessage())
	}
	if err := valid(t, circuit, request, 0, a.GetProof()); err != nil {
		t.Fatal(request, err)
	}
}

// TestProvesAsCurioAsks sends the two quick kinds.
func TestProvesAsCurioAsks(t *testing.T) {
	needKey(t, "window-2KiB")
	if testing.Short() {
		t.Skip("makes the key of winning-2KiB: seconds")
	}
	needKey(t, "winning-2KiB")
	r := serve(t, options(t.TempDir()))
	r.prove(t, "winning-2KiB", "winning-2KiB")
	r.prove(t, "window-2KiB", "window-2KiB-V1_2-2of2")

	st, err := r.client.GetStatus(t.Context(), &cuzkv1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	tiers := map[string]string{}
	for _, k := range st.GetLoadedSrs() {
		tiers[k.GetCircuitId()] = k.GetTier().String()
	}
	if len(st.GetGpus()) != 1 || st.GetTotalProofsCompleted() != 2 || tiers["wpost-2k"] != "HOT" || tiers["winning-2k"] != "HOT" {
		t.Errorf("status: %v", st)
	}
	if strings.Contains(fmt.Sprint(tiers), "32g") {
		t.Errorf("keys that are nowhere are listed: %v", tiers)
	}
}

// TestProvesLargeKinds sends the other two; their keys have 1.1 and 0.7 GB.
func TestProvesLargeKinds(t *testing.T) {
	testutil.Slow(t, "keys of 1.8 GB, 5 GB of memory")
	for circuit, request := range map[string]string{"porep-2KiB": "porep-2KiB-V1_1", "update-2KiB": "update-2KiB"} {
		t.Run(circuit, func(t *testing.T) {
			needKey(t, circuit)
			serve(t, options(t.TempDir())).prove(t, circuit, request)
		})
	}
}

// TestPartitionsWithOneID: Curio sends all partitions of a deadline under one
// id. Their contents differ, so each is answered with its own proof.
func TestPartitionsWithOneID(t *testing.T) {
	needKey(t, "window-2KiB")
	r := serve(t, options(t.TempDir()))
	const name = "window-2KiB-V1_2-3of4"
	all := curio(t, name)
	var wg sync.WaitGroup
	for k, proofs := range [][][]byte{all.VanillaProofs[:2], all.VanillaProofs[2:]} {
		wg.Go(func() {
			m := curio(t, name)
			m.VanillaProofs = proofs
			got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m})
			if err != nil || got.GetResult().GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
				t.Errorf("partition %d: %v %v", k, got, err)
				return
			}
			if err := valid(t, "window-2KiB", name, k, got.GetResult().GetProof()); err != nil {
				t.Errorf("partition %d: %v", k, err)
			}
		})
	}
	wg.Wait()
}

// TestWrongRequests: an OK reply with status FAILED and what is wrong.
func TestWrongRequests(t *testing.T) {
	r := serve(t, options(t.TempDir()))
	for _, c := range []struct {
		request, want string
		change        func(m *cuzkv1.SubmitProofRequest)
	}{
		{"winning-2KiB", "bad-input: ", func(m *cuzkv1.SubmitProofRequest) { m.Randomness = nil }},
		{"winning-2KiB", "comm_r is", func(m *cuzkv1.SubmitProofRequest) { m.VanillaProofs[0][8] ^= 1 }},
		{"winning-2KiB", "not a winning PoSt", func(m *cuzkv1.SubmitProofRequest) { m.RegisteredProof = 13 }},
		{"winning-2KiB", "sector_size is 34359738368", func(m *cuzkv1.SubmitProofRequest) { m.SectorSize = 32 << 30 }},
		{"porep-2KiB-V1_1", "replica id", func(m *cuzkv1.SubmitProofRequest) { m.MinerId = 1000 }},
		{"porep-2KiB-V1_1", "phase-1 output", func(m *cuzkv1.SubmitProofRequest) { m.VanillaProof = m.VanillaProof[:5000] }},
		{"update-2KiB", "not a CID", func(m *cuzkv1.SubmitProofRequest) { m.CommDNew = make([]byte, 40) }},
		{"update-2KiB", "0 partition proofs", func(m *cuzkv1.SubmitProofRequest) { m.VanillaProofs = nil }},
	} {
		m := curio(t, c.request)
		c.change(m)
		got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m})
		if err != nil {
			t.Errorf("%s: %v", c.request, err)
			continue
		}
		a := got.GetResult()
		if a.GetStatus() != cuzkv1.AwaitProofResponse_FAILED || !strings.Contains(a.GetErrorMessage(), c.want) || !strings.HasPrefix(a.GetErrorMessage(), "bad-input: ") {
			t.Errorf("%s: %v %q, want %q", c.request, a.GetStatus(), a.GetErrorMessage(), c.want)
		}
	}
}

// TestMissingAndForbiddenKeys: the message says what to do.
func TestMissingAndForbiddenKeys(t *testing.T) {
	needKey(t, "window-2KiB")
	o := options(t.TempDir())
	o.ParamsDir = t.TempDir()
	message := func(o Options) string {
		r := serve(t, o)
		defer r.end()
		got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: curio(t, "window-2KiB-V1_2-2of2")})
		if err != nil || got.GetResult().GetStatus() != cuzkv1.AwaitProofResponse_FAILED {
			t.Fatalf("%v %v", got, err)
		}
		return got.GetResult().GetErrorMessage()
	}
	if m := message(o); !strings.HasPrefix(m, "no-key: ") || !strings.Contains(m, "cuzk params fetch") {
		t.Errorf("missing: %s", m)
	}
	o.StateDir, o.ParamsDir, o.Insecure = t.TempDir(), keyDir, false
	if m := message(o); !strings.HasPrefix(m, "no-key: ") || !strings.Contains(m, "--insecure") {
		t.Errorf("not permitted: %s", m)
	}
}

// TestTooLittleMemory: what can never fit is refused with the numbers.
func TestTooLittleMemory(t *testing.T) {
	o := options(t.TempDir())
	o.Host = 4 * budget.MiB
	r := serve(t, o)
	_, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: curio(t, "winning-2KiB")})
	if err == nil || !strings.Contains(err.Error(), "the limit is 4MiB") {
		t.Errorf("error %v", err)
	}
}

// stuck is a kind whose witnesses are never done.
type stuck struct{ engine.Kind }

func (s stuck) Open(ctx context.Context, r *job.Request) (engine.Opened, error) {
	o, err := s.Kind.Open(ctx, r)
	return stuckOpened{o}, err
}

type stuckOpened struct{ engine.Opened }

func (stuckOpened) Synthesise(ctx context.Context, _ int) (engine.Witness, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestUnfinishedJobIsFinishedOnce: the first daemon accepts jobs and gets
// nowhere; the second proves them, and a third still has the answers.
func TestUnfinishedJobIsFinishedOnce(t *testing.T) {
	needKey(t, "window-2KiB")
	const name = "window-2KiB-V1_2-2of2"
	o := options(t.TempDir())
	first := o
	first.Kinds = []engine.Kind{stuck{(&proofs{}).kinds()[2]}}
	first.Kinds[0].(stuck).Kind.(*proofKind).planner = &planner{cpu: cpu.New(cpu.Options{})}
	r := serveDraining(t, first, 0)
	a, err := r.client.SubmitProof(t.Context(), curio(t, name))
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 1)
	go func() {
		_, err := r.client.AwaitProof(t.Context(), &cuzkv1.AwaitProofRequest{JobId: a.GetJobId()})
		waiting <- err
	}()
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; status.Code(err) != codes.Unavailable {
		t.Fatalf("awaiting in a daemon that ends: %v", err)
	}

	var proof []byte
	for range 2 {
		r := serve(t, o)
		got, err := r.client.AwaitProof(t.Context(), &cuzkv1.AwaitProofRequest{JobId: a.GetJobId()})
		if err != nil || got.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
			t.Fatal(got, err)
		}
		if err := valid(t, "window-2KiB", name, 0, got.GetProof()); err != nil {
			t.Fatal(err)
		}
		if proof != nil && !bytes.Equal(proof, got.GetProof()) {
			t.Error("the job was proved twice")
		}
		proof = got.GetProof()
		if err := r.end(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLockedStateDir: the second daemon is told who has the directory.
func TestLockedStateDir(t *testing.T) {
	r := serve(t, options(t.TempDir()))
	_, err := Open(t.Context(), r.opt)
	if err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("error %v", err)
	}
}
