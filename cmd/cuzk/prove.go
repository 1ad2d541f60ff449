package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"

	"github.com/spf13/cobra"

	"cuzk/backend/cpu"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/proving"
)

type proveFlags struct {
	statement      statementFlags
	keys           keyFlags
	circuits       circuitFlag
	out, format    string
	fixedR, fixedS string
	remote         remoteFlags
	json           bool
}

func newProveCmd() *cobra.Command {
	var f proveFlags
	cmd := &cobra.Command{
		Use:   "prove REQUEST | --c1 FILE | --snap FILES",
		Short: "Prove a request",
		Long: `Prove checks the vanilla proofs of a request, makes the Groth16 proof of every
partition, verifies each, and writes them one after the other, 192 bytes each, as
Lotus and Curio expect them. "cuzk help requests" says what REQUEST holds.

In place of a request, --c1 takes a phase-1 output (C1) as it lies on an operator's
disk, bare or in Curio's wrapper, with the miner it is of; and --snap takes the
partition proofs of a SnapDeals update with its commitments in hex or as CIDs.

With --daemon another process proves. If it is restarted meanwhile, the same
request is sent again, which finds the job that it was.

The key comes from --params-dir: the published one, or, with --insecure, one that
"cuzk params setup" made.

--fixed-r and --fixed-s replace the random numbers that hide the witness, so that
proofs can be compared byte for byte with another implementation's. Such a proof
gives its witness away; they are for tests, together with --insecure.`,
		Example: `  # prove and keep the raw bytes
  cuzk prove request.json -o proof.bin

  # a C1 from disk
  cuzk prove --c1 c1.json --miner f01000 --sector 7 -o proof.bin

  # an update
  cuzk prove --snap p0.vproof,p1.vproof --proof-type StackedDrg32GiBV1 \
    --comm-r-old bagboea4... --comm-r-new bagboea4... --comm-d-new baga6ea4... \
    -o proof.bin

  # by a daemon; asked again, the same job
  cuzk prove request.json --daemon 127.0.0.1:9820 --id sector-7 -o proof.bin

  # a test proof as hex on the terminal
  cuzk prove request.json --insecure --params-dir ./keys --format hex`,
		RunE: func(cmd *cobra.Command, args []string) error { return prove(cmd, &f, args) },
	}
	cmd.Args = f.statement.args
	f.statement.register(cmd)
	f.keys.register(cmd)
	f.keys.registerInsecure(cmd)
	f.circuits.register(cmd)
	f.remote.register(cmd)
	cmd.Flags().StringVarP(&f.out, "output", "o", "-", "`file` for the proof; - for standard output, where raw bytes become hex")
	cmd.Flags().StringVar(&f.format, "format", "", "raw, hex or base64 (default: raw to a file, hex to standard output)")
	cmd.Flags().StringVar(&f.fixedR, "fixed-r", "", "r in `hex`, big-endian; tests only")
	cmd.Flags().StringVar(&f.fixedS, "fixed-s", "", "s in `hex`, big-endian; tests only")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a report in JSON; the proof must go to a file")
	return cmd
}

// blinder is crypto/rand unless both fixed numbers are given.
func (f *proveFlags) blinder(u *ui) (groth16.Blinder, error) {
	switch {
	case f.fixedR == "" && f.fixedS == "":
		return groth16.Random{Reader: rand.Reader}, nil
	case f.fixedR == "" || f.fixedS == "":
		return nil, usageError("--fixed-r and --fixed-s belong together")
	case !f.keys.insecure:
		return nil, usageError("--fixed-r and --fixed-s are allowed only with --insecure")
	}
	var b groth16.Blinding
	if err := setHex(&b.R, f.fixedR); err != nil {
		return nil, usageError("--fixed-r: %v", err)
	}
	if err := setHex(&b.S, f.fixedS); err != nil {
		return nil, usageError("--fixed-s: %v", err)
	}
	u.note("warning: r and s are fixed: this proof does not hide its witness")
	return groth16.Fixed(b), nil
}

