package main

import (
	stdbytes "bytes"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"cuzk/srs"
)

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

// startProcess runs a command as a process of its own that keeps its files in dir.
func startProcess(t *testing.T, dir string, args ...string) (*exec.Cmd, *stdbytes.Buffer) {
	t.Helper()
	var errOut stdbytes.Buffer
	cmd := &exec.Cmd{Path: os.Args[0], Args: append([]string{"cuzk"}, args...), Stderr: &errOut,
		Env: append(os.Environ(), "XDG_CACHE_HOME="+filepath.Join(dir, ".cache"))}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, &errOut
}

// interrupt sends a signal some time after a hidden file shows that something is
// being written, and waits for the end.
func interrupt(t *testing.T, cmd *exec.Cmd, dir string, delay time.Duration) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for begun := false; !begun; {
		select {
		case err := <-ended:
			t.Fatalf("ended before it was interrupted: %v", err)
		case <-time.After(time.Millisecond):
			hidden, _ := filepath.Glob(filepath.Join(dir, ".*.partial"))
			begun = len(hidden) > 0
		}
	}
	select {
	case err := <-ended:
		t.Skipf("this machine is too fast: ended with %v within %v", err, delay)
	case <-time.After(delay):
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		var e *exec.ExitError
		if !errors.As(err, &e) || e.ExitCode() != exitInterrupted {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(10 * time.Second): // the program ends itself after grace
		t.Error("still running")
	}
}

// TestInterruptedSetupLeavesNothing interrupts while a key is written.
func TestInterruptedSetupLeavesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	cmd, errOut := startProcess(t, t.TempDir(), "params", "setup", "winning-2KiB", "--insecure", "--params-dir", dir)
	interrupt(t, cmd, dir, 0)
	if errOut.String() != "cuzk: interrupted\n" {
		t.Errorf("errors %q", errOut)
	}
	if err := folderHolds(dir); err != nil {
		t.Error(err)
	}
}

// TestInterruptedProofLeavesNothing interrupts a proof of two partitions at its
// beginning and in the midst of it.
func TestInterruptedProofLeavesNothing(t *testing.T) {
	keys, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	for _, delay := range []time.Duration{0, 300 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			dir := t.TempDir()
			cmd, errOut := startProcess(t, t.TempDir(), "prove", "../../testdata/requests/window-2KiB-V1-3of4.json",
				"--insecure", "--params-dir", keys, "-o", filepath.Join(dir, "proof"))
			interrupt(t, cmd, dir, delay)
			if errOut.String() != "cuzk: interrupted\n" {
				t.Errorf("errors %q", errOut)
			}
			if err := folderHolds(dir); err != nil {
				t.Error(err)
			}
		})
	}
}
