package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"cuzk/kind"
	"cuzk/proving"
	"cuzk/vanilla"
)

// newRequestsTopic is a page of the help: it has nothing to run.
func newRequestsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "requests",
		Short: "What a request file holds",
		Long: `A request is a JSON object that says what is to be proved. Commitments, randomness
and prover ids are 32 bytes in hexadecimal, in the order of the bytes. Files are
named relative to the request and lie in its folder or below.

WinningPoSt and WindowPoSt:
  kind              "winning" or "window"
  registered_proof  for example "StackedDrgWinning32GiBV1" or
                    "StackedDrgWindow32GiBV1_2"
  randomness        the two top bits of the last byte are zero
  prover_id         padded with zeros
  vanilla_proofs    a file for each sector, in any order: FallbackPoStSectorProof
                    in bincode, as the sealing software makes it

SnapDeals:
  kind              "update"
  registered_proof  for example "StackedDrg32GiBV1"
  comm_r_old, comm_r_new, comm_d_new
  partition_proofs  a file for each partition, in order: PartitionProof in bincode

PoRep:
  kind              "porep"
  c1                a file with the output of the first phase of commit, in JSON
  prover_id         padded with zeros
  sector_id         a number

Examples with all their files: "cuzk demo" leaves them in its folder.`,
	}
}

// circuitFlag is the folder of compiled circuits.
type circuitFlag struct{ dir string }

func (c *circuitFlag) register(cmd *cobra.Command) {
	dir := ""
	if user, err := os.UserCacheDir(); err == nil {
		dir = filepath.Join(user, "cuzk", "circuits")
	}
	cmd.Flags().StringVar(&c.dir, "circuit-dir", dir, "`directory` of compiled circuits; empty to compile each time")
}

// provingOptions are what package proving needs to know.
func provingOptions(u *ui, k *keyFlags, c *circuitFlag) proving.Options {
	return proving.Options{
		ParamsDir: k.dir, CircuitDir: c.dir, Keys: k.options(u),
		Warn: func(err error) { u.note("warning: %v", err) },
	}
}

// readRequest decodes a request; the files that it names lie beside it.
func readRequest(path string) (*kind.Job, error) {
	data, err := readSmall(nil, path)
	if err != nil {
		return nil, err
	}
	job, err := kind.Parse(data, func(name string) ([]byte, error) {
		b, err := readSmall(nil, filepath.Join(filepath.Dir(path), name))
		var e *fs.PathError
		if errors.As(err, &e) {
			err = e.Err // the caller says which file
		}
		return b, err
	})
	if err != nil {
		return nil, requestHint(fmt.Errorf("%s: %w", path, err))
	}
	return job, nil
}

// requestHint tells mistakes in the request itself from those in the vanilla
// proofs that it names.
func requestHint(err error) error {
	var e *vanilla.Error
	if errors.As(err, &e) {
		switch first, _, _ := strings.Cut(e.Where, " "); first {
		case "vanilla", "sector", "partition":
			return hint(err, "the vanilla proof is damaged, or of another sector, size or challenge: have it made again")
		}
	}
	return hint(err, "\"cuzk help requests\" says what a request holds")
}

// checkRequest checks the vanilla proofs of a request.
func checkRequest(ctx context.Context, j *kind.Job, w proving.Watch) error {
	err := proving.Check(ctx, j, w)
	if errors.Is(err, kind.ErrBadInput) {
		return requestHint(err)
	}
	return err
}
