package main

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"cuzk/internal/atomicfile"
	"cuzk/porep"
	"cuzk/sample"
	"cuzk/sector"
	"cuzk/vanilla/post"
	"cuzk/vanilla/snap"
)

type sampleFlags struct {
	size, proof string
	seed        uint64
	sectors     int
	out         string
}

func newSampleCmd() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample porep|winning|window|update",
		Short: "Make a request to try things with, of any size, without a sector",
		Long: `Sample makes a proof request from a number. There is no sector behind it: only what
the proof opens is fixed, and trees are hashed along the opened paths. All checks
of the reference hold all the same, and the proof made of it verifies. The same
arguments always give the same files.

The request goes to the file given by -o; files that it names lie beside it. For
porep -o names the phase-1 output (C1), and the request lies beside it with
".request.json" in place of ".json".

Samples are marked: the miner is f01000, tickets, seeds and randomness read "cuzk
sample", and a C1 carries a member "cuzk_sample". A synthetic PoRep needs a sealed
sector, which is made here up to 8 MiB.`,
		Example: `  # a 32 GiB PoRep, ten partitions
  cuzk sample porep --size 32GiB --seed 7 -o c1.json

  # a full WindowPoSt partition
  cuzk sample window --size 32GiB --sectors 2349 -o window.json

  # and what the circuit makes of it
  cuzk sample winning --size 32GiB -o w.json && cuzk witness w.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return makeSample(cmd, &f, args[0]) },
	}
	cmd.Flags().StringVar(&f.size, "size", "2KiB", "sector `size`: 2KiB, 8MiB, 512MiB, 32GiB or 64GiB")
	cmd.Flags().StringVar(&f.proof, "proof", "", "registered proof by `name`, for example StackedDrgWindow32GiBV1 (default: the newest interactive one of the size)")
	cmd.Flags().Uint64Var(&f.seed, "seed", 1, "the `number` that everything follows from")
	cmd.Flags().IntVar(&f.sectors, "sectors", 1, "`number` of sectors of a window sample")
	cmd.Flags().StringVarP(&f.out, "output", "o", "", "`file` of the request (porep: of the C1)")
	cmd.MarkFlagRequired("output")
	return cmd
}

func makeSample(cmd *cobra.Command, f *sampleFlags, kind string) error {
	files, err := f.files(kind)
	if err != nil {
		return badInput(err)
	}
	for _, file := range files {
		if err := errors.Join(cmd.Context().Err(), writeSample(file)); err != nil {
			return err
		}
	}
	u := newUI(cmd)
	u.note("a sample: there is no sector behind it")
	if kind == "porep" {
		return u.say("%s\n%s", files[1].Name, files[0].Name)
	}
	return u.say("%s", files[0].Name)
}

// files makes the sample; names are whole paths, the request first.
func (f *sampleFlags) files(kind string) ([]sample.File, error) {
	size, err := sector.Parse(f.size)
	if err != nil {
		return nil, err
	}
	if f.sectors != 1 && kind != "window" {
		return nil, fmt.Errorf("--sectors is for window samples")
	}
	dir, name := filepath.Split(strings.TrimSuffix(f.out, ".json"))
	var files []sample.File
	switch kind {
	case "porep":
		files, err = f.porep(size, name)
	case "winning":
		files, err = f.post(name, "StackedDrgWinning%sV1", size)
	case "window":
		files, err = f.post(name, "StackedDrgWindow%sV1_2", size)
	case "update":
		files, err = f.update(name, size)
	default:
		return nil, usageError("a sample is of porep, winning, window or update, not %q", kind)
	}
	for i := range files {
		files[i].Name = filepath.Join(dir, files[i].Name)
	}
	return files, err
}

// porep names the C1 as -o does, since that is what operators have, and the
// request after it.
func (f *sampleFlags) porep(size sector.Size, name string) ([]sample.File, error) {
	registered := f.proof
	if registered == "" {
		registered = fmt.Sprintf("StackedDrg%sV1_1", size)
	}
	p, err := porep.ParseProof(registered)
	if err != nil {
		return nil, err
	}
	if p.Size() != size {
		return nil, fmt.Errorf("registered proof %s is of %s, not %s", p, p.Size(), size)
	}
	s, err := sample.PoRep(p.Config(), f.seed, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	c1, err := s.C1()
	if err != nil {
		return nil, err
	}
	return sample.PoRepFiles(name+".request", name+".json", c1, s.Identity)
}

func (f *sampleFlags) post(name, format string, size sector.Size) ([]sample.File, error) {
	registered := f.proof
	if registered == "" {
		registered = fmt.Sprintf(format, size)
	}
	r, err := post.ParseRegistered(registered)
	if err != nil {
		return nil, err
	}
	if r.Size != size {
		return nil, fmt.Errorf("registered proof %s is of %s, not %s", r.Name, r.Size, size)
	}
	in, err := sample.PoSt(r, f.sectors, f.seed, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	return sample.PoStFiles(name, in)
}

func (f *sampleFlags) update(name string, size sector.Size) ([]sample.File, error) {
	registered := f.proof
	if registered == "" {
		registered = fmt.Sprintf("StackedDrg%sV1", size)
	}
	r, err := snap.ParseRegistered(registered)
	if err != nil {
		return nil, err
	}
	if r.Size != size {
		return nil, fmt.Errorf("registered proof %s is of %s, not %s", r.Name, r.Size, size)
	}
	in, err := sample.Update(r, f.seed)
	if err != nil {
		return nil, err
	}
	return sample.UpdateFiles(name, in)
}

// writeSample writes a file that appears whole.
func writeSample(file sample.File) (err error) {
	out, err := atomicfile.Create(file.Name)
	if err != nil {
		return badInput(err)
	}
	defer out.Abort()
	b := bufio.NewWriterSize(out, 1<<20)
	if err := errors.Join(file.Write(b), b.Flush()); err != nil {
		return fmt.Errorf("write %s: %w", file.Name, err)
	}
	return out.Commit()
}
