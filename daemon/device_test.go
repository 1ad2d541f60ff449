package daemon

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/api/cuzkv1"
	"cuzk/backend"
	"cuzk/backend/cpu"
	"cuzk/budget"
	"cuzk/engine"
	"cuzk/engine/sched"
	"cuzk/job"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// card is an accelerator that computes on the processor, and lies if told to.
type card struct {
	backend.Backend
	lie    bool
	before func(ctx context.Context) error // of each proof; nil: nothing
	loads  atomic.Int32
}

func (c *card) Load(ctx context.Context, circuit *r1cs.Compiled, key *srs.Key, progress func(float64)) (backend.Prover, error) {
	c.loads.Add(1)
	p, err := c.Backend.Load(ctx, circuit, key, progress)
	return &cardProver{p, c}, err
}

type cardProver struct {
	backend.Prover
	card *card
}

func (p *cardProver) Sums(ctx context.Context, w []*r1cs.Assignment, progress func(string, float64)) ([]backend.Sums, error) {
	if p.card.before != nil {
		if err := p.card.before(ctx); err != nil {
			return nil, err
		}
	}
	out, err := p.Prover.Sums(ctx, w, progress)
	if p.card.lie && err == nil {
		var two bls12381.G1Affine
		two.Add(&out[0].H, &out[0].H)
		out[0].H = two
	}
	return out, err
}

func (c *card) accelerator(id string, memory budget.Bytes) Accelerator {
	return Accelerator{Device: sched.Device{ID: id, Name: "test card", Slots: 1, Memory: memory}, Backend: c,
		Need: func(srs.ID, r1cs.Counts, srs.Shape) budget.Placement {
			return budget.Placement{Able: true, Key: budget.Need{Device: budget.GiB}}
		}}
}

// states are the devices' states by id.
func (r *running) states(t *testing.T) map[string]sched.DeviceState {
	st, err := r.Engine.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]sched.DeviceState{}
	for _, d := range st.Devices {
		out[d.ID] = d.State
	}
	return out
}

// TestLyingDevice: a wrong proof is found, the device quarantined, and the
// partition proved on the processor.
func TestLyingDevice(t *testing.T) {
	needKey(t, "window-2KiB")
	o := options(t.TempDir())
	liar := &card{Backend: cpu.New(cpu.Options{}), lie: true}
	o.Accelerators = []Accelerator{liar.accelerator("GPU-liar", 2*budget.GiB)}
	r := serve(t, o)
	r.prove(t, "window-2KiB", "window-2KiB-V1_2-2of2")
	if s := r.states(t); s["GPU-liar"] != sched.Quarantined || s["cpu"] != sched.InService {
		t.Errorf("devices are %v", s)
	}
}

// TestSmallDevice: a key that does not fit on the card is proved on the
// processor; with the processor forbidden, the request is refused with the
// numbers.
func TestSmallDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("several proofs: seconds")
	}
	needKey(t, "window-2KiB")
	o := options(t.TempDir())
	o.Accelerators = []Accelerator{(&card{Backend: cpu.New(cpu.Options{})}).accelerator("GPU-small", 512*budget.MiB)}
	r := serve(t, o)
	r.prove(t, "window-2KiB", "window-2KiB-V1_2-2of2")
	if err := r.end(); err != nil {
		t.Fatal(err)
	}
	o.StateDir, o.Sched.CPU = t.TempDir(), sched.CPUNever
	r = serve(t, o)
	_, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: curio(t, "window-2KiB-V1_2-2of2")})
	if err == nil || !strings.Contains(err.Error(), "needs 1GiB of memory of device GPU-small, the limit is 512MiB") {
		t.Errorf("error %v", err)
	}
}

// TestKeyChangesWhileLoaded: a file that was written to is loaded anew; one that
// was damaged fails its jobs with what to do, and a good one in its place works
// again.
func TestKeyChangesWhileLoaded(t *testing.T) {
	if testing.Short() {
		t.Skip("several proofs: seconds")
	}
	needKey(t, "window-2KiB")
	dir := t.TempDir()
	name := srs.ID{Family: srs.Window, Size: 2048}.InsecureFileName(srs.Params)
	good, err := os.ReadFile(filepath.Join(keyDir, name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	write := func(b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o644); err != nil { // into the file that is mapped
			t.Fatal(err)
		}
	}
	write(good)
	o := options(t.TempDir())
	o.ParamsDir = dir
	r := serve(t, o)
	r.prove(t, "window-2KiB", "window-2KiB-V1_2-2of2")
	write(good)
	r.prove(t, "window-2KiB", "window-2KiB-V1-1of2")
	write(good[:len(good)/2])
	m := curio(t, "window-2KiB-V1_2-2of2")
	m.RequestId += " again"
	got, err := r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m})
	if m := got.GetResult().GetErrorMessage(); err != nil || !strings.HasPrefix(m, "no-key: ") || !strings.Contains(m, "cuzk params check") {
		t.Errorf("truncated: %q %v", m, err)
	}
	write(good)
	got, err = r.client.Prove(t.Context(), &cuzkv1.ProveRequest{Submit: m}) // a failed job is not joined
	if err != nil || got.GetResult().GetStatus() != cuzkv1.AwaitProofResponse_COMPLETED {
		t.Errorf("whole again: %v %v", got.GetResult().GetErrorMessage(), err)
	}
}

