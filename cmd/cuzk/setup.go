package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cuzk/proving"
	"cuzk/r1cs"
	"cuzk/srs"
)

type setupFlags struct {
	keys     keyFlags
	circuits circuitFlag
	device   string
	noSave   bool
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

The key is, byte for byte, what bellperson makes from the same secrets, on the
processor and on a GPU.

A key has 400 to 520 bytes a constraint; "cuzk circuit list" shows how many there
are. On two cores winning-2KiB takes 3 s and 47 MB, porep-2KiB a minute or two and
1.1 GB. The disk space is reserved before the points are made.

With --device the points are made on a GPU and streamed to the file: porep-32GiB,
47 GB, takes seconds to make and as long as the disk takes to write. The GPU needs
no room for the key, but 190 bytes a variable (25 GB for porep-32GiB). --no-save
makes the same bytes, checks points of them and prints the SHA-256 that the file
would have; nothing is written.`,
		Example: `  cuzk params setup winning-2KiB --insecure --params-dir ./keys

  # a full key on a GPU, on the first one or on the one that is named
  cuzk params setup porep-32GiB --insecure --device --params-dir ./keys
  cuzk params setup porep-32GiB --insecure --device=GPU-1234 --params-dir ./keys

  # only to see how long it takes
  cuzk params setup porep-32GiB --insecure --device --no-save`,
		Args:              f.args,
		ValidArgsFunction: completeCircuits(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case !f.keys.insecure:
				return hint(usageError("a key whose secrets are known is made only with --insecure"),
					"\"cuzk params fetch\" gets the published keys")
			case f.noSave && f.device == "":
				return usageError("--no-save goes with --device")
			}
			return setup(cmd, &f, args[0])
		},
	}
	f.keys.registerDir(cmd)
	f.keys.registerInsecure(cmd)
	f.circuits.register(cmd)
	registerDevice(cmd, &f.device, "make the key on a GPU, the first or that with this `UUID`")
	cmd.Flags().BoolVar(&f.noSave, "no-save", false, "with --device: write no file, print its SHA-256")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// args wants a circuit, and sees a UUID that was not tied to its flag.
func (f *setupFlags) args(cmd *cobra.Command, args []string) error {
	err := exactly("CIRCUIT")(cmd, args)
	if err != nil && f.device == firstDevice && len(args) == 2 {
		return hint(err, "a device is named with an equals sign, --device=%s", args[1])
	}
	return err
}

// setupReport is the JSON form of what setup did.
type setupReport struct {
	Circuit  string   `json:"circuit"`
	Insecure bool     `json:"insecure"`         // always true
	Files    []string `json:"files"`            // empty with --no-save
	Bytes    int64    `json:"bytes"`            // of the .params file
	SHA256   string   `json:"sha256,omitempty"` // of the .params file, with --no-save
	Device   string   `json:"device,omitempty"` // UUID
	Seconds  float64  `json:"seconds"`
}

func setup(cmd *cobra.Command, f *setupFlags, name string) error {
	u, start := newUI(cmd), time.Now()
	compiled, id, err := openCircuit(cmd, &f.circuits, name)
	if err != nil {
		return err
	}
	r := &setupReport{Circuit: id.String(), Insecure: true, Files: []string{}}
	if f.device != "" {
		err = setupOnDevice(cmd, u, f, id, compiled, r)
	} else {
		err = setupOnHost(cmd, u, f, id, compiled, r)
	}
	u.done()
	if err != nil {
		return err
	}
	r.Seconds = time.Since(start).Seconds()
	return r.say(u, f.json)
}

func setupOnHost(cmd *cobra.Command, u *ui, f *setupFlags, id srs.ID, compiled *r1cs.Compiled, r *setupReport) (err error) {
	r.Files, err = proving.MakeInsecureKey(cmd.Context(), f.keys.dir, id, compiled, func(section string, done, total int) {
		u.share(fmt.Sprintf("key of %s, %s", id, section), float64(done)/float64(max(total, 1)))
	})
	if err == nil {
		r.Bytes, err = sizeOfFile(r.Files[0])
	}
	return err
}

func (r *setupReport) say(u *ui, asJSON bool) error {
	took := took(time.Duration(r.Seconds * float64(time.Second)))
	if len(r.Files) == 0 {
		u.note("made the INSECURE key of %s, %s, in %s; it is not saved", r.Circuit, bytes(r.Bytes), took)
	} else {
		u.note("made the INSECURE key of %s, %s, in %s: for tests only", r.Circuit, bytes(r.Bytes), took)
	}
	switch {
	case asJSON:
		return u.json(r)
	case len(r.Files) == 0:
		return u.say("%s  %s", r.SHA256, "insecure-"+r.Circuit+".params")
	}
	return u.say("%s", strings.Join(r.Files, "\n"))
}
