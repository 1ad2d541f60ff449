package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"cuzk/srs"
)

func newParamsCmd() *cobra.Command {
	return group(&cobra.Command{
		Use:   "params",
		Short: "Look after proving and verifying keys",
		Long: `Every circuit has a key from a trusted setup, in two files: NAME.params for the
prover and the much smaller NAME.vk for the verifier. Filecoin published keys for
sectors of 2 KiB, 8 MiB, 512 MiB, 32 GiB and 64 GiB; their files are called
v28-..., and a manifest inside this program knows the digest of each.

A file called insecure-... is a key of which somebody knows the secrets and can
forge proofs. Such keys are for tests and demonstrations and are used only with
--insecure.

NAME.values is a second form of a list of a key, with which GPUs prove faster;
"cuzk params prepare" makes it.`,
	}, newParamsListCmd(), newParamsCheckCmd(), newParamsFetchCmd(), newParamsSetupCmd(), newParamsPrepareCmd())
}

func newParamsListCmd() *cobra.Command {
	var keys keyFlags
	var asJSON, long bool
	cmd := &cobra.Command{
		Use:   "list [CIRCUIT...]",
		Short: "Show which keys are there",
		Long: `List shows a line for each part of each published key, and for each insecure key
and each file of values that is there. It looks at names and sizes and reads no
key, so it is quick. SIZE is that of the whole file, there or not.

States:
  missing     no such file
  wrong size  the file cannot be the published one, or is not whole
  unchecked   the size fits; its digest was never computed ("cuzk params check")
  verified    the digest is the published one
  mismatch    the digest is another one: damaged, or from another setup
  insecure    INSECURE: somebody knows its secrets`,
		Example: `  # everything
  cuzk params list

  # what a 32 GiB miner needs
  cuzk params list porep-32GiB winning-32GiB window-32GiB update-32GiB

  # file names, digests and where IPFS has them
  cuzk params list --long window-2KiB`,
		Args: circuitArgs, ValidArgsFunction: completeCircuits(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			u := newUI(cmd)
			rows, err := listKeys(u, &keys, names)
			if err != nil {
				return err
			}
			if asJSON {
				return u.json(keyLines(rows))
			}
			return u.table(keyTable(rows, long))
		},
	}
	keys.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&long, "long", false, "add file name, digest and CID")
	return cmd
}

func newParamsCheckCmd() *cobra.Command {
	var keys keyFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [CIRCUIT...]",
		Short: "Read keys and compare them with what was published",
		Long: `Check reads every key file that is there and computes its digest: about a minute
for 40 GB. Without names it passes over keys that are missing; a circuit that is
named must have both files, published or insecure. Insecure keys have no
published digest: their points are tested instead.

Digests are remembered, so a file is read once unless it changes. To read it
again, set --cache-dir to an empty string.

The exit code is 4 if any file is missing, damaged or from another setup.`,
		Example: `  # all keys that are there
  cuzk params check

  # only these, and they must be there
  cuzk params check porep-32GiB window-32GiB

  # read them again although their digests are remembered
  cuzk params check --cache-dir ""`,
		Args: circuitArgs, ValidArgsFunction: completeCircuits(0),
		RunE: func(cmd *cobra.Command, names []string) error {
			u := newUI(cmd)
			rows, err := listKeys(u, &keys, names)
			if err != nil {
				return err
			}
			return checkKeys(cmd, u, &keys, rows, len(names) > 0, asJSON)
		},
	}
	keys.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// circuitArgs wants circuit names.
func circuitArgs(_ *cobra.Command, names []string) error {
	for _, n := range names {
		if _, err := circuitNamed(n); err != nil {
			return err
		}
	}
	return nil
}

// listKeys lists the rows of the named circuits, or of all.
func listKeys(u *ui, keys *keyFlags, names []string) ([]srs.Row, error) {
	rows, err := srs.List(keys.dir, keys.options(u))
	if err != nil {
		return nil, keys.hint(err)
	}
	second, err := srs.ListValues(keys.dir, keys.options(u))
	if err != nil {
		return nil, err
	}
	rows = append(rows, second...)
	if len(names) > 0 {
		rows = slices.DeleteFunc(rows, func(r srs.Row) bool { return !slices.Contains(names, r.ID.String()) })
	}
	return rows, unlisted(names, rows)
}

