package server_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"cuzk/api/cuzkv1"
	"cuzk/backend/fake"
	"cuzk/job"
)

// The requests below have the ids, fields and payload shapes that the storage
// software in the field sends, written from the facts of the contract.

func porep(miner, sector uint64, payload string) *cuzkv1.SubmitProofRequest {
	inner := base64.StdEncoding.EncodeToString([]byte(`{"registered_proof":"StackedDrg32GiBV1_1","vanilla_proofs":{}}` + payload))
	return &cuzkv1.SubmitProofRequest{
		RequestId: fmt.Sprintf("porep-%d-%d", miner, sector), ProofKind: cuzkv1.ProofKind_POREP_SEAL_COMMIT, SectorSize: 32 << 30,
		RegisteredProof: 8, Priority: cuzkv1.Priority_NORMAL, SectorNumber: sector, MinerId: miner,
		VanillaProof: fmt.Appendf(nil, `{"SectorNum":%d,"Phase1Out":"%s","SectorSize":34359738368}`, sector, inner),
	}
}

func snap(miner, sector uint64) *cuzkv1.SubmitProofRequest {
	r := &cuzkv1.SubmitProofRequest{ // without sector_size
		RequestId: fmt.Sprintf("snap-%d-%d", miner, sector), ProofKind: cuzkv1.ProofKind_SNAP_DEALS_UPDATE, RegisteredProof: 3,
		SectorNumber: sector, MinerId: miner, CommROld: bytes.Repeat([]byte{1}, 32), CommRNew: bytes.Repeat([]byte{2}, 32), CommDNew: bytes.Repeat([]byte{3}, 32),
	}
	for i := range 16 {
		r.VanillaProofs = append(r.VanillaProofs, bytes.Repeat([]byte{byte(i)}, 1000))
	}
	return r
}

func window(miner uint64, sectors int) *cuzkv1.SubmitProofRequest {
	rnd := bytes.Repeat([]byte{7}, 32)
	r := &cuzkv1.SubmitProofRequest{ // the index in the id is always 0
		RequestId: fmt.Sprintf("wdpost-%d-%d-%d", miner, 0, rnd[:8]), ProofKind: cuzkv1.ProofKind_WINDOW_POST_PARTITION, SectorSize: 32 << 30,
		RegisteredProof: 13, Priority: cuzkv1.Priority_HIGH, MinerId: miner, Randomness: rnd,
	}
	for i := range sectors {
		r.VanillaProofs = append(r.VanillaProofs, bytes.Repeat([]byte{byte(i)}, 500))
	}
	return r
}

func winning(miner uint64) *cuzkv1.SubmitProofRequest {
	rnd := bytes.Repeat([]byte{9}, 32)
	return &cuzkv1.SubmitProofRequest{
		RequestId: fmt.Sprintf("winpost-%d-%x", miner, rnd[:8]), ProofKind: cuzkv1.ProofKind_WINNING_POST, SectorSize: 32 << 30, RegisteredProof: 3,
		Priority: cuzkv1.Priority_CRITICAL, MinerId: miner, Randomness: rnd, VanillaProofs: [][]byte{bytes.Repeat([]byte{4}, 2000)},
	}
}

// content is what the fakes derive their proofs from.
func content(kind string, m *cuzkv1.SubmitProofRequest) *job.Request {
	return &job.Request{Kind: kind, SectorSize: m.SectorSize, RegisteredProof: m.RegisteredProof, SectorNumber: m.SectorNumber, MinerID: m.MinerId,
		PartitionIndex: m.PartitionIndex, VanillaProof: m.VanillaProof, VanillaProofs: m.VanillaProofs, Randomness: m.Randomness,
		CommROld: m.CommROld, CommRNew: m.CommRNew, CommDNew: m.CommDNew}
}

var kinds = map[cuzkv1.ProofKind]struct {
	name  string
	parts int
}{
	cuzkv1.ProofKind_POREP_SEAL_COMMIT: {"porep-c2", 10}, cuzkv1.ProofKind_SNAP_DEALS_UPDATE: {"snap-update", 16},
	cuzkv1.ProofKind_WINDOW_POST_PARTITION: {"window-post", 1}, cuzkv1.ProofKind_WINNING_POST: {"winning-post", 1},
}

