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
	stop     context.CancelFunc // gives signals back to the system
	finished chan struct{}      // closed when the command has returned
}

// run is the whole program without the process: it returns the exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &session{stop: stop, finished: make(chan struct{})}
	defer close(s.finished)
	root := newRootCmd(s)
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	code := exitCode(ctx, root, err)
	newUI(root).fail(code, err)
	return code
}
