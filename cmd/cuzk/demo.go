package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"cuzk"
	"cuzk/groth16"
	"cuzk/internal/atomicfile"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/srs"
)

// example is a request that ships with the program.
type example struct {
	title   string
	request string
}

var examples = []example{
	{"WinningPoSt", "winning-2KiB"},
	{"WindowPoSt", "window-2KiB-V1_2-2of2"},
}

// largeExamples need keys of 1.1 and 0.7 GB, which take minutes to make.
var largeExamples = []example{
	{"PoRep", "porep-2KiB-V1_1"},
	{"SnapDeals", "update-2KiB"},
}

type demoFlags struct {
	dir  string
	all  bool
	json bool
}

func newDemoCmd() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Prove and verify something now, with nothing prepared",
		Long: `Demo takes real sealed sectors of 2 KiB that ship with the program, makes
INSECURE keys for their circuits (kept for the next run), starts a daemon in this
process, has it prove a WinningPoSt and a WindowPoSt over gRPC as Curio would,
verifies both proofs, and shows what was done.

It needs no network, no GPU, no published key and no other daemon.

With --all it also proves a PoRep and a SnapDeals update. Their keys are 1.1 GB and
0.7 GB and take minutes to make the first time; they are kept for the next run.`,
		Example: `  cuzk demo

  # all four kinds of proof
  cuzk demo --all

  # with everything in a place of your own
  cuzk demo --dir ./demo`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.dir, "dir", demoDir(), "`directory` for keys, compiled circuits and proofs")
	cmd.Flags().BoolVar(&f.all, "all", false, "prove all four kinds; the first run makes keys of 1.8 GB")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// demoDir is where everything of the demonstration is kept.
func demoDir() string {
	if user, err := os.UserCacheDir(); err == nil {
		return filepath.Join(user, "cuzk", "demo")
	}
	return filepath.Join(os.TempDir(), "cuzk-demo")
}

// demoLine is the JSON form of one proof of the demonstration.
type demoLine struct {
	Title   string      `json:"title"`
	Circuit string      `json:"circuit"`
	Request string      `json:"request"` // file
	Proof   string      `json:"proof"`   // file
	Bytes   int         `json:"bytes"`
	Valid   bool        `json:"valid"`
	Stages  []stageLine `json:"stages"`
}

func demo(cmd *cobra.Command, f *demoFlags) error {
	u := newUI(cmd)
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return badInput(err)
	}
	todo := examples
	if f.all {
		todo = slices.Concat(examples, largeExamples)
		u.note("the first run makes keys of 1.8 GB in %s, which takes minutes", f.dir)
	}
	u.note("keys of this demonstration are INSECURE: everybody knows their secrets")
	st := &stages{u: u}
	lines, err := f.prove(cmd.Context(), st, todo)
	if err != nil {
		return err
	}
	if f.json {
		return u.json(lines)
	}
	return printDemo(u, f, st, lines)
}

