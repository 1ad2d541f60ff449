package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"cuzk/backend"
	"cuzk/backend/cpu"
	gpu "cuzk/backend/cuda"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/r1cs"
	"cuzk/sector"
	"cuzk/srs"
)

type benchFullFlags struct {
	kind, size string
	device     string
	cpu        bool
	memory     int64
	works      int
	making     int
	runs       int
	check      string
	json       bool
}

// benchKinds are the kinds of proofs by the words that mean them.
var benchKinds = map[string]string{"porep": "porep", "snap": "update", "update": "update", "winning": "winning", "window": "window"}

func newBenchFullCmd() *cobra.Command {
	var f benchFullFlags
	cmd := &cobra.Command{
		Use:   "full",
		Short: "Prove a whole made-up request on a GPU, check it in every way, and time it",
		Long: `Full makes everything that it needs in place: the compiled circuit, a request (as
"cuzk sample" makes them), and on the GPU an INSECURE key, which is never saved.
Then it proves all partitions as the daemon does, the witnesses of the next ones
ahead of the GPU.

What is checked:
  - each proof by pairing, as soon as it is made
  - all proofs as one, from their bytes and the public inputs of the statement, as
    the chain does
  - each proof, byte for byte, against the one that the published secrets of the
    key give without key, transforms or sums over points (--check)

What is timed: each stage of each partition, and the whole from the decoded request
to the last verified proof, the check of the vanilla proofs and the making of
witnesses included. Memory of the host is the most that the process held
resident, in all and without the request; memory that the driver pinned may not be
in it and has a line of its own.

The comparison keeps 32 bytes a constraint in the host's memory, 4.2 GB for
porep-32GiB, and takes about 20 s of a core for each of its partitions.`,
		Example: `  # ten partitions of a 32 GiB PoRep
  cuzk bench full --kind porep --size 32GiB

  # a full WindowPoSt partition of 2,349 sectors, three times
  cuzk bench full --kind window --size 32GiB --runs 3 --json

  # as a card of 24 GiB proves it, the key streamed
  cuzk bench full --kind porep --size 32GiB --memory 24000

  # without a GPU
  cuzk bench full --kind winning --size 2KiB --cpu`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error { return benchFull(cmd, &f) },
	}
	fl := cmd.Flags()
	fl.StringVar(&f.kind, "kind", "porep", "`kind` of proof: porep, snap (or update), winning or window")
	fl.StringVar(&f.size, "size", "32GiB", "sector `size`, for example 2KiB, 8MiB, 32GiB")
	fl.StringVar(&f.device, "device", "", "`UUID` of the GPU (default: the first)")
	fl.BoolVar(&f.cpu, "cpu", false, "prove on the processor, with a key in a temporary directory; for small sizes")
	fl.Int64Var(&f.memory, "memory", 0, "`MiB` that may be used of the device (default: what is free)")
	fl.IntVar(&f.works, "works", 2, "`partitions` that the device works on at a time, if they fit")
	fl.IntVar(&f.making, "making", 3, "`witnesses` made at a time")
	fl.IntVar(&f.runs, "runs", 1, "`times` that all partitions are proved")
	fl.StringVar(&f.check, "check", "all", "`partitions` compared with the secrets' proof: all, first or none")
	fl.BoolVar(&f.json, "json", false, "print JSON")
	for flag, values := range map[string][]string{"kind": {"porep", "snap", "winning", "window"}, "check": {"all", "first", "none"}, "size": {"2KiB", "8MiB", "512MiB", "32GiB", "64GiB"}} {
		_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

// circuit is the circuit that kind and size mean.
func (f *benchFullFlags) circuit() (srs.ID, error) {
	family, ok := benchKinds[f.kind]
	if !ok {
		return srs.ID{}, usageError("--kind is porep, snap, winning or window, not %q", f.kind)
	}
	size, err := sector.Parse(f.size)
	if err != nil {
		return srs.ID{}, usageError("--size: %v", err)
	}
	if f.runs < 1 || f.works < 1 || f.making < 1 {
		return srs.ID{}, usageError("--runs, --works and --making are at least 1")
	}
	if f.check != "all" && f.check != "first" && f.check != "none" {
		return srs.ID{}, usageError("--check is all, first or none, not %q", f.check)
	}
	id, err := srs.ParseID(fmt.Sprintf("%s-%s", family, size))
	if err != nil {
		return id, usageError("%v", err)
	}
	return id, nil
}

// fullBench is one run of the command.
type fullBench struct {
	u       *ui
	f       *benchFullFlags
	r       *fullReport
	id      srs.ID
	job     *kind.Job
	circuit *r1cs.Compiled
	vk      *srs.VerifyingKey
	prover  backend.Prover
	round   int          // partitions that are proved in one call
	pinned  func() int64 // host memory that the device reads, now
	close   func() error
}

func benchFull(cmd *cobra.Command, f *benchFullFlags) error {
	id, err := f.circuit()
	if err != nil {
		return err
	}
	b := &fullBench{u: newUI(cmd), f: f, id: id, r: newFullReport(id, f), round: 1}
	err = b.run(cmd.Context())
	b.u.done()
	if err != nil {
		return err
	}
	return b.r.say(b.u, f.json)
}

// run goes through all steps.
func (b *fullBench) run(ctx context.Context) (err error) {
	if err := b.prepare(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.free()) }()
	if err := b.openKey(ctx); err != nil {
		return err
	}
	b.r.KeyPeak = peakMemory()
	forgetPeak()
	for run := range b.f.runs {
		if err := b.proveAll(ctx, run); err != nil {
			return err
		}
	}
	b.r.ProvePeak = peakMemory()
	if err := b.verify(); err != nil {
		return err
	}
	b.r.ProverBytes = b.prover.Bytes()
	if b.pinned != nil {
		b.r.Pinned = b.pinned()
	}
	if err := b.free(); err != nil {
		return err
	}
	return b.compare(ctx)
}

// step notes how long something took.
func (b *fullBench) step(name string, begun time.Time) {
	b.u.done()
	d := time.Since(begun)
	b.r.Steps = append(b.r.Steps, fullStep{name, d.Seconds()})
	b.u.note("%s: %s, %s", b.id, name, took(d))
}

// prepare makes the request and the circuit.
func (b *fullBench) prepare(ctx context.Context) (err error) {
	begun, before := time.Now(), heapInUse()
	b.u.show("making a request of "+b.id.String(), "")
	if b.job, err = sampleJob(b.id.String()); err != nil {
		return err
	}
	b.r.Partitions = len(b.job.Partitions)
	// Memory for more at a time would be taken from the lanes of one.
	b.f.works = min(b.f.works, b.r.Partitions)
	b.r.Works = b.f.works
	b.r.RequestBytes = max(heapInUse()-before, 0)
	b.step("request made", begun)
	begun = time.Now()
	blank, err := kind.Blank(b.id)
	if err == nil {
		b.circuit, err = r1cs.Compile(blank)
	}
	b.step("circuit compiled", begun)
	return err
}

// openKey makes the key and loads it.
func (b *fullBench) openKey(ctx context.Context) error {
	if b.f.cpu {
		return b.openCPU(ctx)
	}
	d, err := openDevice(b.f.device)
	if err != nil {
		return err
	}
	back := gpu.New(d, gpu.Options{Memory: b.f.memory << 20, Works: b.f.works})
	b.close = func() error { return errors.Join(back.Close(), d.Close()) }
	b.pinned = func() int64 { return d.Owner().Balance().PinnedBytes }
	b.r.Machine.card(d.Info())
	begun := time.Now()
	b.u.show("loading the kernels", "")
	if err := back.LoadAll(); err != nil {
		return err
	}
	b.step("kernels loaded", begun)
	begun = time.Now()
	b.u.note("INSECURE key of %s on %s, %s: for this run only", b.id, d.Info().Name, d.Info().UUID)
	secrets := gpu.Secrets(*groth16.InsecureSecrets())
	b.prover, b.vk, err = back.Setup(ctx, b.circuit, &secrets, func(stage string, done float64) { b.u.share("key, "+stage, done) })
	if err != nil {
		return err
	}
	b.step("key made", begun)
	if p, ok := b.prover.(interface{ Plan() *gpu.Plan }); ok {
		plan := p.Plan()
		b.r.Plan, _ = planOf(plan, nil)
		if plan.Slice > 0 {
			b.round = plan.Round
		}
	}
	return nil
}

// openCPU makes the key on the processor, in a directory that is gone afterwards.
func (b *fullBench) openCPU(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "cuzk-bench")
	if err != nil {
		return err
	}
	b.close = func() error { return os.RemoveAll(dir) }
	begun := time.Now()
	key, err := b.makeKey(ctx, dir)
	if err != nil {
		return err
	}
	b.step("key made", begun)
	b.close = func() error { return errors.Join(key.Close(), os.RemoveAll(dir)) }
	b.vk = key.VK
	b.prover, err = cpu.New(cpu.Options{}).Load(ctx, b.circuit, key, nil)
	return err
}

func (b *fullBench) makeKey(ctx context.Context, dir string) (*srs.Key, error) {
	progress := func(section string, done, total int) {
		b.u.share("key, "+section, float64(done)/float64(max(total, 1)))
	}
	if _, err := proving.MakeInsecureKey(ctx, dir, b.id, b.circuit, progress); err != nil {
		return nil, err
	}
	return srs.Open(ctx, dir, b.id.String(), srs.Options{Insecure: true})
}

// free gives everything back before the end, so that checks have the memory.
func (b *fullBench) free() (err error) {
	if b.prover != nil {
		err = b.prover.Close()
	}
	if b.close != nil {
		err = errors.Join(err, b.close())
	}
	b.prover, b.close = nil, nil
	return err
}

// heapInUse is what the program's own memory holds after a collection.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
