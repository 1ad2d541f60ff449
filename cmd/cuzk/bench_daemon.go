package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"cuzk/internal/loadtest"
)

// benchDaemonFlags are those of every command that measures a daemon.
type benchDaemonFlags struct {
	cases       caseFlags
	count       int
	concurrency int
	look        time.Duration
	json        bool
}

func (f *benchDaemonFlags) register(cmd *cobra.Command) {
	f.cases.register(cmd)
	cmd.Flags().DurationVar(&f.look, "status-every", 20*time.Millisecond, "call GetStatus each `interval` meanwhile; 0 for not at all")
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON")
}

// sourcesHelp ends the help of each.
const sourcesHelp = `

REQUEST is a file as for "cuzk prove"; --example takes one that ships with the
program, --sample makes one up. Without any it is the example winning-2KiB.

Without --daemon a daemon is started in this process, which proves on the CPU under
INSECURE keys that are made in --dir and kept. With --daemon a running one is
measured, and proofs are verified against the keys in --params-dir; a circuit whose
key is not there is said, and its proofs count as not verified.`

func newBenchSingleCmd() *cobra.Command {
	var f benchDaemonFlags
	cmd := &cobra.Command{
		Use:   "single [REQUEST...]",
		Short: "Time one request after the other through a daemon",
		Long: `Single sends a request to a daemon, waits for its proof, verifies it, and does that
again: what one caller sees. The first proof of a circuit, which may have to load
the key, is told apart.` + sourcesHelp,
		Example: `  cuzk bench single --count 20

  # a daemon that runs
  cuzk bench single porep.json --daemon 127.0.0.1:9820 --count 5`,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.concurrency = 1
			return benchDaemon(cmd, &f, args, loadtest.Batch)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVarP(&f.count, "count", "n", 10, "`times` that each request is sent")
	return cmd
}

func newBenchBatchCmd() *cobra.Command {
	var f benchDaemonFlags
	cmd := &cobra.Command{
		Use:   "batch [REQUEST...]",
		Short: "Measure how many proofs an hour a daemon makes",
		Long: `Batch keeps several requests under way at a time until all are proved, verifies
each proof, and says how many come out in an hour, and how long each waited.` + sourcesHelp,
		Example: `  # eight callers, eighty proofs
  cuzk bench batch --concurrency 8 --count 80

  # ten partitions of a made-up 32 GiB PoRep, three in flight
  cuzk bench batch --sample porep-32GiB --daemon 127.0.0.1:9820 -n 6 -j 3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return benchDaemon(cmd, &f, args, loadtest.Batch)
		},
	}
	f.register(cmd)
	cmd.Flags().IntVarP(&f.count, "count", "n", 10, "`times` that each request is sent")
	cmd.Flags().IntVarP(&f.concurrency, "concurrency", "j", 4, "`requests` under way at a time")
	return cmd
}

func newBenchStressCmd() *cobra.Command {
	var f benchDaemonFlags
	var x loadtest.Faults
	cmd := &cobra.Command{
		Use:   "stress [REQUEST...]",
		Short: "Load a daemon with careless clients, and see that nothing is lost",
		Long: `Stress sends requests of all given kinds in random order for a time. Of a hundred
requests, so many as the flags say are cancelled while they are under way, have
their payload cut in half, or come from a client whose connection breaks while it
waits.

Nothing may be lost: a request that was cancelled has ended as cancelled or with a
proof, half a payload has failed as bad input, and what a killed client asked for
is asked for again under the same id and must be there. Anything else is listed as
a problem, and the exit code is 1.` + sourcesHelp,
		Example: `  cuzk bench stress --for 1m --concurrency 16

  # two kinds, and more harm
  cuzk bench stress --example winning-2KiB --example window-2KiB-V1_2-2of2 \
    --cancel 20 --wrong 20 --kill 20`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRates(&x); err != nil {
				return err
			}
			return benchDaemon(cmd, &f, args, func(ctx context.Context, cfg loadtest.Config) (*loadtest.Report, error) {
				x.Dial = f.cases.dial
				return loadtest.Stress(ctx, cfg, x)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().IntVarP(&f.concurrency, "concurrency", "j", 8, "`clients` at a time")
	cmd.Flags().DurationVar(&x.For, "for", 30*time.Second, "how `long` requests are sent")
	cmd.Flags().IntVar(&x.Cancel, "cancel", 5, "requests `in a hundred` that are cancelled")
	cmd.Flags().IntVar(&x.Wrong, "wrong", 5, "requests `in a hundred` whose payload is cut in half")
	cmd.Flags().IntVar(&x.Kill, "kill", 5, "requests `in a hundred` whose client is killed while it waits")
	cmd.Flags().Uint64Var(&x.Seed, "seed", 1, "`number` that the order of kinds and faults follows from")
	return cmd
}

func checkRates(x *loadtest.Faults) error {
	if x.Cancel < 0 || x.Wrong < 0 || x.Kill < 0 || x.Cancel+x.Wrong+x.Kill > 100 {
		return usageError("--cancel, --wrong and --kill are parts of a hundred requests")
	}
	if x.For <= 0 {
		return usageError("--for is longer than nothing")
	}
	return nil
}

func newBenchQueueCmd() *cobra.Command {
	var f benchDaemonFlags
	var j loadtest.Jam
	var probe string
	cmd := &cobra.Command{
		Use:   "queue [REQUEST...]",
		Short: "Measure how long urgent proofs wait when the queue is full",
		Long: `Queue submits many requests of class normal at once and then, while they wait,
requests of class critical one after the other, as a WinningPoSt arrives among
PoReps. It shows the waits of both classes, and compares the worst wait of the
critical ones, before the witness and before the device together, with the longest
partition of the others: what passes everything waits for one at most, since a
partition that was begun is not taken from its device.

--critical is what is sent as critical: a circuit to make up a request for, the
name of an example, or a file. Without it, it is the first request itself.` + sourcesHelp,
		Example: `  cuzk bench queue --fill 30

  # WinningPoSt among PoReps
  cuzk bench queue porep.json --critical winning.json --daemon 127.0.0.1:9820`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if j.Fill < 1 || j.Probes < 1 {
				return usageError("--fill and --probes are at least 1")
			}
			f.cases.extra = probe
			return benchDaemon(cmd, &f, args, func(ctx context.Context, cfg loadtest.Config) (*loadtest.Report, error) {
				last := len(cfg.Cases) - f.cases.extras
				j.Critical = cfg.Cases[0]
				if f.cases.extras > 0 {
					j.Critical = cfg.Cases[last]
				}
				cfg.Cases = cfg.Cases[:last]
				return loadtest.Queue(ctx, cfg, j)
			})
		},
	}
	f.register(cmd)
	cmd.Flags().IntVar(&j.Fill, "fill", 20, "`requests` of class normal that are queued")
	cmd.Flags().StringVar(&probe, "critical", "", "circuit, example or `file` of the critical request")
	cmd.Flags().IntVar(&j.Probes, "probes", 5, "critical `requests` that are sent while others wait")
	cmd.Flags().DurationVar(&j.Every, "probe-every", 100*time.Millisecond, "`time` between two of them")
	return cmd
}

// benchDaemon measures and reports.
func benchDaemon(cmd *cobra.Command, f *benchDaemonFlags, args []string, measure func(context.Context, loadtest.Config) (*loadtest.Report, error)) (err error) {
	if f.count < 0 || f.concurrency < 0 {
		return usageError("--count and --concurrency are at least 1")
	}
	u := newUI(cmd)
	if err := f.cases.open(cmd.Context(), u, args); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.cases.close()) }()
	r, err := measure(cmd.Context(), loadtest.Config{Daemon: f.cases.daemon, Cases: f.cases.cases, Count: f.count, Concurrency: f.concurrency, Look: f.look,
		Progress: func(what string, part float64) { u.share(what, part) }})
	u.done()
	if err != nil {
		return remoteError(err, f.cases.addr())
	}
	return f.report(cmd.Context(), u, r)
}
