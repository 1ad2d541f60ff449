package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

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
//     says how far it is every few seconds.
//   - No colours. Insecure keys are always called INSECURE.

// ui writes to the user by these rules.
type ui struct {
	out, err io.Writer
	moving   bool // standard error is a terminal

	mu       sync.Mutex
	meterLen int       // length of the meter that stands on the last line
	meterAt  time.Time // when progress was last shown
}

func newUI(cmd *cobra.Command) *ui {
	u := &ui{out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()}
	if f, ok := u.err.(*os.File); ok {
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
	var h hinted
	if errors.As(err, &h) {
		u.note("hint: %s", h.hint)
	} else if code == exitUsage {
		u.note("hint: add --help to see how the command is used")
	}
}

// errReported marks an error that the result has told already.
var errReported = errors.New("reported")

// note writes a line to standard error.
func (u *ui) note(format string, args ...any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	fmt.Fprintf(u.err, "cuzk: "+format+"\n", args...)
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

// progress shows how much of a task is done, as far as the rules allow.
func (u *ui) progress(what string, done, total int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	every := 5 * time.Second
	if u.moving {
		every = 200 * time.Millisecond
	}
	now := time.Now()
	if u.meterAt.IsZero() && !u.moving {
		u.meterAt = now // short tasks say nothing
	}
	if now.Sub(u.meterAt) < every {
		return
	}
	u.meterAt = now
	line := fmt.Sprintf("cuzk: %s: %s of %s, %d%%", what, bytes(done), bytes(total), 100*done/max(total, 1))
	if !u.moving {
		fmt.Fprintln(u.err, line)
		return
	}
	u.clear()
	fmt.Fprint(u.err, line)
	u.meterLen = len(line)
}

// clear takes the meter off the last line; the caller holds the lock.
func (u *ui) clear() {
	if u.meterLen > 0 {
		fmt.Fprintf(u.err, "\r%s\r", strings.Repeat(" ", u.meterLen))
		u.meterLen = 0
	}
}

// done takes the meter away at the end of a task.
func (u *ui) done() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.clear()
	u.meterAt = time.Time{}
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
