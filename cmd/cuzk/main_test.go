package main

import (
	stdbytes "bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"

	"cuzk/srs"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cuzk": main})
}

// TestScripts runs what a user types, testdata/*.txtar. Beside the usual commands
// of testscript there are:
//
//	exits CODE PROGRAM ARGS   run a program that must end with this code
//	flip FILE BIT             change one bit of a file
//	sparse FILE SIZE          make a file of zeros
//
// $REF is the repository's testdata.
func TestScripts(t *testing.T) {
	ref, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("REF", ref)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "flip": flip, "sparse": sparse,
		},
	})
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Check(err)
		}
		got = e.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func flip(ts *testscript.TestScript, neg bool, args []string) {
	bit, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := []byte(ts.ReadFile(args[0]))
	b[bit/8] ^= 1 << (bit % 8)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

func sparse(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// TestInterruptEndsCommand interrupts the digest of a large file.
func TestInterruptEndsCommand(t *testing.T) {
	mine := make(chan os.Signal, 100) // keeps the test alive whoever else listens
	signal.Notify(mine, os.Interrupt)
	defer signal.Stop(mine)
	dir := t.TempDir()
	id, err := srs.ParseID("porep-32GiB")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id.FileName(srs.Params))
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, id.Shape().ParamsBytes())); err != nil {
		t.Fatal(err)
	}
	var out, errOut stdbytes.Buffer
	code := make(chan int)
	go func() {
		code <- run([]string{"params", "check", "--cache-dir", "", "--params-dir", dir}, nil, &out, &errOut)
	}()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		select {
		case <-tick.C:
			if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			continue
		case got := <-code:
			if got != exitInterrupted || out.Len() > 0 || errOut.String() != "cuzk: interrupted\n" {
				t.Errorf("exit code %d, output %q, errors %q", got, out.String(), errOut.String())
			}
		case <-time.After(grace):
			t.Error("still running")
		}
		return
	}
}

// TestInterruptEndsBlockedCommand interrupts a command that waits for input and
// cannot look at its context.
func TestInterruptEndsBlockedCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("waits out the grace period")
	}
	cmd := &exec.Cmd{Path: os.Args[0], Args: []string{"cuzk", "verify", "--vk", "x", "--inputs", "x", "-"}}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// More than a pipe holds: once it is gone the program is reading.
	if _, err := in.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var e *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &e) || e.ExitCode() != exitInterrupted {
		t.Errorf("got %v", err)
	}
}

// TestEveryCommandTeaches: help has a story and, for what does something,
// examples that name the command.
func TestEveryCommandTeaches(t *testing.T) {
	root := newRootCmd(&session{})
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if len(c.Long) < 200 {
			t.Errorf("%s: long help of %d characters", c.CommandPath(), len(c.Long))
		}
		if c.Runnable() && !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: no example of its use", c.CommandPath())
		}
		for l := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(l) > 84 {
				t.Errorf("%s: help line too wide: %s", c.CommandPath(), l)
			}
		}
	}
	walk(root)
}

// TestExitCodes classes errors however deep they are wrapped.
func TestExitCodes(t *testing.T) {
	for _, c := range classes {
		root := newRootCmd(&session{})
		root.Annotations[started] = "yes"
		err := hint(fmt.Errorf("deep: %w", fmt.Errorf("deeper: %w", c.err)), "do this")
		if got := exitCode(t.Context(), root, err); got != c.code {
			t.Errorf("%v: %d, want %d", c.err, got, c.code)
		}
	}
	root := newRootCmd(&session{})
	root.Annotations[started] = "yes"
	if got := exitCode(t.Context(), root, io.ErrUnexpectedEOF); got != exitInternal {
		t.Errorf("unclassed: %d", got)
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 47373928632: "44.1 GiB", 1 << 60: "1024.0 PiB"} {
		if got := bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestProofForms(t *testing.T) {
	raw := append([]byte{0x84}, make([]byte, 191)...)
	for name, text := range map[string]string{
		"raw":    string(raw),
		"hex":    strings.Repeat(" ", 2) + "84" + strings.Repeat("00", 191) + "\n",
		"base64": "hAAA" + strings.Repeat("AAAA", 63) + "\n",
		"json":   `{"proof": "84` + strings.Repeat("00", 191) + `", "r": "1"}`,
	} {
		if got, err := proofBytes([]byte(text)); err != nil || !stdbytes.Equal(got, raw) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	for _, text := range []string{"", " ", "{", "{}", `{"proof": 3}`, "not a proof!"} {
		if got, err := proofBytes([]byte(text)); err == nil {
			t.Errorf("%q read as %x", text, got)
		}
	}
}