// prove makes the one call that the field makes, and holds its reply to the
// contract.
func prove(t testing.TB, ctx context.Context, c cuzkv1.ProvingEngineClient, m *cuzkv1.SubmitProofRequest) *cuzkv1.AwaitProofResponse {
	t.Helper()
	resp, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: m})
	if err != nil {
		t.Fatal(err)
	}
	r, k := resp.GetResult(), kinds[m.ProofKind]
	if r.GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED || !fake.Valid(content(k.name, m), k.parts, r.GetProof()) {
		t.Fatalf("%s: status %v, %d bytes, %s", m.RequestId, r.GetStatus(), len(r.GetProof()), r.GetErrorMessage())
	}
	return r
}

func TestProvesWhatTheFieldSends(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	var wg sync.WaitGroup
	for _, m := range []*cuzkv1.SubmitProofRequest{porep(1000, 1, ""), snap(1000, 1), window(1000, 5), winning(1000)} {
		wg.Go(func() {
			r := prove(t, d.ctx(), c, m)
			if r.TotalMs == 0 || r.GpuComputeMs == 0 || r.JobId == "" || r.ErrorMessage != "" {
				t.Errorf("%s: %v", m.RequestId, r)
			}
		})
	}
	wg.Wait()
}

func TestIdenticalWindowIDsAreTwoJobs(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	a, b := window(1000, 5), window(1000, 6)
	if a.RequestId != b.RequestId {
		t.Fatal("the quirk is gone")
	}
	var wg sync.WaitGroup
	for _, m := range []*cuzkv1.SubmitProofRequest{a, b} {
		wg.Go(func() { prove(t, d.ctx(), c, m) })
	}
	wg.Wait()
}

func TestRetriesJoin(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	var wg sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		wg.Go(func() { ids[i] = prove(t, d.ctx(), c, porep(1000, 2, "")).JobId })
	}
	wg.Wait()
	if ids[3] = prove(t, d.ctx(), c, porep(1000, 2, "")).JobId; ids[0] != ids[1] || ids[0] != ids[2] || ids[0] != ids[3] {
		t.Fatalf("jobs %v", ids)
	}
	if n := d.devices[0].Proofs() + d.devices[1].Proofs(); n != 10 {
		t.Fatalf("%d proofs for one job of ten partitions", n)
	}
}

func TestCallerWhoLeavesFindsItsProof(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	ctx, leave := context.WithTimeout(d.ctx(), 50*time.Millisecond)
	defer leave()
	if _, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: porep(1000, 3, "")}); status.Code(err) != codes.DeadlineExceeded {
		t.Fatalf("got %v", err)
	}
	prove(t, d.ctx(), c, porep(1000, 3, ""))
	if n := d.devices[0].Proofs() + d.devices[1].Proofs(); n != 10 {
		t.Fatalf("%d proofs", n)
	}
}

