package main

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/spf13/cobra"

	"cuzk"
	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/porep"
	"cuzk/r1cs"
	"cuzk/sample"
	"cuzk/srs"
	vporep "cuzk/vanilla/porep"
	vpost "cuzk/vanilla/post"
	vsnap "cuzk/vanilla/snap"
)

// benchBlinding is the fixed pair of every proof here, so that proofs compare.
var benchBlinding = groth16.Fixed{R: fr.NewElement(0x1234567), S: fr.NewElement(0x7654321)}

func newBenchCmd() *cobra.Command {
	return group(&cobra.Command{
		Use:   "bench",
		Short: "Measure what this machine proves, and check that it proves rightly",
		Long: `Bench measures, and checks each proof that it makes or is given.

Begin with "cuzk bench full": a whole request of any size, with everything made in
place. It proves made-up or shipped requests under INSECURE keys with fixed r and
s, so that the proofs of one machine, or of one way to make them, can be compared
with those of another byte for byte; so do gpu and direct, which are for whoever
works on the provers.

Single, batch, stress and queue measure a daemon as its clients see it: a running
one, or one that they start.`,
	}, newBenchFullCmd(), newBenchGPUCmd(), newBenchDirectCmd(),
		newBenchSingleCmd(), newBenchBatchCmd(), newBenchStressCmd(), newBenchQueueCmd())
}

type benchDirectFlags struct {
	sample    string
	partition int
}

func newBenchDirectCmd() *cobra.Command {
	var f benchDirectFlags
	cmd := &cobra.Command{
		Use:   "direct",
		Short: "Compute a sample's proof from the secrets, without a key",
		Long: `Direct computes the exponents of a proof from the published secrets of insecure
keys, as scalars, and from them its three points. It needs no key and shares
nothing with the provers but the circuit and the witness, so that it can judge
them at full size, where it takes 4 GB and a minute of a core.`,
		Example: `  cuzk bench direct --sample porep-32GiB > porep.hex`,
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return benchDirect(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.sample, "sample", "porep-32GiB", "`circuit`")
	cmd.Flags().IntVar(&f.partition, "partition", 0, "`number` of the partition")
	_ = cmd.RegisterFlagCompletionFunc("sample", completeCircuits(0))
	return cmd
}

func benchDirect(cmd *cobra.Command, f *benchDirectFlags) error {
	b, err := newSubject(cmd.Context(), newUI(cmd), f.partition, func() (*kind.Job, error) { return sampleJob(f.sample) })
	if err != nil {
		return err
	}
	blinding := groth16.Blinding(benchBlinding)
	e, err := groth16.Direct(cmd.Context(), b.circuit, groth16.InsecureSecrets(), b.w, &blinding)
	if err != nil {
		return err
	}
	return b.u.say("%x", e.Proof().Encode())
}

// subject is what is proved.
type subject struct {
	u       *ui
	id      srs.ID
	circuit *r1cs.Compiled
	part    *kind.Partition
	w       *r1cs.Assignment
}

func newSubject(ctx context.Context, u *ui, partition int, job func() (*kind.Job, error)) (*subject, error) {
	start := time.Now()
	j, err := job()
	if err != nil {
		return nil, err
	}
	if partition >= len(j.Partitions) {
		return nil, badInput(fmt.Errorf("%s has %d partitions", j.Circuit, len(j.Partitions)))
	}
	u.note("%s: request made in %v", j.Circuit, time.Since(start).Round(time.Millisecond))
	b := &subject{u: u, id: j.Circuit, part: &j.Partitions[partition]}
	start = time.Now()
	blank, err := kind.Blank(j.Circuit)
	if err == nil {
		b.circuit, err = r1cs.Compile(blank)
	}
	if err != nil {
		return nil, err
	}
	u.note("%s: compiled in %v", j.Circuit, time.Since(start).Round(time.Millisecond))
	start = time.Now()
	b.w, err = b.part.Witness(ctx, b.circuit)
	u.note("%s: witness in %v", j.Circuit, time.Since(start).Round(time.Millisecond))
	return b, err
}

// exampleJob reads a request that ships with the program.
func exampleJob(name string) (*kind.Job, error) {
	read := func(name string) ([]byte, error) { return cuzk.Examples.ReadFile(path.Join("testdata/requests", name)) }
	data, err := read(name + ".json")
	if err != nil {
		return nil, badInput(err)
	}
	return kind.Parse(data, read)
}

// sampleJob makes up a request for a circuit, always the same.
func sampleJob(circuit string) (*kind.Job, error) {
	const seed, workers = 7, 0
	id, err := srs.ParseID(circuit)
	if err != nil {
		return nil, badInput(err)
	}
	switch id.Family {
	case srs.PoRep:
		return samplePoRep(id, seed, workers)
	case srs.Update:
		r, err := vsnap.ParseRegistered("StackedDrg" + id.Size.String() + "V1")
		if err != nil {
			return nil, badInput(err)
		}
		in, err := sample.Update(r, seed)
		if err != nil {
			return nil, err
		}
		return kind.Snap(in)
	}
	r, err := registeredPoSt(circuit)
	if err != nil {
		return nil, err
	}
	sectors := r.SectorCount()
	if r.Kind == vpost.Winning {
		sectors = 1
	}
	in, err := sample.PoSt(r, sectors, seed, workers)
	if err != nil {
		return nil, err
	}
	return kind.Post(in)
}

func samplePoRep(id srs.ID, seed uint64, workers int) (*kind.Job, error) {
	p, err := porep.FindProof(id.Size, porep.APIv1_1, porep.Interactive)
	if err != nil {
		return nil, badInput(err)
	}
	s, err := sample.PoRep(p.Config(), seed, workers)
	if err != nil {
		return nil, err
	}
	c1, err := s.C1()
	if err != nil {
		return nil, err
	}
	return kind.PoRep(&vporep.Request{C1: c1, Identity: s.Identity})
}

// registeredPoSt is the first registered proof of a circuit.
func registeredPoSt(circuit string) (vpost.Registered, error) {
	for n := range uint64(64) {
		if r, err := vpost.FromNumber(n); err == nil && r.Circuit() == circuit {
			return r, nil
		}
	}
	return vpost.Registered{}, badInput(fmt.Errorf("no registered PoSt of circuit %s", circuit))
}
