package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/spf13/cobra"

	"cuzk/groth16"
	"cuzk/kind"
	"cuzk/srs"
)

// Exit codes, by class of what went wrong.
const (
	exitOK          = 0
	exitInternal    = 1   // a fault of the program or the machine
	exitUsage       = 2   // the command line
	exitBadInput    = 3   // a file or value that was given
	exitKey         = 4   // a key that is missing, damaged or not permitted
	exitInvalid     = 5   // a proof that does not verify, made here or not
	exitInterrupted = 130 // Ctrl-C or SIGTERM
)

// classes maps errors to codes; the first that matches decides.
var classes = []struct {
	err  error
	code int
}{
	{context.Canceled, exitInterrupted},
	{errUsage, exitUsage},
	{srs.ErrKeyMissing, exitKey},
	{srs.ErrCorrupt, exitKey},
	{srs.ErrNotOfficial, exitKey},
	{groth16.ErrSelfCheck, exitInvalid},
	{groth16.ErrInvalidProof, exitInvalid},
	{errBadInput, exitBadInput},
	{kind.ErrBadInput, exitBadInput},
	{groth16.ErrProofLength, exitBadInput},
	{groth16.ErrInputCount, exitBadInput},
	// A path that was given leads nowhere, or to what may not be used.
	{fs.ErrNotExist, exitBadInput},
	{fs.ErrPermission, exitBadInput},
	{syscall.ENOTDIR, exitBadInput},
	{syscall.EISDIR, exitBadInput},
	{syscall.EROFS, exitBadInput},
}

// Classes of errors that belong to the command line itself.
var (
	errUsage    = errors.New("usage")
	errBadInput = errors.New("bad input")
)

// classed is an error whose class does not show in its text.
type classed struct {
	error
	class error
}

func (c classed) Unwrap() []error { return []error{c.error, c.class} }

// usageError is a mistake on the command line.
func usageError(format string, args ...any) error {
	return classed{fmt.Errorf(format, args...), errUsage}
}

// badInput marks an error as the fault of a file or value that was given.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return classed{err, errBadInput}
}

// exitCode classes an error. What fails before a command starts is a mistake on
// the command line; what fails after Ctrl-C failed because of it.
func exitCode(ctx context.Context, root *cobra.Command, err error) int {
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		return exitInterrupted
	case root.Annotations[started] == "":
		return exitUsage
	}
	for _, c := range classes {
		if errors.Is(err, c.err) {
			return c.code
		}
	}
	return exitInternal
}
