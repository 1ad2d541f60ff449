package main

import (
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/spf13/cobra"

	"cuzk/groth16"
	"cuzk/srs"
)

// verifyFlags are the flags of cuzk verify.
type verifyFlags struct {
	keys   keyFlags
	vk     string
	inputs string
	json   bool
}

func newVerifyCmd() *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify [REQUEST] PROOF",
		Short: "Check that a proof proves its statement",
		Long: `Verify checks the Groth16 proof of every partition of a statement.

The statement is either a proof request, the same file that was proved, or public
inputs and a verifying key:

  REQUEST   a proof request in JSON. Its circuit decides which key of --params-dir
            is used. The vanilla proofs in it only serve to find the public inputs;
            they are not checked again.
  --inputs  public inputs in JSON, a list for each partition: [["hex", ...], ...].
            Each is a big-endian integer; the constant one is left out.
  --vk      the verifying key, a .vk file, to go with --inputs. It is trusted as
            it is.

PROOF is 192 bytes a partition, in partition order: raw, hex, base64, or JSON with
a member "proof" in hex or base64. A "-" reads standard input.

The answer is "valid" and exit code 0, or the reason for refusal and exit code 5.
A proof under an INSECURE key convinces nobody: whoever knows its secrets can
forge one.`,
		Example: `  # against the published key
  cuzk verify request.json proof.bin

  # a test proof made with an insecure key
  cuzk verify --insecure --params-dir ./keys request.json proof.bin

  # with key and public inputs at hand
  cuzk verify --vk window-2KiB.vk --inputs inputs.json proof.hex`,
		RunE: func(cmd *cobra.Command, args []string) error { return verify(cmd, &f, args) },
	}
	cmd.Args = func(_ *cobra.Command, args []string) error { return f.check(args) }
	f.keys.register(cmd)
	f.keys.registerInsecure(cmd)
	cmd.Flags().StringVar(&f.vk, "vk", "", "verifying key `file`, with --inputs")
	cmd.Flags().StringVar(&f.inputs, "inputs", "", "public inputs `file`, with --vk")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return cmd
}

// check finds out which of the two forms is meant.
func (f *verifyFlags) check(args []string) error {
	given := f.vk != "" || f.inputs != ""
	switch {
	case given && (f.vk == "" || f.inputs == ""):
		return usageError("--vk and --inputs belong together")
	case given && len(args) != 1:
		return usageError("with --vk and --inputs there is one argument, the proof, not %d", len(args))
	case !given && len(args) != 2:
		return hint(usageError("two arguments are needed, a request and a proof, not %d", len(args)),
			"a proof alone can be checked with --vk and --inputs")
	}
	return nil
}

// statement is what a proof has to prove, and the key to check it with.
type statement struct {
	vk       *srs.VerifyingKey
	key      string // file that it came from
	circuit  string // empty if only a .vk file was given
	insecure bool   // the key's secrets are known; not knowable of a bare .vk file
	inputs   [][]fr.Element
}

// verdictLine is the JSON form of the answer.
type verdictLine struct {
	Valid      bool   `json:"valid"`
	Partitions int    `json:"partitions"`
	Circuit    string `json:"circuit,omitempty"`
	Key        string `json:"key"`
	Insecure   bool   `json:"insecure"`
	Reason     string `json:"reason,omitempty"` // why it is not valid
}

func verify(cmd *cobra.Command, f *verifyFlags, args []string) error {
	u := newUI(cmd)
	proof, err := readProof(cmd.InOrStdin(), args[len(args)-1])
	if err != nil {
		return err
	}
	s, err := f.statement(cmd, u, args)
	if err != nil {
		return err
	}
	err = s.verify(proof)
	if err != nil && !errors.Is(err, groth16.ErrInvalidProof) {
		return err
	}
	return s.answer(u, len(proof)/groth16.ProofBytes, err, f.json)
}

func (f *verifyFlags) statement(cmd *cobra.Command, u *ui, args []string) (*statement, error) {
	if f.vk != "" {
		return f.bareStatement()
	}
	job, err := readRequest(args[0])
	if err != nil {
		return nil, err
	}
	s := &statement{circuit: job.Circuit.String()}
	for i := range job.Partitions {
		s.inputs = append(s.inputs, job.Partitions[i].Inputs)
	}
	vk, found, err := srs.OpenVK(cmd.Context(), f.keys.dir, s.circuit, f.keys.options(u))
	u.done()
	if err != nil {
		return nil, f.keys.hint(err)
	}
	s.vk, s.key, s.insecure = vk, found.Path, !found.Official
	return s, nil
}

func (f *verifyFlags) bareStatement() (*statement, error) {
	vk, err := srs.ReadVerifyingKey(f.vk)
	if err != nil {
		return nil, err
	}
	inputs, err := readInputs(f.inputs)
	if err != nil {
		return nil, err
	}
	return &statement{vk: vk, key: f.vk, inputs: inputs}, nil
}

// verify checks every partition.
func (s *statement) verify(proof []byte) error {
	proofs, err := groth16.DecodeProofs(proof)
	if err != nil {
		return err
	}
	return groth16.VerifyBatch(s.vk, s.inputs, proofs, rand.Reader)
}

// answer tells the verdict. A refusal is an answer too: it goes to standard
// output, and the exit code repeats it.
func (s *statement) answer(u *ui, partitions int, refusal error, asJSON bool) error {
	v := verdictLine{Valid: refusal == nil, Partitions: partitions, Circuit: s.circuit, Key: s.key, Insecure: s.insecure}
	if refusal != nil {
		v.Reason = refusal.Error()
	}
	if asJSON {
		if err := u.json(v); err != nil {
			return err
		}
	} else if err := u.say("%s", v.text()); err != nil {
		return err
	}
	if refusal != nil {
		return errors.Join(errReported, refusal)
	}
	return nil
}

// text is the verdict in a line.
func (v verdictLine) text() string {
	if !v.Valid {
		return "not valid: " + v.Reason
	}
	text := "valid: " + plural(v.Partitions, "partition")
	if v.Circuit != "" {
		text += " of " + v.Circuit
	}
	if v.Insecure {
		text += ", under an INSECURE key that proves nothing to others"
	}
	return text
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
