package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Rules for what a user sees.
//
//   - Results go to standard output, one thing a line, fit for grep and cut.
//     Everything else, progress and warnings too, goes to standard error.
//   - Lines on standard error begin with "cuzk: ", are in lower case and have no
//     full stop. What to do next stands on a line of its own, after "hint: ".
//   - With --json standard output has one JSON value and a line feed.
//   - Nothing moves unless standard error is a terminal; otherwise a long task
//     says how far it is every few seconds (meter.go).
//   - No colours. Insecure keys are always called INSECURE.

// ui writes to the user by these rules.
type ui struct {
	out, err io.Writer
	moving   bool   // standard error is a terminal
	command  string // that ended, for its hint

	mu       sync.Mutex
	meter    meter
	meterLen int // length of the meter that stands on the last line
}

// uiKey is where a command's context has the ui of the run.
type uiKey struct{}

// newUI is the ui of the run that a command belongs to.
func newUI(cmd *cobra.Command) *ui {
	if u, ok := cmd.Context().Value(uiKey{}).(*ui); ok {
		return u
	}
	return makeUI(cmd.OutOrStdout(), cmd.ErrOrStderr())
}

func makeUI(out, err io.Writer) *ui {
	u := &ui{out: out, err: err}
	if f, ok := err.(*os.File); ok {
		u.moving = term.IsTerminal(int(f.Fd()))
	}
	return u
}

// hinted is an error with a next step for the user.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// hint adds a next step to an error.
func hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return hinted{err, fmt.Sprintf(format, args...)}
}

// fail reports the error that a command ended with.
func (u *ui) fail(code int, err error) {
	switch {
	case err == nil:
		return
	case errors.Is(err, errReported):
		return // the result on standard output said it
	case code == exitInterrupted:
		u.note("interrupted")
		return
	}
	u.note("%v", err)
	if next := nextStep(u.command, code, err); next != "" {
		u.note("hint: %s", next)
	}
}

// nextStep is the hint that an error carries, or what always helps against its
// kind.
func nextStep(command string, code int, err error) string {
	var h hinted
	switch {
	case errors.As(err, &h):
		return h.hint
	case code == exitUsage:
		return fmt.Sprintf("%q shows how the command is used", command+" --help")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free some space or choose another directory; nothing was left half written"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "choose another directory, or see who may use this one"
	}
	return ""
}

// errReported marks an error that the result has told already.
var errReported = errors.New("reported")

// note writes a line to standard error.
func (u *ui) note(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\ncuzk: ") // joined errors
	fmt.Fprintf(u.err, "cuzk: %s\n", text)
}

// say writes a line of the result.
func (u *ui) say(format string, args ...any) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	_, err := fmt.Fprintf(u.out, format+"\n", args...)
	return err
}

// json writes the result as one JSON value.
func (u *ui) json(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return u.say("%s", b)
}

// table writes the result in columns; the first row is the heading.
func (u *ui) table(rows [][]string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	w := tabwriter.NewWriter(u.out, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	return w.Flush()
}

// clear takes the meter off the last line; the caller holds the lock.
func (u *ui) clear() {
	if u.meterLen > 0 {
		fmt.Fprintf(u.err, "\r%s\r", strings.Repeat(" ", u.meterLen))
		u.meterLen = 0
	}
}

// bytes writes a size with a binary unit: 44.1 GiB.
func bytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	x, i := float64(n)/unit, 0
	for ; x >= unit && i < 4; i++ {
		x /= unit
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGTP"[i])
}
