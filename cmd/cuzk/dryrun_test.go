package main

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuzk/daemon"
	"cuzk/engine/sched"
	"cuzk/internal/config"
	"cuzk/job"
)

// withDevices has the daemon find these devices, and counts how often it looks.
func withDevices(t *testing.T, list ...daemon.Accelerator) (looks *int) {
	t.Helper()
	looks = new(int)
	before := openDevices
	t.Cleanup(func() { openDevices = before })
	openDevices = func(*config.Loaded, *slog.Logger) ([]daemon.Accelerator, error) {
		*looks++
		return list, nil
	}
	return looks
}

// TestNoDeviceIsOpenedInVain: what another daemon has is found before kernels are
// compiled for a card.
func TestNoDeviceIsOpenedInVain(t *testing.T) {
	looks, dir := withDevices(t), t.TempDir()
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer port.Close()
	socket, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	lock, err := job.LockDir(filepath.Join(dir, "taken"))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	busy, other := port.Addr().String(), filepath.Join(dir, "other")
	for want, args := range map[string][]string{
		"address " + busy + " is in use":     {"--listen", busy, "--admin-listen=", "--state-dir", other},
		"is in use: is another daemon":       {"--listen", "127.0.0.1:0", "--admin-listen", "unix://" + dir + "/s", "--state-dir", other},
		"state directory is in use by anoth": {"--listen", "127.0.0.1:0", "--admin-listen=", "--state-dir", filepath.Join(dir, "taken")},
	} {
		code, out, errOut := runIn(append([]string{"daemon", "--params-dir", dir}, args...)...)
		if code != exitBadInput || !strings.Contains(errOut, want) || out != "" || *looks > 0 {
			t.Errorf("%v: %d %q, looked %d times, want %q", args, code, errOut, *looks, want)
		}
	}
}

// TestDryRunTellsOfLostDevices fails, and says why.
func TestDryRunTellsOfLostDevices(t *testing.T) {
	closed := errors.New("not closed")
	withDevices(t, daemon.Accelerator{Device: sched.Device{ID: "GPU-1", Name: "card", Class: sched.GPU, Lost: "it does not answer"}, Close: func() error { closed = nil; return nil }})
	dir := t.TempDir()
	code, out, errOut := runIn("daemon", "--dry-run", "--listen", "127.0.0.1:0", "--admin-listen=", "--state-dir", filepath.Join(dir, "s"), "--params-dir", dir)
	if code != exitInternal || !strings.Contains(out, "GPU-1, card, 0B, LOST") || !strings.Contains(errOut, "device GPU-1 is lost: it does not answer") || closed != nil {
		t.Errorf("%d %s %s, %v", code, out, errOut, closed)
	}
}

// TestLeftSocketsAreRead: what another process says of sockets is taken once, and
// nonsense is refused.
func TestLeftSocketsAreRead(t *testing.T) {
	for text, good := range map[string]bool{"": true, "{}": true, "no": false, `{"a": 1}`: false, `{"a": -1}`: false, `{"a": "3"}`: false} {
		t.Setenv(socketsEnv, text)
		s, err := leftSockets()
		if (err == nil) != good || good && (s == nil || len(s.All()) != 0) {
			t.Errorf("%q: %v, %v", text, s, err)
		}
		if left, there := os.LookupEnv(socketsEnv); there && left != "" {
			t.Errorf("%q stays", left)
		}
	}
}
