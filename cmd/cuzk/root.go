package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cuzk"
	"cuzk/internal/atomicfile"
)

// commands lists the verbs. A new verb adds its line here and its file beside
// this one.
func commands() []*cobra.Command {
	return []*cobra.Command{
		newDemoCmd(),
		newProveCmd(),
		newVerifyCmd(),
		newWitnessCmd(),
		newSampleCmd(),
		newCircuitCmd(),
		newParamsCmd(),
		newDaemonCmd(),
		newDevicesCmd(),
		newStatusCmd(),
		newJobsCmd(),
		newJobCmd(),
		newBenchCmd(),
		newConfigCmd(),
		newTimelineCmd(),
		newDoctorCmd(),
		newVersionCmd(),
		newRequestsTopic(),
	}
}

const (
	// started is the root's annotation that a command's own code began.
	started = "started"
	// patient is the annotation of a command that ends in its own time after an
	// interrupt, as a daemon that drains does.
	patient = "patient"
	// grace is how long any other command may take to end after an interrupt.
	grace = 1500 * time.Millisecond
)

// newRootCmd makes the command tree.
func newRootCmd(s *session) *cobra.Command {
	root := &cobra.Command{
		Use:   "cuzk",
		Short: "Make and check Filecoin's Groth16 proofs",
		Long: `cuzk makes and checks the Groth16 proofs of Filecoin storage: proofs of
replication, WinningPoSt, WindowPoSt and sector updates.

Results go to standard output, everything else to standard error. With --json a
command prints one JSON value instead of text.

Exit codes:
  0    done
  1    something failed inside the program or the machine
  2    the command line is wrong
  3    a file or value that was given is wrong
  4    a key is missing, damaged, or not permitted
  5    a proof does not verify, one that was just made too
  130  interrupted

Environment:
  FIL_PROOFS_PARAMETER_CACHE  directory of the keys where --params-dir is not
                              given; else ` + defaultParamsDir,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // ui.go gives them, on a line of their own
		Annotations:        map[string]string{},
		Version:            cuzk.ThisBuild().String(),
	}
	root.SetVersionTemplate("cuzk {{.Version}}\n")
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		root.Annotations[started] = "yes"
		if cmd.Annotations[patient] == "" {
			go s.endInTime(cmd.Context())
		}
	}
	root.Args = func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) }
	root.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	root.AddCommand(commands()...)
	return root
}

// unknownCommand says which command was probably meant.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := usageError("unknown command %q", args[0])
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		return hint(err, "did you mean %q?", cmd.CommandPath()+" "+s[0])
	}
	return hint(err, "%q lists the commands", cmd.CommandPath()+" --help")
}

// exactly wants one argument for each name.
func exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		want := "no argument is wanted"
		if len(names) == 1 {
			want = "one argument is wanted, " + names[0]
		} else if len(names) > 1 {
			want = fmt.Sprintf("%d arguments are wanted, %s", len(names), strings.Join(names, " and "))
		}
		return usageError("%s, not %d", want, len(args))
	}
}

// group makes a command that only holds others.
func group(cmd *cobra.Command, sub ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(sub...)
	return cmd
}

// endInTime ends the program if a command does not end by itself soon after an
// interrupt. A second interrupt ends it at once. Files that are being written
// are taken away either way.
func (s *session) endInTime(ctx context.Context) {
	select {
	case <-s.finished:
		return
	case <-ctx.Done():
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(again)
	s.stop()
	select {
	case <-s.finished:
		return
	case <-time.After(grace):
	case <-again:
	}
	atomicfile.AbortAll()
	s.ui.done()
	s.ui.note("interrupted")
	os.Exit(exitInterrupted)
}
