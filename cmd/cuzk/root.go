package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// commands lists the verbs. A new verb adds its line here and its file beside
// this one.
func commands() []*cobra.Command {
	return []*cobra.Command{
		newDemoCmd(),
		newProveCmd(),
		newVerifyCmd(),
		newWitnessCmd(),
		newCircuitCmd(),
		newParamsCmd(),
	}
}

const (
	// started is the root's annotation that a command's own code began.
	started = "started"
	// patient is the annotation of a command that ends in its own time after an
	// interrupt, as a daemon that drains does.
	patient = "patient"
	// grace is how long any other command may take to end after an interrupt.
	grace = 2 * time.Second
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
  5    a proof does not verify
  130  interrupted

Environment:
  FIL_PROOFS_PARAMETER_CACHE  directory of the keys where --params-dir is not
                              given; else ` + defaultParamsDir,
		SilenceUsage:       true,
		SilenceErrors:      true,
		DisableSuggestions: true, // ui.go gives them, on a line of their own
		Annotations:        map[string]string{},
	}
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		root.Annotations[started] = "yes"
		if cmd.Annotations[patient] == "" {
			go s.endInTime(cmd.Context(), newUI(cmd))
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

// group makes a command that only holds others.
func group(cmd *cobra.Command, sub ...*cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error { return unknownCommand(cmd, args) }
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(sub...)
	return cmd
}

// endInTime ends the program if a command does not end by itself soon after an
// interrupt. A second interrupt ends it at once.
func (s *session) endInTime(ctx context.Context, u *ui) {
	select {
	case <-s.finished:
		return
	case <-ctx.Done():
	}
	s.stop()
	select {
	case <-s.finished:
	case <-time.After(grace):
		u.note("interrupted; what was running did not stop within %v", grace)
		os.Exit(exitInterrupted)
	}
}
