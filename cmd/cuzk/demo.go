package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cuzk"
	"cuzk/backend/cpu"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/r1cs"
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

type demoFlags struct {
	dir  string
	json bool
}

func newDemoCmd() *cobra.Command {
	var f demoFlags
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Prove and verify something now, with nothing prepared",
		Long: `Demo takes real sealed sectors of 2 KiB that ship with the program, makes
INSECURE keys for their circuits (kept for the next run), proves a WinningPoSt and
a WindowPoSt, verifies both proofs, and shows what it did.

It needs no network, no GPU, no published key and no server.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return demo(cmd, &f) },
	}
	dir := filepath.Join(os.TempDir(), "cuzk-demo")
	if user, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(user, "cuzk", "demo")
	}
	cmd.Flags().StringVar(&f.dir, "dir", dir, "`directory` for keys, compiled circuits and proofs")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// demoLine is the JSON form of one proof of the demonstration.
type demoLine struct {
	Title   string      `json:"title"`
	Circuit string      `json:"circuit"`
	Proof   string      `json:"proof"` // file
	Bytes   int         `json:"bytes"`
	Valid   bool        `json:"valid"`
	Stages  []stageLine `json:"stages"`
}

func demo(cmd *cobra.Command, f *demoFlags) error {
	u := newUI(cmd)
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return badInput(err)
	}
	u.note("keys of this demonstration are INSECURE: everybody knows their secrets")
	st := &stages{u: u}
	var lines []demoLine
	for _, e := range examples {
		before := len(st.list)
		st.head = e.title + ": "
		l, err := e.run(cmd.Context(), f.dir, st)
		if err != nil {
			return fmt.Errorf("%s: %w", e.title, err)
		}
		one := &stages{list: st.list[before:], names: st.names[before:]}
		l.Stages = one.lines()
		lines = append(lines, *l)
	}
	if f.json {
		return u.json(lines)
	}
	return printDemo(u, f, st, lines)
}

func printDemo(u *ui, f *demoFlags, st *stages, lines []demoLine) error {
	err := st.table()
	for _, l := range lines {
		b, readErr := os.ReadFile(l.Proof)
		err = errors.Join(err, readErr, u.say("\n%s proof, %d bytes, valid: %s\n%x", l.Title, l.Bytes, l.Proof, b))
	}
	return errors.Join(err, u.say(`
What to try next
  cuzk circuit list                  all circuits and their sizes
  cuzk circuit show winning-32GiB    what a circuit is made of
  cuzk witness REQUEST.json          the witness of your own request
  cuzk prove REQUEST.json --insecure --params-dir %s
  cuzk --help                        everything else`, f.dir))
}

// run proves and verifies one example.
func (e example) run(ctx context.Context, dir string, st *stages) (l *demoLine, err error) {
	j, err := e.job()
	if err != nil {
		return nil, err
	}
	o := proving.Options{ParamsDir: dir, CircuitDir: filepath.Join(dir, "circuits"),
		Keys: srs.Options{Insecure: true}, Warn: func(err error) { st.u.note("warning: %v", err) }}
	w := st.watch()
	if err := ensureKey(ctx, o, j.Circuit, w); err != nil {
		return nil, err
	}
	s, err := proving.Open(ctx, cpu.New(cpu.Options{}), o, j.Circuit, w)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	proof, err := s.Prove(ctx, j, groth16.Random{Reader: rand.Reader}, w)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(dir, e.request+".proof")
	if err := os.WriteFile(out, proof, 0o644); err != nil {
		return nil, err
	}
	l = &demoLine{Title: e.title, Circuit: j.Circuit.String(), Proof: out, Bytes: len(proof)}
	return l, l.verify(out, s, j, w)
}

// job reads the example from the program.
func (e example) job() (*kind.Job, error) {
	const folder = "testdata/requests"
	data, err := cuzk.Examples.ReadFile(path.Join(folder, e.request+".json"))
	if err != nil {
		return nil, err
	}
	return kind.Parse(data, func(name string) ([]byte, error) { return cuzk.Examples.ReadFile(path.Join(folder, name)) })
}

// ensureKey makes the insecure key of a circuit unless it is there.
func ensureKey(ctx context.Context, o proving.Options, id srs.ID, w proving.Watch) error {
	if _, err := os.Stat(insecureKeyPath(o.ParamsDir, id)); err == nil {
		return nil
	}
	var c *r1cs.Compiled
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
func (l *demoLine) verify(file string, s *proving.Session, j *kind.Job, w proving.Watch) error {
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
			if err := groth16.Verify(s.Key.VK, j.Partitions[i].Inputs, &proofs[i]); err != nil {
				return "", err
			}
		}
		l.Valid = true
		return strings.TrimSpace(fmt.Sprintf("%s, %d public inputs, valid", plural(len(proofs), "proof"), inputs)), nil
	})
}