// prove goes through the examples with a daemon of its own.
func (f *demoFlags) prove(ctx context.Context, st *stages, todo []example) (lines []demoLine, err error) {
	d, err := startLocal(ctx, f.dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for _, e := range todo {
		st.group = e.title
		l, err := e.run(ctx, f.dir, d, st)
		if err != nil {
			return nil, demoHint(fmt.Errorf("%s: %w", e.title, err), f.dir)
		}
		l.Stages = st.lines(e.title)
		lines = append(lines, *l)
	}
	return lines, nil
}

// demoHint: everything in the folder can be made again.
func demoHint(err error, dir string) error {
	if errors.Is(err, srs.ErrCorrupt) || errors.Is(err, groth16.ErrSelfCheck) {
		return hint(err, "a file in %s is damaged: remove that folder and run the demonstration again", dir)
	}
	return err
}

func printDemo(u *ui, f *demoFlags, st *stages, lines []demoLine) error {
	err := st.table()
	for _, l := range lines {
		b, readErr := os.ReadFile(l.Proof)
		err = errors.Join(err, readErr, u.say("\n%s proof, %d bytes, valid: %s\n%x", l.Title, l.Bytes, l.Proof, b))
	}
	p, l := programName(os.Args[0]), lines[0]
	return errors.Join(err, u.say(`
What to try next
  %[1]s verify %[2]s %[3]s --insecure --params-dir %[4]s
  %[1]s prove %[2]s --insecure --params-dir %[4]s
  %[1]s witness %[2]s
  %[1]s circuit show %[5]s
  %[1]s circuit list
  %[1]s --help`, p, l.Request, l.Proof, f.dir, l.Circuit))
}

// programName is what a user types to run this program again.
func programName(arg0 string) string {
	switch {
	case strings.Contains(arg0, string(filepath.Separator)+"go-build"):
		return "go run ./cmd/cuzk"
	case filepath.Base(arg0) == "cuzk":
		return arg0
	}
	return "cuzk"
}

// run has the daemon prove one example, and verifies the answer.
func (e example) run(ctx context.Context, dir string, d *local, st *stages) (*demoLine, error) {
	j, requests, err := e.read(dir)
	if err != nil {
		return nil, err
	}
	o := proving.Options{ParamsDir: dir, CircuitDir: filepath.Join(dir, "circuits"),
		Keys: srs.Options{Insecure: true}, Warn: func(err error) { st.u.note("warning: %v", err) }}
	w := st.watch()
	if err := ensureKey(ctx, o, j.Circuit, w); err != nil {
		return nil, err
	}
	if _, err := proving.Compile(ctx, o, j.Circuit, w); err != nil {
		return nil, err
	}
	proof, err := d.prove(ctx, j.Circuit, requests, w)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, e.request+".proof")
	if err := atomicfile.WriteFile(out, proof); err != nil {
		return nil, err
	}
	vk, _, err := srs.OpenVK(ctx, dir, j.Circuit.String(), o.Keys)
	if err != nil {
		return nil, err
	}
	l := &demoLine{Title: e.title, Circuit: j.Circuit.String(), Request: filepath.Join(dir, e.request+".json"), Proof: out, Bytes: len(proof)}
	return l, l.verify(out, vk, j, w)
}

// read takes the example from the program, as a job and as what a client sends,
// and leaves copies of its files in a folder for other commands to use.
func (e example) read(dir string) (*kind.Job, []*kind.Request, error) {
	read := func(name string) ([]byte, error) {
		b, err := cuzk.Examples.ReadFile(path.Join("testdata/requests", name))
		if err != nil {
			return nil, err
		}
		return b, atomicfile.WriteFile(filepath.Join(dir, name), b)
	}
	data, err := read(e.request + ".json")
	if err != nil {
		return nil, nil, err
	}
	j, err := kind.Parse(data, read)
	if err != nil {
		return nil, nil, err
	}
	requests, err := kind.WireRequests(data, read)
	return j, requests, err
}

// ensureKey makes the insecure key of a circuit unless both its files are there
// in their right sizes.
func ensureKey(ctx context.Context, o proving.Options, id srs.ID, w proving.Watch) error {
	rows, err := srs.List(o.ParamsDir, o.Keys)
	if err != nil {
		return err
	}
	whole := func(r srs.Row) bool { return r.ID == id && r.Insecure() && r.Usable() }
	if n := len(slices.DeleteFunc(rows, func(r srs.Row) bool { return !whole(r) })); n == 2 {
		return nil
	}
	c, err := proving.Compile(ctx, o, id, proving.Watch{})
	if err != nil {
		return err
	}
	return w.Run("make key", func() (string, error) {
		_, err := proving.MakeInsecureKey(ctx, o.ParamsDir, id, c, func(section string, done, total int) {
			w.Report("make key, "+section, float64(done)/float64(max(total, 1)))
		})
		return "INSECURE, kept for the next run", err
	})
}

// verify reads the proof back and checks it as anybody could, from the verifying
// key, the public inputs and the bytes.
func (l *demoLine) verify(file string, vk *srs.VerifyingKey, j *kind.Job, w proving.Watch) error {
	return w.Run("verify", func() (string, error) {
		b, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		proofs, err := groth16.DecodeProofs(b)
		if err != nil {
			return "", err
		}
		if len(proofs) != len(j.Partitions) {
			return "", fmt.Errorf("%d proofs for %d partitions", len(proofs), len(j.Partitions))
		}
		inputs := 0
		for i := range proofs {
			inputs += len(j.Partitions[i].Inputs)
			if err := groth16.Verify(vk, j.Partitions[i].Inputs, &proofs[i]); err != nil {
				return "", err
			}
		}
		l.Valid = true
		return fmt.Sprintf("%s, %d public inputs, valid", plural(len(proofs), "proof"), inputs), nil
	})
}
