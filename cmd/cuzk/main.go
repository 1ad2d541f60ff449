// Command cuzk makes and checks Filecoin's Groth16 proofs.
//
// One file a verb: verify.go, params.go and so on hold a newXCmd each, root.go
// lists them. ui.go has the rules for everything a user sees, exit.go the codes
// that scripts see.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// session is one run of the program, for what has to know when it ends.
type session struct {
	ui       *ui
	stop     context.CancelFunc // stops listening for signals
	finished chan struct{}      // closed when the command has returned
}

// run is the whole program without the process: it returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &session{ui: makeUI(out, errOut), stop: stop, finished: make(chan struct{})}
	defer close(s.finished)
	root := newRootCmd(s)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(context.WithValue(ctx, uiKey{}, s.ui))
	code := exitCode(ctx, root, err)
	s.ui.done()
	s.ui.command = cmd.CommandPath()
	s.ui.fail(code, err)
	return code
}