// encoded gives the proof in the form that was asked for.
func (f *proveFlags) encoded(proof []byte) ([]byte, error) {
	format := f.format
	if format == "" {
		format = "raw"
		if f.out == "-" {
			format = "hex"
		}
	}
	switch format {
	case "raw":
		return proof, nil
	case "hex":
		return []byte(hex.EncodeToString(proof) + "\n"), nil
	case "base64":
		return []byte(base64.StdEncoding.EncodeToString(proof) + "\n"), nil
	}
	return nil, usageError("--format is raw, hex or base64, not %q", format)
}

func (f *proveFlags) check() error {
	if f.json && f.out == "-" {
		return usageError("--json needs the proof in a file: add -o FILE")
	}
	_, err := f.encoded(nil)
	return err
}

// proofReport is the JSON form of what prove did.
type proofReport struct {
	Circuit    string      `json:"circuit"`
	Partitions int         `json:"partitions"`
	Bytes      int         `json:"bytes"`
	Insecure   bool        `json:"insecure"`
	Output     string      `json:"output"`
	Stages     []stageLine `json:"stages"`
}

func prove(cmd *cobra.Command, f *proveFlags, args []string) error {
	u := newUI(cmd)
	err := f.remote.check(cmd)
	if err == nil {
		err = f.check()
	}
	if err != nil {
		return err
	}
	rnd, err := f.blinder(u)
	if err != nil {
		return err
	}
	j, err := f.statement.job(args)
	if err != nil {
		return err
	}
	out, err := openOutput(cmd.OutOrStdout(), f.out)
	if err != nil {
		return err
	}
	defer out.abort()
	st := &stages{u: u}
	proof, insecure, err := []byte(nil), false, error(nil)
	if f.remote.addr != "" {
		proof, err = f.remote.prove(cmd.Context(), st, args[0])
	} else {
		proof, insecure, err = f.run(cmd, st, j, rnd)
	}
	u.done()
	if err != nil {
		return err
	}
	encoded, err := f.encoded(proof)
	if err != nil {
		return err
	}
	if err := out.write(encoded); err != nil {
		return err
	}
	return f.report(u, st, j, proof, insecure)
}

// report says what was done.
func (f *proveFlags) report(u *ui, st *stages, j *kind.Job, proof []byte, insecure bool) error {
	if insecure {
		u.note("proved with an INSECURE key: the proof convinces nobody")
	}
	if f.json {
		return u.json(proofReport{j.Circuit.String(), len(j.Partitions), len(proof), insecure, f.out, st.lines("")})
	}
	u.note("proved %s, %s, %d bytes, verified, in %s", j.Circuit, plural(len(j.Partitions), "partition"), len(proof), took(st.total()))
	return nil
}

// run opens circuit and key and proves. The vanilla proof is checked first,
// since it needs neither.
func (f *proveFlags) run(cmd *cobra.Command, st *stages, j *kind.Job, rnd groth16.Blinder) (proof []byte, insecure bool, err error) {
	ctx := cmd.Context()
	if err := checkRequest(ctx, j, st.watch()); err != nil {
		return nil, false, err
	}
	s, err := proving.Open(ctx, cpu.New(cpu.Options{}), provingOptions(st.u, &f.keys, &f.circuits), j.Circuit, st.watch())
	if err != nil {
		return nil, false, f.keys.hint(err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	proof, err = s.ProveChecked(ctx, j, rnd, st.watch())
	return proof, !s.Key.Official, selfCheckHint(err)
}

// selfCheckHint says how to find out why a proof that was just made is wrong.
func selfCheckHint(err error) error {
	if errors.Is(err, groth16.ErrSelfCheck) {
		return hint(err, "nothing was written; \"cuzk params check\" tells whether the key is damaged")
	}
	return err
}
