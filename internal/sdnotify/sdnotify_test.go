package sdnotify

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSend(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	if there, err := Send(Ready); there || err != nil {
		t.Errorf("without systemd: %v, %v", there, err)
	}
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	if there, err := Send(Ready, Status("two\n%s", "lines"), Extend(90*time.Second)); !there || err != nil {
		t.Fatalf("%v, %v", there, err)
	}
	b := make([]byte, 100)
	n, err := l.Read(b)
	if want := "READY=1\nSTATUS=two lines\nEXTEND_TIMEOUT_USEC=90000000"; err != nil || string(b[:n]) != want {
		t.Errorf("%q, %v", b[:n], err)
	}
	t.Setenv("NOTIFY_SOCKET", path+"x")
	if there, err := Send(Ready); !there || err == nil {
		t.Errorf("nobody listens: %v, %v", there, err)
	}
}

func TestWatchdog(t *testing.T) {
	for _, c := range []struct {
		us, pid string
		want    time.Duration
	}{{"", "", 0}, {"30000000", "", 30 * time.Second}, {"30000000", strconv.Itoa(os.Getpid()), 30 * time.Second}, {"30000000", "1", 0}, {"x", "", 0}, {"-1", "", 0}} {
		t.Setenv("WATCHDOG_USEC", c.us)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := Watchdog(); got != c.want {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestMonotonic(t *testing.T) {
	last := int64(0)
	for range 3 {
		text, ok := strings.CutPrefix(Monotonic(), "MONOTONIC_USEC=")
		now, err := strconv.ParseInt(text, 10, 64)
		if !ok || err != nil || now <= 0 || now < last {
			t.Errorf("%q after %d, %v", text, last, err)
		}
		last = now
	}
}
