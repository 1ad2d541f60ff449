package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"cuzk/backend"
	gpu "cuzk/backend/cuda"
	"cuzk/backend/values"
	"cuzk/budget"
	"cuzk/r1cs"
	"cuzk/srs"
)

type prepareFlags struct {
	keys     keyFlags
	circuits circuitFlag
	device   string
	force    bool
	json     bool
}

func newParamsPrepareCmd() *cobra.Command {
	var f prepareFlags
	cmd := &cobra.Command{
		Use:   "prepare CIRCUIT",
		Short: "Make a second form of a key, for faster proofs on a GPU",
		Long: `Prepare computes from a key two lists of points that take the place of its list
h on GPUs that hold the whole key. A proof then multiplies as many points as the
circuit has rows, not as its domain has places, and those of rows that are bits
are only added up. Update circuits (SnapDeals) gain most, since they fill 60% of
their domain, nearly all with bits: a proof of update-32GiB takes 30% less time on
an H200. PoRep circuits gain less. Of one that gains nothing, prepare says so.

It is done once for a key, without its secrets, so for published keys too. The
lists go to NAME.values beside NAME.params: 15.6 GB for update-32GiB. Before the
file gets its name, sums over the new lists are compared with sums over h for
random values. Whatever proves on this machine then uses the file by itself;
without it, or on smaller GPUs, the key is used as before. To go back, remove it.

update-32GiB takes about eight minutes on an H200. For each place of the domain
it needs 288 bytes of the GPU and 180 bytes of the machine: for 2^27 places 40 GB
and 24 GB. Stopping it leaves nothing behind.`,
		Example: `  # on the first GPU, or on the one that is named
  cuzk params prepare update-32GiB
  cuzk params prepare update-32GiB --device=GPU-1234

  # is it there, and whole?
  cuzk params list update-32GiB
  cuzk params check update-32GiB`,
		Args:              f.args,
		ValidArgsFunction: completeCircuits(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return prepare(cmd, &f, args[0]) },
	}
	f.keys.register(cmd)
	f.keys.registerInsecure(cmd)
	f.circuits.register(cmd)
	registerDevice(cmd, &f.device, "work on the GPU with this `UUID` in place of the first")
	cmd.Flags().BoolVar(&f.force, "force", false, "make the file even if a good one is there, or nothing is gained by it")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

func (f *prepareFlags) args(cmd *cobra.Command, args []string) error {
	return (&setupFlags{device: f.device}).args(cmd, args)
}

// prepareReport is the JSON form of what prepare did.
type prepareReport struct {
	Circuit  string  `json:"circuit"`
	Insecure bool    `json:"insecure"`
	File     string  `json:"file"`
	Bytes    int64   `json:"bytes"`
	Made     bool    `json:"made"`             // false if it was there
	Device   string  `json:"device,omitempty"` // UUID
	Convert  float64 `json:"convert_seconds"`
	Check    float64 `json:"check_seconds"`
	Seconds  float64 `json:"seconds"`
}

// preparation is one run of prepare.
type preparation struct {
	cmd    *cobra.Command
	u      *ui
	f      *prepareFlags
	key    *srs.Key
	form   *values.Form
	rows   int
	sample *sampling
	report prepareReport
}

// sampling makes the numbers of the check while the GPU still makes points: the
// machine's cores have nothing else to do then.
type sampling struct {
	once sync.Once
	done chan struct{}
	got  *values.Sample
	err  error
}

// samplingFrom is the part of the conversion after which the machine's own numbers for
// it are made, so that both do not take memory at a time.
const samplingFrom = 0.84

func (p *preparation) begin() {
	s := p.sample
	s.once.Do(func() {
		go func() {
			defer close(s.done)
			s.got, s.err = gpu.RandomSample(p.cmd.Context(), p.form, p.rows)
		}()
	})
}

func prepare(cmd *cobra.Command, f *prepareFlags, name string) (err error) {
	p := &preparation{cmd: cmd, u: newUI(cmd), f: f, sample: &sampling{done: make(chan struct{})}}
	start := time.Now()
	defer p.u.done()
	compiled, id, err := openCircuit(cmd, &f.circuits, name)
	if err != nil {
		return err
	}
	if err := p.plan(compiled); err != nil {
		return err
	}
	if p.key, err = srs.Open(cmd.Context(), f.keys.dir, name, f.keys.options(p.u)); err != nil {
		return f.keys.hint(err)
	}
	defer func() { err = errors.Join(err, p.key.Close()) }()
	p.report.Circuit, p.report.Insecure = id.String(), !p.key.Official
	p.report.File = srs.ValuesPath(p.key.Path)
	if p.there() && !f.force {
		p.u.note("%s is prepared already; --force makes the file anew", id)
	} else if err := p.make(); err != nil {
		return err
	}
	if p.report.Bytes, err = sizeOfFile(p.report.File); err != nil {
		return err
	}
	p.report.Seconds = time.Since(start).Seconds()
	return p.say()
}

// plan finds the form for a circuit, and whether the machine has the memory.
func (p *preparation) plan(c *r1cs.Compiled) error {
	layout, err := backend.LayoutOf(c)
	if err != nil {
		return err
	}
	p.rows = layout.Counts.Rows + layout.Counts.Inputs
	p.form, err = values.New(p.rows, layout.LogM)
	if err == nil && (p.f.force || gpu.GainsInValues(layout)) {
		return nil
	}
	return hint(fmt.Errorf("%s gains nothing by a second form: its %d rows fill %.0f%% of the domain, or too few of them are bits", c.Name(), p.rows,
		100*float64(p.rows)/float64(layout.M())), "use the key as it is; update-32GiB gains most")
}

// there tells whether good values came with the key.
func (p *preparation) there() bool {
	v := p.key.Values
	return v != nil && v.K.N == p.form.Points() && v.M.N == p.rows
}

// prepareHost is the memory of the machine a place of the domain.
const prepareHost = 180

func (p *preparation) memory() error {
	limit, err := budget.Detect(os.DirFS("/"))
	if err != nil {
		return err
	}
	if need := int64(p.form.N()) * prepareHost; int64(limit.Bytes) < need {
		return fmt.Errorf("preparing %s takes %s of memory, this machine has %s", p.report.Circuit, bytes(need), bytes(int64(limit.Bytes)))
	}
	return nil
}

func (p *preparation) make() (err error) {
	if err := p.memory(); err != nil {
		return err
	}
	d, err := openDevice(p.f.device)
	if err != nil {
		return err
	}
	b := gpu.New(d, gpu.Options{})
	defer func() { err = errors.Join(err, b.Close(), d.Close()) }()
	p.report.Device, p.report.Made = d.Info().UUID, true
	w, err := srs.CreateValues(p.key, srs.ValuesHeader{Circuit: p.report.Circuit, LogN: p.form.LogN, K: p.form.Points(), M: p.rows})
	if err != nil {
		return err
	}
	defer w.Abort()
	p.u.note("preparing %s on %s, %s", p.report.Circuit, d.Info().Name, d.Info().UUID)
	if err := p.convert(b, w); err != nil {
		return err
	}
	if err := p.check(b, w); err != nil {
		return err
	}
	p.u.show("bringing "+p.report.Circuit+" to disk", "")
	_, err = w.Commit(p.f.keys.options(p.u))
	return err
}

func (p *preparation) convert(b *gpu.Backend, w *srs.ValuesWriter) error {
	start := time.Now()
	show := p.meter("new lists of " + p.report.Circuit)
	err := b.Values(p.cmd.Context(), p.key.H, p.form, p.rows, w, func(done float64) {
		if show(done); done > samplingFrom {
			p.begin()
		}
	})
	p.report.Convert = time.Since(start).Seconds()
	return err
}

func (p *preparation) check(b *gpu.Backend, w *srs.ValuesWriter) error {
	start := time.Now()
	k, m, err := w.Lists()
	if err != nil {
		return err
	}
	what := "check of " + p.report.Circuit
	p.u.show(what, "random values")
	p.begin()
	if <-p.sample.done; p.sample.err != nil {
		return p.sample.err
	}
	err = b.CheckValues(p.cmd.Context(), p.sample.got, p.key.H, k, m, p.meter(what))
	p.report.Check = time.Since(start).Seconds()
	if errors.Is(err, gpu.ErrWrongValues) {
		return hint(err, "nothing was saved; run \"cuzk doctor\" to test the GPU, and \"cuzk params check\" to test the key")
	}
	return err
}

// meter shows how far a stage is, and when it may be done.
func (p *preparation) meter(what string) func(float64) {
	start := time.Now()
	return func(done float64) {
		state := fmt.Sprintf("%d%%", int(100*done))
		if past := time.Since(start); done > 0.005 && past > time.Second {
			left := time.Duration(float64(past) * (1 - done) / done)
			state += ", " + left.Round(time.Second).String() + " left"
		}
		p.u.show(what, state)
	}
}

func (p *preparation) say() error {
	r := &p.report
	p.u.done()
	if r.Made {
		p.u.note("prepared %s, %s, in %s; proofs use it from now on", r.Circuit, bytes(r.Bytes), took(time.Duration(r.Seconds*float64(time.Second))))
	}
	if p.f.json {
		return p.u.json(r)
	}
	return p.u.say("%s", r.File)
}