func TestCallerWhoLeavesCancels(t *testing.T) {
	d := boot(t, func(d *daemon) { d.cfg.CancelOnLeave = true })
	c := d.dial()
	ctx, leave := context.WithCancel(d.ctx())
	m := porep(1000, 3, "")
	m.VanillaProof = []byte("fake: prove=1h")
	go func() {
		for d.devices[0].Proofs()+d.devices[1].Proofs() == 0 {
			time.Sleep(time.Millisecond)
		}
		leave()
	}()
	_, err := c.Prove(ctx, &cuzkv1.ProveRequest{Submit: m})
	if status.Code(err) != codes.Canceled {
		t.Fatalf("got %v", err)
	}
	for {
		js, err := d.store.Recent(d.ctx(), 1)
		d.must(err)
		if len(js) == 1 && js[0].State == job.Cancelled {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFailedProofIsAnOKReply(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	m := porep(1000, 4, "")
	m.VanillaProof = []byte("fake: bad")
	var trailer metadata.MD
	resp, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{Submit: m}, grpc.Trailer(&trailer))
	r := resp.GetResult()
	if err != nil || r.GetStatus() != cuzkv1.AwaitProofResponse_FAILED || len(r.GetProof()) != 0 {
		t.Fatalf("%v, %v", r, err)
	}
	if want := "bad-input: decode request: field vanilla_proof: told to be bad"; r.GetErrorMessage() != want {
		t.Errorf("message %q, want %q", r.GetErrorMessage(), want)
	}
	if f := trailer.Get("cuzk-failure"); len(f) != 1 || f[0] != "bad-input" {
		t.Errorf("trailer %v", trailer)
	}
}

func TestRefusalsAreStatuses(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	if _, err := c.Prove(d.ctx(), &cuzkv1.ProveRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no submit: %v", err)
	}
	for _, k := range []cuzkv1.ProofKind{0, 5, -1} {
		if _, err := c.SubmitProof(d.ctx(), &cuzkv1.SubmitProofRequest{ProofKind: k}); status.Code(err) != codes.InvalidArgument {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	if _, err := c.AwaitProof(d.ctx(), &cuzkv1.AwaitProofRequest{JobId: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("await: %v", err)
	}
	if _, err := c.CancelProof(d.ctx(), &cuzkv1.CancelProofRequest{JobId: "nobody"}); status.Code(err) != codes.NotFound {
		t.Errorf("cancel: %v", err)
	}
	if _, err := c.PreloadSRS(d.ctx(), &cuzkv1.PreloadSrsRequest{CircuitId: "nothing"}); status.Code(err) != codes.NotFound {
		t.Errorf("preload: %v", err)
	}
}

func TestSubmitAwaitCancel(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	m := porep(1000, 5, "")
	m.VanillaProof = []byte("fake: prove=1h")
	s, err := c.SubmitProof(d.ctx(), m)
	d.must(err)
	r, err := c.AwaitProof(d.ctx(), &cuzkv1.AwaitProofRequest{JobId: s.GetJobId(), TimeoutMs: 30})
	if err != nil || r.GetStatus() != cuzkv1.AwaitProofResponse_TIMEOUT {
		t.Fatalf("await with timeout: %v, %v", r, err)
	}
	for want := range map[bool]bool{true: true} {
		got, err := c.CancelProof(d.ctx(), &cuzkv1.CancelProofRequest{JobId: s.GetJobId()})
		if err != nil || got.GetWasRunning() != want {
			t.Fatalf("cancel: %v, %v", got, err)
		}
	}
	if r, err = c.AwaitProof(d.ctx(), &cuzkv1.AwaitProofRequest{JobId: s.GetJobId()}); err != nil || r.GetStatus() != cuzkv1.AwaitProofResponse_CANCELLED {
		t.Fatalf("await after cancel: %v, %v", r, err)
	}
	got, err := c.CancelProof(d.ctx(), &cuzkv1.CancelProofRequest{JobId: s.GetJobId()})
	if err != nil || got.GetWasRunning() {
		t.Fatalf("cancel twice: %v, %v", got, err)
	}
}

func TestPriorityZeroIsTheKindsOwn(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	for k, want := range map[cuzkv1.ProofKind]job.Class{1: job.Normal, 2: job.Normal, 3: job.High, 4: job.Critical} {
		m := &cuzkv1.SubmitProofRequest{ProofKind: k}
		s, err := c.SubmitProof(d.ctx(), m)
		d.must(err)
		if j, err := d.store.Get(d.ctx(), s.GetJobId()); err != nil || j.Class != want {
			t.Errorf("kind %v has class %v, %v", k, j.Class, err)
		}
	}
	s, err := c.SubmitProof(d.ctx(), &cuzkv1.SubmitProofRequest{ProofKind: 4, Priority: 77})
	d.must(err)
	if j, err := d.store.Get(d.ctx(), s.GetJobId()); err != nil || j.Class != job.Normal {
		t.Errorf("an unknown priority is class %v, %v", j.Class, err)
	}
}

func TestKeysAreLoadedAndEvicted(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	p, err := c.PreloadSRS(d.ctx(), &cuzkv1.PreloadSrsRequest{CircuitId: "winning-32g"})
	if err != nil || p.GetAlreadyLoaded() {
		t.Fatalf("preload: %v, %v", p, err)
	}
	if p, err = c.PreloadSRS(d.ctx(), &cuzkv1.PreloadSrsRequest{CircuitId: "winning-32g"}); err != nil || !p.GetAlreadyLoaded() {
		t.Fatalf("again: %v, %v", p, err)
	}
	st, err := c.GetStatus(d.ctx(), &cuzkv1.GetStatusRequest{})
	d.must(err)
	tiers := map[string]cuzkv1.SRSStatus_Tier{}
	for _, k := range st.GetLoadedSrs() {
		tiers[k.GetCircuitId()] = k.GetTier()
	}
	if tiers["winning-32g"] != cuzkv1.SRSStatus_HOT || tiers["porep-32g"] != cuzkv1.SRSStatus_COLD {
		t.Errorf("tiers %v", tiers)
	}
	e, err := c.EvictSRS(d.ctx(), &cuzkv1.EvictSrsRequest{CircuitId: "winning-32g"})
	if err != nil || !e.GetWasLoaded() || e.GetFreedBytes() == 0 {
		t.Fatalf("evict: %v, %v", e, err)
	}
}

func TestStatusAnswersUnderFullLoad(t *testing.T) {
	d := boot(t, nil)
	c := d.dial()
	for i := range 200 {
		m := porep(1000, uint64(i), "")
		_, err := c.SubmitProof(d.ctx(), m)
		d.must(err)
	}
	worst := time.Duration(0)
	for range 50 {
		ctx, cancel := context.WithTimeout(d.ctx(), 5*time.Second)
		start := time.Now()
		st, err := c.GetStatus(ctx, &cuzkv1.GetStatusRequest{})
		cancel()
		d.must(err)
		worst = max(worst, time.Since(start))
		if len(st.GetGpus()) != 3 || st.GetGpus()[0].GetName() == st.GetGpus()[1].GetName() {
			t.Fatalf("not one row a device: %v", st.GetGpus())
		}
		var jobs uint32
		for _, q := range st.GetQueues() {
			jobs += q.GetPending() + q.GetInProgress()
		}
		if n := uint64(jobs) + st.GetTotalProofsCompleted(); n != 200 {
			t.Fatalf("%d jobs in the status", n)
		}
		if st.GetPinnedMemoryLimitBytes() != 8<<30 {
			t.Fatalf("pinned limit %d", st.GetPinnedMemoryLimitBytes())
		}
	}
	t.Logf("the slowest of 50 answers took %v", worst)
	if st, _ := c.GetStatus(d.ctx(), &cuzkv1.GetStatusRequest{}); st.GetGpus()[1].GetCurrentJobId() == "" || st.GetGpus()[1].GetCurrentProofKind() != "porep-c2" {
		t.Errorf("a busy device's row: %v", st.GetGpus()[1])
	}
}

func TestHealthAndReflection(t *testing.T) {
	d := boot(t, nil)
	conn := d.conn()
	h, err := healthpb.NewHealthClient(conn).Check(d.ctx(), &healthpb.HealthCheckRequest{Service: "cuzk.v1.ProvingEngine"})
	if err != nil || h.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Fatalf("health: %v, %v", h, err)
	}
	s, err := reflectionpb.NewServerReflectionClient(conn).ServerReflectionInfo(d.ctx())
	d.must(err)
	ask := func(r *reflectionpb.ServerReflectionRequest) string {
		d.must(s.Send(r))
		m, err := s.Recv()
		d.must(err)
		return m.String()
	}
	list := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}})
	file := ask(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "cuzk.v1.ProvingEngine.Prove"}})
	if !strings.Contains(list, "cuzk.v1.ProvingEngine") || !strings.Contains(file, "SubmitProofRequest") {
		t.Fatalf("reflection: %s; %s", list, file)
	}
}
