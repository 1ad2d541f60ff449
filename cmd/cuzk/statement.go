package main

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/ipfs/go-cid"
	"github.com/spf13/cobra"

	"cuzk/kind"
	"cuzk/porep"
	"cuzk/vanilla"
	vporep "cuzk/vanilla/porep"
	"cuzk/vanilla/snap"
)

// statementFlags are the other ways to say what is proved than a request file:
// a phase-1 output as it lies on an operator's disk, or the partition proofs of
// an update.
type statementFlags struct {
	c1, miner string
	sector    int64
	snap      []string
	proof     string
	rOld      string
	rNew      string
	dNew      string
}

func (f *statementFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.c1, "c1", "", "phase-1 output (C1) `file` instead of a request, with --miner")
	fl.StringVar(&f.miner, "miner", "", "`address` of the miner of --c1, for example f01000")
	fl.Int64Var(&f.sector, "sector", -1, "`number` of the sector of --c1, if the file does not say")
	fl.StringSliceVar(&f.snap, "snap", nil, "partition proof `files` of an update, in order, instead of a request")
	fl.StringVar(&f.proof, "proof-type", "", "registered proof of --snap by `name`, for example StackedDrg32GiBV1")
	fl.StringVar(&f.rOld, "comm-r-old", "", "comm_r before the update, `hex or CID`")
	fl.StringVar(&f.rNew, "comm-r-new", "", "comm_r after the update, `hex or CID`")
	fl.StringVar(&f.dNew, "comm-d-new", "", "comm_d after the update, `hex or CID`")
}

// args checks that there is one statement.
func (f *statementFlags) args(_ *cobra.Command, args []string) error {
	n := len(args)
	if f.c1 != "" {
		n++
	}
	if len(f.snap) > 0 {
		n++
	}
	if n != 1 {
		return usageError("one of REQUEST, --c1 and --snap is needed, %d were given", n)
	}
	return nil
}

// job decodes whichever was given.
func (f *statementFlags) job(args []string) (*kind.Job, error) {
	switch {
	case f.c1 != "":
		return f.c1Job()
	case len(f.snap) > 0:
		return f.snapJob()
	}
	return readRequest(args[0])
}

func (f *statementFlags) c1Job() (*kind.Job, error) {
	miner, err := minerID(f.miner)
	if err != nil {
		return nil, err
	}
	data, err := readSmall(nil, f.c1)
	if err != nil {
		return nil, err
	}
	c1, err := vporep.Decode(data)
	if err != nil {
		return nil, badInput(fmt.Errorf("%s: %w", f.c1, err))
	}
	who := vporep.Identity{ProverID: porep.ProverID(miner), SectorID: uint64(f.sector)}
	switch w := c1.Wrapper; {
	case f.sector < 0 && w == nil:
		return nil, hint(usageError("%s does not say which sector it is of", f.c1), "add --sector NUMBER")
	case f.sector < 0:
		who.SectorID = w.SectorNum
	case w != nil && w.SectorNum != who.SectorID:
		return nil, badInput(fmt.Errorf("%s is of sector %d, not %d", f.c1, w.SectorNum, f.sector))
	}
	return kind.PoRep(&vporep.Request{C1: c1, Identity: who})
}

// minerID reads an id address (f01000, t01000) or the bare number.
func minerID(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "f0")
	if !ok {
		digits = strings.TrimPrefix(text, "t0")
	}
	id, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, hint(usageError("--miner %q is no id address", text), "an id address is f0 and a number, for example f01000")
	}
	return id, nil
}

func (f *statementFlags) snapJob() (*kind.Job, error) {
	r, err := snap.ParseRegistered(f.proof)
	if err != nil {
		return nil, hint(usageError("--proof-type: %v", err), "an update of a 32 GiB sector is StackedDrg32GiBV1")
	}
	in := snap.Input{Registered: r}
	for _, c := range []struct {
		flag, text string
		to         *vanilla.Domain
	}{{"comm-r-old", f.rOld, &in.CommROld}, {"comm-r-new", f.rNew, &in.CommRNew}, {"comm-d-new", f.dNew, &in.CommDNew}} {
		if *c.to, err = commitment(c.text); err != nil {
			return nil, usageError("--%s: %v", c.flag, err)
		}
	}
	for _, path := range f.snap {
		b, err := readSmall(nil, path)
		if err != nil {
			return nil, err
		}
		in.Proofs = append(in.Proofs, b)
	}
	return kind.Snap(in)
}

// Codecs of commitments (multicodec table): fil-commitment-unsealed and
// fil-commitment-sealed.
const (
	codecUnsealed = 0xf101
	codecSealed   = 0xf102
)

// commitment reads 32 bytes in hex, or the CID of a comm_d or comm_r.
func commitment(text string) (vanilla.Domain, error) {
	if b, err := hex.DecodeString(text); err == nil && len(b) == len(vanilla.Domain{}) {
		return vanilla.DomainFrom(b)
	}
	c, err := cid.Decode(text)
	if err != nil {
		return vanilla.Domain{}, fmt.Errorf("%q is neither 64 hex digits nor a CID", text)
	}
	if p := c.Prefix(); p.Codec != codecUnsealed && p.Codec != codecSealed || p.MhLength != len(vanilla.Domain{}) {
		return vanilla.Domain{}, fmt.Errorf("%s is not the CID of a commitment", text)
	}
	h := c.Hash()
	return vanilla.DomainFrom(h[len(h)-len(vanilla.Domain{}):])
}
