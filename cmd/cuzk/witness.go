package main

import (
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/synth"
)

// errUnsatisfied: a witness does not satisfy its circuit.
var errUnsatisfied = errors.New("the witness does not satisfy the circuit")

// witnessJSON has the members of the reference's witness files.
type witnessJSON struct {
	Circuit    string          `json:"circuit"`
	Partitions []partitionJSON `json:"partitions"`
}

type partitionJSON struct {
	Aux              int          `json:"aux"`
	AuxSHA256        string       `json:"aux_sha256"`
	AuxBits          int          `json:"aux_that_are_0_or_1"`
	Chunk            int          `json:"chunk"`
	Chunks           []string     `json:"chunk_sha256_8"`
	FirstUnsatisfied *unsatisfied `json:"first_unsatisfied"`
	Partition        int          `json:"partition"`
	PublicInputs     []string     `json:"public_inputs"`
	Rows             int          `json:"rows"`
	Satisfied        bool         `json:"satisfied"`
}

type unsatisfied struct {
	Row  int    `json:"row"`
	Path string `json:"path"`
}

func newWitnessCmd() *cobra.Command {
	var c circuitFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "witness REQUEST",
		Short: "Compute the witness of a request and print its digests",
		Long: `Witness checks the vanilla proofs of a request, computes the value of every
variable of every partition, evaluates every constraint, and prints public inputs
and digests. No key is needed. The digests are over the canonical values, 32 bytes
little-endian each, in order of allocation, as the reference implementation has
them: equal digests mean equal witnesses.

If a constraint does not hold, the first such is named with the gadget that it
belongs to, and the exit code is 3. "cuzk help requests" says what REQUEST holds.

A full window-32GiB partition takes about a minute on two cores and 4 GB.`,
		Example: `  cuzk witness request.json

  # with public inputs and the digest of every 65,536 variables
  cuzk witness request.json --json`,
		Args: exactly("REQUEST"),
		RunE: func(cmd *cobra.Command, args []string) error { return witness(cmd, &c, args[0], asJSON) },
	}
	c.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func witness(cmd *cobra.Command, c *circuitFlag, path string, asJSON bool) error {
	u, ctx := newUI(cmd), cmd.Context()
	st := &stages{u: u}
	j, err := readRequest(path)
	if err != nil {
		return err
	}
	if err := checkRequest(ctx, j, st.watch()); err != nil {
		return err
	}
	compiled, _, err := openCircuit(cmd, c, j.Circuit.String())
	if err != nil {
		return err
	}
	out := witnessJSON{Circuit: j.Circuit.String()}
	for i := range j.Partitions {
		p, err := describe(cmd, st, compiled, &j.Partitions[i])
		if err != nil {
			return err
		}
		out.Partitions = append(out.Partitions, *p)
	}
	if asJSON {
		err = u.json(out)
	} else {
		err = printWitness(u, &out)
	}
	return errors.Join(err, firstUnsatisfied(&out))
}

// describe computes and summarises one partition.
func describe(cmd *cobra.Command, st *stages, c *r1cs.Compiled, p *kind.Partition) (*partitionJSON, error) {
	ctx := cmd.Context()
	defer st.u.done()
	name := fmt.Sprintf("partition %d, ", p.Index)
	st.u.share(name+"witness", 0)
	w, err := p.Witness(ctx, c)
	if err != nil {
		return nil, err
	}
	st.u.share(name+"constraints", 0)
	bad, err := c.Check(ctx, w)
	if err != nil {
		return nil, err
	}
	s, err := synth.Summarize(ctx, c, w, func(done int) { st.u.share(name+"digests", float64(done)/float64(w.Aux())) })
	if err != nil {
		return nil, err
	}
	out := &partitionJSON{Partition: p.Index, Aux: s.Aux, Rows: c.Counts().Rows, AuxBits: s.Bits, Chunk: synth.Chunk,
		AuxSHA256: hex.EncodeToString(s.SHA256[:]), Satisfied: bad == nil}
	for _, ch := range s.Chunks {
		out.Chunks = append(out.Chunks, hex.EncodeToString(ch[:]))
	}
	for _, x := range p.Inputs {
		b := x.Bytes()
		out.PublicInputs = append(out.PublicInputs, hex.EncodeToString(b[:]))
	}
	if bad != nil {
		out.FirstUnsatisfied = &unsatisfied{bad.Row, bad.Path}
	}
	return out, nil
}

func printWitness(u *ui, w *witnessJSON) error {
	for i := range w.Partitions {
		p := &w.Partitions[i]
		rows := [][]string{{"circuit", w.Circuit}, {"partition", fmt.Sprint(p.Partition)}, {"aux", fmt.Sprint(p.Aux)},
			{"of them 0 or 1", fmt.Sprint(p.AuxBits)}, {"rows", fmt.Sprint(p.Rows)}, {"public inputs", fmt.Sprint(len(p.PublicInputs))},
			{"sha256 of aux", p.AuxSHA256}, {"satisfied", fmt.Sprint(p.Satisfied)}}
		if p.FirstUnsatisfied != nil {
			rows = append(rows, []string{"first bad row", fmt.Sprintf("%d in %s", p.FirstUnsatisfied.Row, p.FirstUnsatisfied.Path)})
		}
		if err := u.table(rows); err != nil {
			return err
		}
	}
	return nil
}

func firstUnsatisfied(w *witnessJSON) error {
	for _, p := range w.Partitions {
		if f := p.FirstUnsatisfied; f != nil {
			return badInput(fmt.Errorf("partition %d: %w: constraint %d in %s", p.Partition, errUnsatisfied, f.Row, f.Path))
		}
	}
	return nil
}
