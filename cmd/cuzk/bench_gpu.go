package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/spf13/cobra"

	"cuzk/backend"
	"cuzk/backend/cpu"
	gpu "cuzk/backend/cuda"
	"cuzk/cuda"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/r1cs"
	"cuzk/srs"
)

type benchGPUFlags struct {
	device    string
	examples  []string
	samples   []string
	partition int
	runs      int
	memory    int64
	expect    string
	lanes     int
	works     int
	batch     int
	profile   bool
	powers    bool
	facts     bool
}

func newBenchGPUCmd() *cobra.Command {
	var f benchGPUFlags
	cmd := &cobra.Command{
		Use:   "gpu",
		Short: "Prove on a GPU, compare with the CPU, and time the stages",
		Long: `Gpu makes INSECURE keys from the published secrets and proves with fixed r and s.

Examples are the requests that ship with the program. Their key is made twice, on
the CPU and on the GPU, their proofs three times: by the CPU, by the GPU with
either key; all must be the same bytes. Samples are requests of full size with a
key made on the GPU alone; --expect names a folder of
what "cuzk bench direct" prints.`,
		Example: `  # small ones, against the CPU
  cuzk bench gpu --examples winning-2KiB,porep-2KiB-V1_1

  # a full partition, against the proof from the secrets
  cuzk bench direct --sample porep-32GiB > porep.hex
  cuzk bench gpu --samples porep-32GiB --expect porep.hex`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return benchGPU(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.device, "device", "", "`UUID` of the GPU (default: the first)")
	cmd.Flags().StringSliceVar(&f.examples, "examples", nil, "requests that ship with the program, for example winning-2KiB")
	cmd.Flags().StringSliceVar(&f.samples, "samples", nil, "circuits to prove with made-up requests, for example porep-32GiB")
	cmd.Flags().IntVar(&f.partition, "partition", 0, "`number` of the partition to prove")
	cmd.Flags().IntVar(&f.runs, "runs", 5, "timed proofs of each")
	cmd.Flags().Int64Var(&f.memory, "memory", 0, "`MiB` that may be used of the device (default: what is free)")
	cmd.Flags().StringVar(&f.expect, "expect", "", "`directory` with files CIRCUIT.hex, the proofs that the samples must give")
	cmd.Flags().IntVar(&f.lanes, "lanes", 0, "`streams` that share the work on one proof, 1 or 2 (default: 2 where memory permits)")
	cmd.Flags().IntVar(&f.works, "works", 1, "proofs that are worked on at a time")
	cmd.Flags().IntVar(&f.batch, "batch", 0, "also time so many proofs in one call")
	cmd.Flags().BoolVar(&f.facts, "facts", false, "print registers and memory of the prover's kernels")
	cmd.Flags().BoolVar(&f.profile, "profile", false, "also print device times inside the sums")
	cmd.Flags().BoolVar(&f.powers, "powers", false, "with the quotient in coefficients also where values would gain")
	return cmd
}

// gpuBench is one run of the command.
type gpuBench struct {
	u *ui
	f *benchGPUFlags
	b *gpu.Backend
	d *gpu.Device
}

func benchGPU(cmd *cobra.Command, f *benchGPUFlags) (err error) {
	u, ctx := newUI(cmd), cmd.Context()
	d, err := openDevice(f.device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	info := d.Info()
	u.note("%s %s, compute %d.%d, %d SMs, %d MiB", info.Name, info.UUID, info.Major, info.Minor, info.SMs, info.Memory>>20)
	o := gpu.Options{Memory: f.memory << 20, Lanes: f.lanes, Works: f.works}
	if f.powers {
		o.Values = gpu.ValuesNever
	}
	g := &gpuBench{u: u, f: f, d: d, b: gpu.New(d, o)}
	if err := g.selfTest(ctx); err != nil {
		return err
	}
	for _, name := range f.examples {
		if err := g.example(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, name := range f.samples {
		if err := g.sample(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := g.b.Close(); err != nil {
		return err
	}
	if left := d.Owner().Balance(); left != (cuda.Balance{}) {
		return fmt.Errorf("memory is left on the device: %+v", left)
	}
	u.note("everything allocated was released")
	return nil
}

// selfTest runs the device's and the prover's checks.
func (g *gpuBench) selfTest(ctx context.Context) error {
	list, err := g.d.SelfTest()
	if err != nil {
		return err
	}
	more, err := g.b.SelfTest(ctx)
	for _, c := range append(list, more...) {
		if c.Took > time.Second {
			g.u.note("self-test, %s: %v", c.Name, c.Took.Round(time.Millisecond))
		}
	}
	if err != nil {
		return err
	}
	g.u.note("self-test: %d checks passed", len(list)+len(more))
	if !g.f.facts {
		return nil
	}
	facts, err := g.d.Facts("rows", "select", "setup", "key", "values", "exponents")
	if err != nil {
		return err
	}
	rows := [][]string{{"kernel", "registers", "local bytes", "shared bytes"}}
	for _, f := range facts {
		rows = append(rows, []string{f.Kernel, fmt.Sprint(f.Registers), fmt.Sprint(f.Local), fmt.Sprint(f.Shared)})
	}
	return g.u.table(rows)
}

// planned prints a prover's plan and holds it to it.
func (g *gpuBench) planned(p backend.Prover) error {
	q, ok := p.(interface{ Plan() *gpu.Plan })
	if !ok {
		return nil
	}
	g.u.note("%s", q.Plan())
	if p.Bytes() > q.Plan().Total() {
		return fmt.Errorf("the prover holds %d bytes, planned were %d", p.Bytes(), q.Plan().Total())
	}
	return nil
}

// example compares CPU and GPU on one request.
func (g *gpuBench) example(ctx context.Context, name string) (err error) {
	s, err := newSubject(ctx, g.u, 0, func() (*kind.Job, error) { return exampleJob(name) })
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "cuzk-bench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	start := time.Now()
	if _, err := proving.MakeInsecureKey(ctx, dir, s.id, s.circuit, nil); err != nil {
		return err
	}
	key, err := srs.Open(ctx, dir, s.id.String(), srs.Options{Insecure: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, key.Close()) }()
	g.u.note("%s: key made on the CPU in %v", name, time.Since(start).Round(time.Millisecond))
	return g.compare(ctx, s, key)
}

// compare proves by the CPU and by the GPU with both keys.
func (g *gpuBench) compare(ctx context.Context, s *subject, key *srs.Key) error {
	host, err := cpu.New(cpu.Options{}).Load(ctx, s.circuit, key, nil)
	if err != nil {
		return err
	}
	want, err := s.prove(ctx, host, key.VK)
	if err != nil {
		return fmt.Errorf("by the CPU: %w", err)
	}
	start := time.Now()
	read, err := g.b.Load(ctx, s.circuit, key, nil)
	if err != nil {
		return err
	}
	g.u.note("%s: key on the device in %v", s.id, time.Since(start).Round(time.Millisecond))
	err = errors.Join(g.planned(read), g.same(ctx, s, read, key.VK, want), sameSums(ctx, s, host, read), g.time(ctx, s, read), read.Close())
	if err != nil {
		return fmt.Errorf("with the key from the CPU: %w", err)
	}
	own, vk, err := g.setup(ctx, s)
	if err != nil {
		return err
	}
	if !slices.Equal(vk.Encode(), key.VK.Encode()) {
		err = errors.New("the verifying key made on the GPU differs from the CPU's")
	}
	if err = errors.Join(err, g.same(ctx, s, own, vk, want), sameSums(ctx, s, host, own), own.Close(), host.Close()); err != nil {
		return fmt.Errorf("with the key from the GPU: %w", err)
	}
	return g.u.say("%s: proofs of CPU and GPU are the same bytes", s.id)
}

func (g *gpuBench) setup(ctx context.Context, s *subject) (backend.Prover, *srs.VerifyingKey, error) {
	secrets := gpu.Secrets(*groth16.InsecureSecrets())
	start := time.Now()
	p, vk, err := g.b.Setup(ctx, s.circuit, &secrets, func(stage string, done float64) {
		g.u.note("%s: setup, %s %.0f%%, %v", s.id, stage, 100*done, time.Since(start).Round(time.Millisecond))
	})
	return p, vk, err
}

// prove makes one proof with the fixed blinding; it is verified.
func (s *subject) prove(ctx context.Context, p backend.Prover, vk *srs.VerifyingKey) (*groth16.Result, error) {
	return groth16.Prove(ctx, p, vk, []*r1cs.Assignment{s.w}, benchBlinding, nil)
}

func (g *gpuBench) same(ctx context.Context, s *subject, p backend.Prover, vk *srs.VerifyingKey, want *groth16.Result) error {
	got, err := s.prove(ctx, p, vk)
	if err != nil {
		return err
	}
	if !slices.Equal(got.Proofs[0].Encode(), want.Proofs[0].Encode()) {
		return fmt.Errorf("proof of %s differs:\n%x\nwant\n%x", s.id, got.Proofs[0].Encode(), want.Proofs[0].Encode())
	}
	return nil
}

// sameSums compares assignments that satisfy nothing; on large circuits one, that
// meets every point.
func sameSums(ctx context.Context, s *subject, a, b backend.Prover) error {
	minusOne := fr.One()
	minusOne.Neg(&minusOne)
	list := []struct {
		name string
		bits uint64
		x    fr.Element
	}{{"minus ones", ^uint64(0), minusOne}, {"zeros", 0, fr.Element{}}, {"ones", ^uint64(0), fr.One()}, {"sevens", 0x5555555555555555, fr.NewElement(7)}}
	if s.circuit.Counts().Rows > 1<<20 {
		list = list[:1]
	}
	for _, c := range list {
		w := uniform(s.circuit.Counts(), c.bits, c.x)
		x, err := a.Sums(ctx, []*r1cs.Assignment{w}, nil)
		if err != nil {
			return err
		}
		y, err := b.Sums(ctx, []*r1cs.Assignment{w}, nil)
		if err != nil {
			return err
		}
		if x[0].H != y[0].H || x[0].L != y[0].L || x[0].A != y[0].A || x[0].B1 != y[0].B1 || x[0].B2 != y[0].B2 {
			return fmt.Errorf("sums of an assignment of %s differ", c.name)
		}
	}
	return nil
}

// uniform is an assignment of words of bits and of one element.
func uniform(n r1cs.Counts, bits uint64, x fr.Element) *r1cs.Assignment {
	w := r1cs.NewAssignment(n)
	for i := range w.Bits {
		w.Bits[i] = bits
	}
	if k := n.Bits % 64; k > 0 {
		w.Bits[len(w.Bits)-1] &= 1<<k - 1
	}
	for i := range w.Elements {
		w.Elements[i] = x
	}
	for i := 1; i < len(w.Inputs); i++ {
		w.Inputs[i] = x
	}
	return w
}

// sample proves at full size with a key made on the device.
func (g *gpuBench) sample(ctx context.Context, name string) error {
	s, err := newSubject(ctx, g.u, g.f.partition, func() (*kind.Job, error) { return sampleJob(name) })
	if err != nil {
		return err
	}
	p, vk, err := g.setup(ctx, s)
	if err != nil {
		return err
	}
	return errors.Join(g.planned(p), g.proveSample(ctx, s, p, vk), p.Close())
}

func (g *gpuBench) proveSample(ctx context.Context, s *subject, p backend.Prover, vk *srs.VerifyingKey) error {
	start := time.Now()
	got, err := s.prove(ctx, p, vk)
	if err != nil {
		return err
	}
	proof := got.Proofs[0].Encode()
	if err := g.u.say("%s: proof verified, %v\n%x", s.id, time.Since(start).Round(time.Millisecond), proof); err != nil {
		return err
	}
	if g.f.expect != "" {
		name := filepath.Join(g.f.expect, s.id.String()+".hex")
		text, err := os.ReadFile(name)
		if err != nil {
			return badInput(err)
		}
		if strings.TrimSpace(string(text)) != hex.EncodeToString(proof) {
			return fmt.Errorf("the proof is not the one in %s", name)
		}
		if err := g.u.say("%s: the proof is the one computed directly from the secrets", s.id); err != nil {
			return err
		}
	}
	return g.time(ctx, s, p)
}

// time prints medians of the stages.
func (g *gpuBench) time(ctx context.Context, s *subject, p backend.Prover) error {
	took := map[string][]time.Duration{}
	var order []string
	for range g.f.runs {
		start := time.Now()
		sums, err := p.Sums(ctx, []*r1cs.Assignment{s.w}, nil)
		if err != nil {
			return err
		}
		list := append(sums[0].Timings, backend.Timing{Stage: "total", Took: time.Since(start)})
		for _, t := range list {
			if took[t.Stage] == nil {
				order = append(order, t.Stage)
			}
			took[t.Stage] = append(took[t.Stage], t.Took)
		}
	}
	rows := [][]string{{"stage of " + s.id.String(), "median", "least", "most"}}
	for _, stage := range order {
		l := took[stage]
		slices.Sort(l)
		rows = append(rows, []string{stage, millis(l[len(l)/2]), millis(l[0]), millis(l[len(l)-1])})
	}
	err := g.u.table(rows)
	if err == nil && g.f.batch > 0 {
		err = g.batch(ctx, s, p)
	}
	if err == nil && g.f.profile {
		err = g.profiled(ctx, s, p)
	}
	return err
}

// batch times many proofs in one call.
func (g *gpuBench) batch(ctx context.Context, s *subject, p backend.Prover) error {
	ws := slices.Repeat([]*r1cs.Assignment{s.w}, g.f.batch)
	start := time.Now()
	sums, err := p.Sums(ctx, ws, nil)
	if err != nil {
		return err
	}
	took := time.Since(start)
	for i := range sums {
		if sums[i].H != sums[0].H || sums[i].L != sums[0].L || sums[i].A != sums[0].A || sums[i].B1 != sums[0].B1 || sums[i].B2 != sums[0].B2 {
			return fmt.Errorf("proof %d of a batch differs from the first", i)
		}
	}
	return g.u.say("%s: %d proofs in one call, %d at a time: %s, %s each", s.id, len(ws), g.f.works, millis(took), millis(took/time.Duration(len(ws))))
}

// profiled prints the device times of one more proof.
func (g *gpuBench) profiled(ctx context.Context, s *subject, p backend.Prover) error {
	q, ok := p.(interface {
		Profile()
		Profiled() ([2][]gpu.StageTime, error)
	})
	if !ok {
		return nil
	}
	q.Profile()
	if _, err := p.Sums(ctx, []*r1cs.Assignment{s.w}, nil); err != nil {
		return err
	}
	lanes, err := q.Profiled()
	if err != nil {
		return err
	}
	rows := [][]string{{"inside the sums", "lane", "times", "device time"}}
	for i, lane := range lanes {
		for _, t := range lane {
			rows = append(rows, []string{t.Stage, fmt.Sprint(i + 1), fmt.Sprint(t.Count), millis(t.Took)})
		}
	}
	return g.u.table(rows)
}

func millis(d time.Duration) string { return fmt.Sprintf("%.2f ms", float64(d.Microseconds())/1000) }