// built is a kind with all that it needs, without an engine.
func built(t *testing.T, o Options) (*proofs, *device) {
	o.Log = slog.New(slog.DiscardHandler)
	b := cpu.New(cpu.Options{})
	plan := &planner{cpu: b}
	p := &proofs{circuits: newCircuits(o.CircuitDir, o.Log), planner: plan, keys: newKeys(o, plan, "")}
	d := p.cpuDevice(b)
	t.Cleanup(d.Close)
	return p, d
}

func (p *proofs) witness(t *testing.T, name string) (engine.Plan, *witness) {
	t.Helper()
	m := curio(t, name)
	w := kind.Wires()[m.GetProofKind()-1]
	r := &job.Request{Kind: w.Name, SectorSize: m.SectorSize, RegisteredProof: m.RegisteredProof, MinerID: m.MinerId, SectorNumber: m.SectorNumber,
		VanillaProof: m.VanillaProof, VanillaProofs: m.VanillaProofs, Randomness: m.Randomness, CommROld: m.CommROld, CommRNew: m.CommRNew, CommDNew: m.CommDNew}
	k := &proofKind{wire: w, proofs: p}
	open, err := k.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	made, err := open.Synthesise(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return open.Plan(), made.(*witness)
}

func noted(string, time.Duration) func() { return func() {} }

// TestBlame: a proof of a witness that does not satisfy the circuit is the
// request's fault and names the row; a wrong proof of a good witness is the
// device's.
func TestBlame(t *testing.T) {
	needKey(t, "window-2KiB")
	p, d := built(t, options(t.TempDir()))
	plan, w := p.witness(t, "window-2KiB-V1_2-2of2")
	if err := d.Load(t.Context(), plan.Key, nil); err != nil {
		t.Fatal(err)
	}
	prove := func() []byte {
		t.Helper()
		proof, err := d.Prove(t.Context(), plan.Key, w, noted)
		if err != nil {
			t.Fatal(err)
		}
		return proof
	}
	good := prove()
	if err := w.Check(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]byte{nil, good[:191], bytes.Repeat([]byte{0xc0}, 192), append(good[144:192:192], good[48:]...)} {
		err := w.Check(t.Context(), bad)
		var class interface{ Failure() job.Failure }
		if err == nil || errors.As(err, &class) || !strings.Contains(err.Error(), "the witness satisfies circuit window-2KiB") {
			t.Errorf("bad proof: %v", err)
		}
	}
	w.values.Elements[1000].SetOne()
	err := w.Check(t.Context(), prove())
	var class interface{ Failure() job.Failure }
	if !errors.As(err, &class) || class.Failure() != job.Unsatisfied || !strings.Contains(err.Error(), "constraint ") {
		t.Errorf("bad witness: %v", err)
	}
}

// TestEstimatesHold compares what is known beforehand with what is taken.
func TestEstimatesHold(t *testing.T) {
	needKey(t, "window-2KiB")
	p, d := built(t, options(t.TempDir()))
	for _, name := range []string{"porep-2KiB-V1_1", "update-2KiB", "winning-2KiB", "window-2KiB-V1_2-2of2"} {
		plan, w := p.witness(t, name)
		if w.Bytes() != plan.Work.Witness {
			t.Errorf("%s: witness takes %v, planned %v", name, w.Bytes(), plan.Work.Witness)
		}
		work, err := d.backend.(*cpu.Backend).WorkBytes(w.circuit)
		if err != nil || budget.Bytes(work) != plan.Work.CPU.Prove.Host {
			t.Errorf("%s: work takes %d, planned %v, %v", name, work, plan.Work.CPU.Prove.Host, err)
		}
	}
	if err := d.Load(t.Context(), "wpost-2k", nil); err != nil {
		t.Fatal(err)
	}
	id := srs.ID{Family: srs.Window, Size: 2048}
	e, _ := kind.Lookup(id)
	planned := d.backend.(*cpu.Backend).KeyBytes(e.Counts, id.Shape())
	if got := d.loaded["wpost-2k"].prover.Bytes(); got > planned || got < planned/2 {
		t.Errorf("key takes %d bytes, planned %d", got, planned)
	}
}
