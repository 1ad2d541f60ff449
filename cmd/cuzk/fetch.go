package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"cuzk/internal/config"
	"cuzk/sector"
	"cuzk/srs"
	"cuzk/srs/fetch"
)

// fetchFlags are what fetch was asked for.
type fetchFlags struct {
	keys     keyFlags
	config   string
	gateways []string
	parallel int
	size     string
	vkOnly   bool
	dry      bool
	asJSON   bool
}

func newParamsFetchCmd() *cobra.Command {
	var f fetchFlags
	cmd := &cobra.Command{
		Use:   "fetch [CIRCUIT...]",
		Short: "Download published keys",
		Long: `Fetch downloads the published keys of the named circuits, or of all circuits of a
sector size. Files that are there and good are left alone; others are replaced
once the new one is whole. Gateways are not trusted: a file gets its name only
after its digest was found to be the published one.

An interrupted download goes on where it was when the command is run again. The
keys of 32 GiB sectors take 143 GB, those of 64 GiB 146 GB (--dry-run tells); to
verify proofs, the small verifying keys are enough (--vk-only).

Gateways come from --gateway, else from the configuration (fetch.gateways).`,
		Example: `  # what a 32 GiB miner needs
  cuzk params fetch --size 32GiB

  # one circuit
  cuzk params fetch window-32GiB

  # what would be downloaded
  cuzk params fetch --size 32GiB --dry-run

  # to verify proofs of all sizes
  cuzk params fetch --size all --vk-only`,
		Args: circuitArgs, ValidArgsFunction: completeCircuits(0),
		RunE: func(cmd *cobra.Command, names []string) error { return f.run(cmd, newUI(cmd), names) },
	}
	f.keys.register(cmd)
	cmd.Flags().StringVar(&f.config, "config", "", "configuration `file` with gateways")
	cmd.Flags().StringArrayVar(&f.gateways, "gateway", nil, "`address` to which a CID is appended; may be given several times")
	cmd.Flags().IntVar(&f.parallel, "parallel", 0, "connections a file (default from the configuration)")
	cmd.Flags().StringVar(&f.size, "size", "", "all circuits of this sector `size`, or \"all\"")
	cmd.Flags().BoolVar(&f.vkOnly, "vk-only", false, "verifying keys only")
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "say what would be downloaded")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return cmd
}

// run lists, plans and downloads.
func (f *fetchFlags) run(cmd *cobra.Command, u *ui, names []string) error {
	want, err := f.circuits(names)
	if err != nil {
		return err
	}
	o, err := f.options(u)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.keys.dir, 0o755); err != nil {
		return badInput(fmt.Errorf("key directory: %w", err))
	}
	rows, err := listKeys(u, &f.keys, nil)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r srs.Row) bool {
		return r.Insecure() || !slices.Contains(want, r.ID) || f.vkOnly && r.Part != srs.VK
	})
	need, err := fetch.Needed(cmd.Context(), f.keys.dir, rows, o)
	u.done()
	if err != nil {
		return err
	}
	if f.dry {
		return f.plan(u, need)
	}
	return f.download(cmd, u, need, o)
}

// circuits are the ones that were named, all of them published.
func (f *fetchFlags) circuits(names []string) ([]srs.ID, error) {
	official := srs.Official()
	switch {
	case (len(names) > 0) == (f.size != ""):
		return nil, hint(usageError("name circuits, or a sector size with --size"), "for a 32 GiB miner: cuzk params fetch --size 32GiB")
	case f.size == "all":
		return official, nil
	case f.size != "":
		s, err := sector.Parse(f.size)
		if err != nil {
			return nil, usageError("--size: %w", err)
		}
		out := slices.DeleteFunc(official, func(id srs.ID) bool { return id.Size != s })
		if len(out) == 0 {
			return nil, fmt.Errorf("sectors of %s: %w: none was ever published", f.size, srs.ErrKeyMissing)
		}
		return out, nil
	}
	var out []srs.ID
	for _, n := range names {
		id, err := circuitNamed(n)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(official, id) {
			return nil, fmt.Errorf("%s: %w: none was ever published", n, srs.ErrKeyMissing)
		}
		out = append(out, id)
	}
	return out, nil
}

// options joins flags and configuration.
func (f *fetchFlags) options(u *ui) (fetch.Options, error) {
	l, err := config.Load(config.Sources{File: f.config, Environ: os.Environ(), UID: -1})
	if err != nil {
		return fetch.Options{}, configError(err)
	}
	o := fetch.Options{Gateways: l.Fetch.Gateways, Parallel: l.Fetch.Parallel, Keys: f.keys.options(u),
		Progress: func(p fetch.Progress) { showFetch(u, p) },
		Warn:     func(err error) { u.note("warning: %v", err) }}
	if len(f.gateways) > 0 {
		o.Gateways = f.gateways
	}
	if f.parallel > 0 {
		o.Parallel = f.parallel
	}
	return o, nil
}

// showFetch adds rate and time left to the meter.
func showFetch(u *ui, p fetch.Progress) {
	state := fmt.Sprintf("%s of %s, %d%%", bytes(p.Done), bytes(p.Total), 100*p.Done/max(p.Total, 1))
	if p.Rate > 0 {
		state += fmt.Sprintf(", %s/s, %v left", bytes(int64(p.Rate)), p.Left.Round(time.Second))
	}
	u.show(p.Phase+" "+short(p.File), state)
}

// plan says what would be downloaded.
func (f *fetchFlags) plan(u *ui, need []srs.Row) error {
	if f.asJSON {
		return u.json(keyLines(need))
	}
	var sum int64
	for _, r := range need {
		sum += r.Want
		if err := u.say("%s%s: %s, %s", r.ID, r.Part, r.State, bytes(r.Want)); err != nil {
			return err
		}
	}
	u.note("%d files, %s, to %s", len(need), bytes(sum), f.keys.dir)
	return nil
}

func (f *fetchFlags) download(cmd *cobra.Command, u *ui, need []srs.Row, o fetch.Options) error {
	if err := fetch.Room(f.keys.dir, need, o); err != nil {
		return hint(err, "free some space, or name a larger disk with --params-dir")
	}
	for i, r := range need {
		err := fetch.Get(cmd.Context(), f.keys.dir, r, o)
		u.done()
		if err != nil {
			return fetchHint(err)
		}
		need[i].State, need[i].Bytes, need[i].Digest = srs.Verified, r.Want, r.Published.Digest
		if !f.asJSON {
			if err := u.say("%s%s: %s", r.ID, r.Part, verdict(need[i])); err != nil {
				return err
			}
		}
	}
	if f.asJSON {
		return u.json(keyLines(need))
	}
	if len(need) == 0 {
		u.note("nothing to download: all of it is in %s", f.keys.dir)
	}
	return nil
}

func fetchHint(err error) error {
	switch {
	case errors.Is(err, fetch.ErrUnavailable):
		return hint(err, "what has come is kept; try again later, or another gateway with --gateway")
	case errors.Is(err, fetch.ErrContent):
		return hint(err, "try another gateway with --gateway")
	}
	return err
}
