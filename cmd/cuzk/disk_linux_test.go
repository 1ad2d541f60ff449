package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a file system of a few bytes.
func smallDisk(t *testing.T, options string, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("cannot mount a small disk (%v): runs for root", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fill leaves no space on a disk.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "full"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
}

const fullDisk = "no space left on device\ncuzk: hint: free some space or choose another directory; nothing was left half written\n"

func TestFullDiskLeavesNoKey(t *testing.T) {
	for name, size := range map[string]string{"key": "1m", "small key": "64k"} {
		t.Run(name, func(t *testing.T) {
			dir := smallDisk(t, "size="+size, 0)
			code, out, errOut := runIn("params", "setup", "window-2KiB", "--insecure", "--params-dir", dir, "--circuit-dir", "")
			if code != exitInternal || out != "" || !strings.HasSuffix(errOut, fullDisk) {
				t.Errorf("code %d, output %q, errors %q", code, out, errOut)
			}
			if err := folderHolds(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFullDiskLeavesNoCircuit: a circuit that cannot be kept is compiled each
// time, which is told.
func TestFullDiskLeavesNoCircuit(t *testing.T) {
	dir := smallDisk(t, "size=32k", 0)
	code, out, errOut := runIn("circuit", "digest", "window-2KiB", "--circuit-dir", dir)
	if code != exitOK || !strings.Contains(out, "ffa5dc2bf140c1ffabe792257baf962cfe208844b7a00e8b84851d1ecb788293") ||
		!strings.HasPrefix(errOut, "cuzk: warning: keep compiled circuit in ") || !strings.Contains(errOut, "no space left on device") {
		t.Errorf("code %d, output %q, errors %q", code, out, errOut)
	}
	if err := folderHolds(dir); err != nil {
		t.Error(err)
	}
}

func TestFullDiskLeavesNoProof(t *testing.T) {
	keys, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	dir := smallDisk(t, "size=16k", 0)
	fill(t, dir)
	code, out, errOut := runIn("prove", "../../testdata/requests/window-2KiB-V1-1of2.json", "--insecure", "--params-dir", keys,
		"--circuit-dir", "", "-o", filepath.Join(dir, "proof"))
	if code != exitInternal || out != "" || !strings.HasSuffix(errOut, fullDisk) {
		t.Errorf("code %d, output %q, errors %q", code, out, errOut)
	}
	if err := folderHolds(dir, "full"); err != nil {
		t.Error(err)
	}
}

// TestReadOnlyDisk: every directory that is given is named when it cannot be
// written, before any long work.
func TestReadOnlyDisk(t *testing.T) {
	keys, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	dir := smallDisk(t, "", unix.MS_RDONLY)
	request := "../../testdata/requests/window-2KiB-V1-1of2.json"
	for name, args := range map[string][]string{
		"key":         {"params", "setup", "window-2KiB", "--insecure", "--params-dir", dir, "--circuit-dir", ""},
		"key's place": {"params", "setup", "window-2KiB", "--insecure", "--params-dir", filepath.Join(dir, "new"), "--circuit-dir", ""},
		"proof":       {"prove", request, "--insecure", "--params-dir", keys, "--circuit-dir", "", "-o", filepath.Join(dir, "proof")},
		"demo":        {"demo", "--dir", filepath.Join(dir, "demo")},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errOut := runIn(args...)
			if code != exitBadInput || out != "" || !strings.Contains(errOut, dir) || !strings.HasSuffix(errOut,
				"read-only file system\ncuzk: hint: choose another directory, or see who may use this one\n") {
				t.Errorf("code %d, output %q, errors %q", code, out, errOut)
			}
		})
	}
}