// replaced tells whether a published file is missing but the insecure key of the
// same circuit is there.
func replaced(r srs.Row, rows []srs.Row) bool {
	return r.State == srs.Missing && slices.ContainsFunc(rows, func(o srs.Row) bool {
		return o.Insecure() && o.ID == r.ID && o.Part == r.Part
	})
}

// unlisted finds a circuit that was named but has no key, published or made.
func unlisted(names []string, rows []srs.Row) error {
	for _, n := range names {
		if !slices.ContainsFunc(rows, func(r srs.Row) bool { return r.ID.String() == n }) {
			return fmt.Errorf("%s: %w: none was ever published, and there is no insecure one", n, srs.ErrKeyMissing)
		}
	}
	return nil
}

// checkKeys checks the rows and says a line each.
func checkKeys(cmd *cobra.Command, u *ui, keys *keyFlags, rows []srs.Row, needAll, asJSON bool) error {
	var seen []srs.Row
	bad := 0
	for _, r := range rows {
		if r.State == srs.Missing && (!needAll || replaced(r, rows)) {
			continue
		}
		r, err := srs.Check(cmd.Context(), keys.dir, r, keys.options(u))
		u.done()
		if err != nil {
			return err
		}
		seen = append(seen, r)
		if !good(r) {
			bad++
		}
		if !asJSON {
			if err := u.say("%s%s: %s", r.ID, r.Part, verdict(r)); err != nil {
				return err
			}
		}
	}
	if asJSON {
		if err := u.json(keyLines(seen)); err != nil {
			return err
		}
	}
	return checkSummary(u, keys.dir, len(seen), bad)
}

func good(r srs.Row) bool { return r.State == srs.Verified || r.State == srs.InsecureOK }

// verdict explains a state after a check.
func verdict(r srs.Row) string {
	switch r.State {
	case srs.Verified:
		return "verified, " + bytes(r.Bytes)
	case srs.InsecureOK:
		return "INSECURE, well formed, " + bytes(r.Bytes)
	case srs.WrongSize:
		return fmt.Sprintf("wrong size, %d bytes instead of %d", r.Bytes, r.Want)
	case srs.Mismatch:
		if r.Part == srs.ValuesPart {
			return "damaged, digest " + r.Digest + "; \"cuzk params prepare --force\" makes it anew"
		}
		return fmt.Sprintf("mismatch, digest %s instead of %s", r.Digest, r.Published.Digest)
	}
	return string(r.State)
}

func checkSummary(u *ui, dir string, n, bad int) error {
	switch {
	case n == 0:
		u.note("no keys in %s", dir)
	case bad > 0:
		return hint(fmt.Errorf("%d of %d key files in %s are not good: %w", bad, n, dir, srs.ErrCorrupt),
			"fetch damaged and missing files again; nothing will be proved with them")
	}
	return nil
}

// keyTable is the text form of a list.
func keyTable(rows []srs.Row, long bool) [][]string {
	head := []string{"CIRCUIT", "PART", "STATE", "SIZE"}
	if long {
		head = append(head, "FILE", "PUBLISHED DIGEST", "CID")
	}
	out := [][]string{head}
	for _, r := range rows {
		state := string(r.State)
		if r.State == srs.InsecureOK {
			state = "INSECURE"
		}
		line := []string{r.ID.String(), r.Part[1:], state, bytes(r.Want)}
		if r.State == srs.WrongSize {
			line[3] = fmt.Sprintf("%d bytes instead of %d", r.Bytes, r.Want)
		}
		if long {
			line = append(line, r.File, dash(r.Published.Digest), dash(r.Published.CID))
		}
		out = append(out, line)
	}
	return out
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// keyLine is the JSON form of a row.
type keyLine struct {
	Circuit         string `json:"circuit"`
	Part            string `json:"part"` // params, vk or values
	State           string `json:"state"`
	Insecure        bool   `json:"insecure"`
	File            string `json:"file"`
	Bytes           int64  `json:"bytes"`      // on disk, 0 if missing
	WantBytes       int64  `json:"want_bytes"` // that the circuit's key has
	Digest          string `json:"digest,omitempty"`
	PublishedDigest string `json:"published_digest,omitempty"`
	CID             string `json:"cid,omitempty"`
}

func keyLines(rows []srs.Row) []keyLine {
	out := make([]keyLine, 0, len(rows))
	for _, r := range rows {
		out = append(out, keyLine{r.ID.String(), r.Part[1:], string(r.State), r.Insecure(), r.File,
			r.Bytes, r.Want, r.Digest, r.Published.Digest, r.Published.CID})
	}
	return out
}
