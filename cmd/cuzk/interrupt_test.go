package main

import (
	stdbytes "bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"cuzk/srs"
)

// TestInterruptEndsCommand interrupts the digest of a large file.
func TestInterruptEndsCommand(t *testing.T) {
	dir := t.TempDir()
	id, err := srs.ParseID("porep-32GiB")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, id.FileName(srs.Params))
	if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, id.Shape().ParamsBytes())); err != nil {
		t.Fatal(err)
	}
	cmd, errOut := startProcess(t, t.TempDir(), "params", "check", "--cache-dir", "", "--params-dir", dir)
	interrupt(t, cmd, func() bool { return hasOpen(cmd.Process.Pid, path) }, 0)
	if errOut.String() != "cuzk: interrupted\n" {
		t.Errorf("errors %q", errOut)
	}
}

// hasOpen tells whether a process has a file open, on Linux; elsewhere it says
// yes, a little late.
func hasOpen(pid int, path string) bool {
	if runtime.GOOS != "linux" {
		time.Sleep(time.Second)
		return true
	}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range fds {
		if to, _ := os.Readlink(fd); to == path {
			return true
		}
	}
	return false
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

// hidden tells whether a file is being written in a folder.
func hidden(dir string) func() bool {
	return func() bool {
		files, _ := filepath.Glob(filepath.Join(dir, ".*.partial"))
		return len(files) > 0
	}
}

// interrupt sends a signal some time after the work has begun, and waits for the
// end.
func interrupt(t *testing.T, cmd *exec.Cmd, begun func() bool, delay time.Duration) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for !begun() {
		select {
		case err := <-ended:
			t.Fatalf("ended before it was interrupted: %v", err)
		case <-time.After(time.Millisecond):
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
	interrupt(t, cmd, hidden(dir), 0)
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
			interrupt(t, cmd, hidden(dir), delay)
			if errOut.String() != "cuzk: interrupted\n" {
				t.Errorf("errors %q", errOut)
			}
			if err := folderHolds(dir); err != nil {
				t.Error(err)
			}
		})
	}
}
