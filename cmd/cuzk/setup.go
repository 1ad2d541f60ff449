package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cuzk/proving"
)

type setupFlags struct {
	keys     keyFlags
	circuits circuitFlag
	json     bool
}

func newParamsSetupCmd() *cobra.Command {
	var f setupFlags
	cmd := &cobra.Command{
		Use:   "setup CIRCUIT",
		Short: "Make an INSECURE key for tests and demonstrations",
		Long: `Setup makes the key of a circuit from secrets that everybody knows, so that the
whole path can be tried without the published keys. Whoever knows the secrets can
forge proofs: such a key proves nothing to anybody. Its files are called
insecure-CIRCUIT.params and .vk and are used only with --insecure.

The key is, byte for byte, what bellperson makes from the same secrets.

A key has 400 to 520 bytes a constraint; "cuzk circuit list" shows how many there
are. On two cores winning-2KiB takes 3 s and 47 MB, porep-2KiB a minute or two and
1.1 GB. The disk space is reserved before the long work begins.`,
		Example: `  cuzk params setup winning-2KiB --insecure --params-dir ./keys`,
		Args:    exactly("CIRCUIT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !f.keys.insecure {
				return hint(usageError("a key whose secrets are known is made only with --insecure"),
					"\"cuzk params fetch\" gets the published keys")
			}
			return setup(cmd, &f, args[0])
		},
	}
	f.keys.registerDir(cmd)
	f.keys.registerInsecure(cmd)
	f.circuits.register(cmd)
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// setupReport is the JSON form of what setup did.
type setupReport struct {
	Circuit  string   `json:"circuit"`
	Insecure bool     `json:"insecure"` // always true
	Files    []string `json:"files"`
	Seconds  float64  `json:"seconds"`
}

func setup(cmd *cobra.Command, f *setupFlags, name string) error {
	u, start := newUI(cmd), time.Now()
	compiled, id, err := openCircuit(cmd, &f.circuits, name)
	if err != nil {
		return err
	}
	paths, err := proving.MakeInsecureKey(cmd.Context(), f.keys.dir, id, compiled, func(section string, done, total int) {
		u.share(fmt.Sprintf("key of %s, %s", id, section), float64(done)/float64(max(total, 1)))
	})
	u.done()
	if err != nil {
		return err
	}
	u.note("made the INSECURE key of %s in %s: for tests only", id, took(time.Since(start)))
	if f.json {
		return u.json(setupReport{id.String(), true, paths, time.Since(start).Seconds()})
	}
	return u.say("%s", strings.Join(paths, "\n"))
}
