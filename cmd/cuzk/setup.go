package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"cuzk/proving"
	"cuzk/srs"
)

func newParamsSetupCmd() *cobra.Command {
	var keys keyFlags
	var c circuitFlag
	cmd := &cobra.Command{
		Use:   "setup CIRCUIT",
		Short: "Make an INSECURE key for tests and demonstrations",
		Long: `Setup makes the key of a circuit from secrets that everybody knows, so that the
whole path can be tried without the published keys. Whoever knows the secrets can
forge proofs: such a key proves nothing to anybody. Its files are called
insecure-CIRCUIT.params and .vk and are used only with --insecure.

The key is, byte for byte, what bellperson makes from the same secrets.

Sizes and times on two cores: window-2KiB 12 MB and a second, winning-2KiB 47 MB
and 3 s, porep-2KiB 1.1 GB and a minute.`,
		Example: `  cuzk params setup winning-2KiB --insecure --params-dir ./keys`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !keys.insecure {
				return hint(usageError("a key whose secrets are known is made only with --insecure"),
					"published keys come from Filecoin's own download tools")
			}
			return setup(cmd, &keys, &c, args[0])
		},
	}
	keys.register(cmd)
	keys.registerInsecure(cmd)
	c.register(cmd)
	return cmd
}

func setup(cmd *cobra.Command, keys *keyFlags, c *circuitFlag, name string) error {
	u := newUI(cmd)
	compiled, id, err := openCircuit(cmd, c, name)
	if err != nil {
		return err
	}
	start := time.Now()
	paths, err := makeKey(cmd, u, keys.dir, compiled.Name(), func(p func(string, int, int)) ([]string, error) {
		return proving.MakeInsecureKey(cmd.Context(), keys.dir, id, compiled, p)
	})
	if err != nil {
		return err
	}
	u.note("made the INSECURE key of %s in %s: for tests only", id, took(time.Since(start)))
	for _, p := range paths {
		if err := u.say("%s", p); err != nil {
			return err
		}
	}
	return nil
}

// makeKey shows the progress of a setup.
func makeKey(cmd *cobra.Command, u *ui, dir, name string, run func(func(string, int, int)) ([]string, error)) ([]string, error) {
	defer u.done()
	return run(func(section string, done, total int) {
		u.share(fmt.Sprintf("key of %s, %s, %d of %d", name, section, done, total), float64(done)/float64(max(total, 1)))
	})
}

// insecureKeyPath is where the insecure key of a circuit lies.
func insecureKeyPath(dir string, id srs.ID) string {
	return filepath.Join(dir, id.InsecureFileName(srs.Params))
}
