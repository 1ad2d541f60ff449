package main

import (
	"encoding/hex"
	"fmt"

	"github.com/spf13/cobra"

	"cuzk/internal/config"
	"cuzk/kind"
	"cuzk/proving"
	"cuzk/r1cs"
	"cuzk/srs"
)

func newCircuitCmd() *cobra.Command {
	return group(&cobra.Command{
		Use:   "circuit",
		Short: "Look at the circuits",
		Long: `A circuit is the statement of a proof as constraints. Its name is a kind and a
sector size: winning-2KiB, window-32GiB, update-8MiB. The trusted setup was run on
one exact list of constraints for each; D1 is the digest of that list.

Circuits are compiled into nested templates: a window-32GiB of 125 million
constraints is a file of 83 kB, which is expanded where it is needed.`,
	}, newCircuitListCmd(), newCircuitDigestCmd(), newCircuitShowCmd())
}

// circuitLine is a circuit in JSON, with the members of the reference's list.
type circuitLine struct {
	Circuit string `json:"circuit"`
	Inputs  int    `json:"inputs"`
	Aux     int    `json:"aux"`
	Rows    int    `json:"rows"`
	NonZero [3]int `json:"nnz"`
	D1      string `json:"d1"`
	Key     string `json:"key"`
}

func lineOf(id srs.ID, s r1cs.Summary) circuitLine {
	return circuitLine{id.String(), s.Inputs, s.Aux, s.Rows, s.NonZero, hex.EncodeToString(s.D1[:]), id.CacheID()}
}

func newCircuitListCmd() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all circuits with their sizes and key ids",
		Long: `List shows what is known of every supported circuit. Inputs include the constant
one; rows do not include the per-input rows of Groth16; bits are those of the
variables that are bits by construction. COMPILED is the size of the compiled
form, KEY the name under which the key was published, without v28- and ending.`,
		Example: `  cuzk circuit list

  # names alone
  cuzk circuit list --json | jq -r '.[].circuit'`,
		Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			u := newUI(cmd)
			rows := [][]string{{"CIRCUIT", "INPUTS", "AUX", "BITS", "ROWS", "COMPILED", "KEY"}}
			var lines []circuitLine
			for _, e := range kind.Catalog() {
				lines = append(lines, lineOf(e.ID, e.Summary))
				rows = append(rows, []string{e.ID.String(), fmt.Sprint(e.Inputs), fmt.Sprint(e.Aux), fmt.Sprint(e.Bits),
					fmt.Sprint(e.Rows), bytes(int64(e.Bytes)), e.ID.CacheID()})
			}
			if asJSON {
				return u.json(lines)
			}
			return u.table(rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// openCircuit reads or compiles a circuit by name.
func openCircuit(cmd *cobra.Command, c *circuitFlag, name string) (*r1cs.Compiled, srs.ID, error) {
	u := newUI(cmd)
	defer u.done()
	id, err := circuitNamed(name)
	if err != nil {
		return nil, id, err
	}
	o := proving.Options{CircuitDir: c.dir, Warn: func(err error) { u.note("warning: %v", err) }}
	w := proving.Watch{Progress: func(_ string, done float64) { u.share("compile "+name, done) }}
	compiled, err := proving.Compile(cmd.Context(), o, id, w)
	return compiled, id, err
}

// circuitNamed reads a circuit's name; the error has the one that is likely meant.
func circuitNamed(name string) (srs.ID, error) {
	id, err := srs.ParseID(name)
	if err == nil {
		return id, nil
	}
	names := "\"cuzk circuit list\" names all"
	if n := config.Nearest(name, srs.Names()); n != "" {
		names = fmt.Sprintf("did you mean %s? %s", n, names)
	}
	return id, hint(usageError("%v", err), "%s", names)
}

func newCircuitDigestCmd() *cobra.Command {
	var c circuitFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "digest NAME",
		Short: "Expand a circuit and print its canonical digest D1",
		Long: `Digest expands the compiled form row by row and hashes every term of every
constraint. window-32GiB has 1.1 billion terms and takes half a minute and 100 MB
of memory. The result must be that of the reference implementation; this command
compares it with the value that the program knows and fails if it differs.`,
		Example: `  cuzk circuit digest winning-2KiB
  cuzk circuit digest window-32GiB --json`,
		Args: exactly("NAME"), ValidArgsFunction: completeCircuits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return circuitDigest(cmd, &c, args[0], asJSON)
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func circuitDigest(cmd *cobra.Command, c *circuitFlag, name string, asJSON bool) error {
	u, ctx := newUI(cmd), cmd.Context()
	compiled, id, err := openCircuit(cmd, c, name)
	if err != nil {
		return err
	}
	rows := float64(compiled.Counts().Rows)
	s, err := compiled.Summarize(func(done int) error {
		u.share("digest", float64(done)/rows)
		return ctx.Err()
	})
	u.done()
	if err != nil {
		return err
	}
	l := lineOf(id, s)
	if asJSON {
		err = u.json(l)
	} else {
		err = u.table([][]string{{"circuit", l.Circuit}, {"inputs", fmt.Sprint(l.Inputs)}, {"aux", fmt.Sprint(l.Aux)}, {"rows", fmt.Sprint(l.Rows)},
			{"nnz", fmt.Sprintf("%d %d %d", l.NonZero[0], l.NonZero[1], l.NonZero[2])}, {"d1", l.D1}, {"key", l.Key}})
	}
	if e, ok := kind.Lookup(id); err == nil && (!ok || e.D1 != s.D1) {
		return fmt.Errorf("circuit %s has digest %x, known is %x: this program is damaged or wrong, do not prove with it", id, s.D1, e.D1)
	}
	return err
}

func newCircuitShowCmd() *cobra.Command {
	var c circuitFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show the templates that a circuit is made of",
		Long: `Show prints the tree of templates: how often each stands in the one above it, in
the whole circuit, how many constraints and variables an instance has, and what
share of all constraints its instances are.`,
		Example: "  cuzk circuit show winning-32GiB",
		Args:    exactly("NAME"), ValidArgsFunction: completeCircuits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			compiled, _, err := openCircuit(cmd, &c, args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return newUI(cmd).json(compiled.Templates())
			}
			return newUI(cmd).table(templateTree(compiled))
		},
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// templateTree lists templates depth first; a template that was shown before is
// not opened again.
func templateTree(c *r1cs.Compiled) [][]string {
	all := c.Templates()
	total := float64(c.Counts().Rows)
	rows := [][]string{{"TEMPLATE", "TIMES", "IN ALL", "ROWS", "OWN ROWS", "AUX", "BITS", "SHARE"}}
	shown := map[int]bool{}
	var visit func(i, times int, indent string)
	visit = func(i, times int, indent string) {
		t := &all[i]
		rows = append(rows, []string{indent + t.Shape, fmt.Sprint(times), fmt.Sprint(t.Instances), fmt.Sprint(t.Counts.Rows), fmt.Sprint(t.OwnRows),
			fmt.Sprint(t.Counts.Aux), fmt.Sprint(t.Counts.Bits), fmt.Sprintf("%.2f%%", 100*float64(t.Instances)*float64(t.Counts.Rows)/total)})
		if shown[i] {
			return
		}
		shown[i] = true
		for k, child := range t.Children {
			visit(child, t.Calls[k], indent+"  ")
		}
	}
	visit(len(all)-1, 1, "")
	return rows
}
