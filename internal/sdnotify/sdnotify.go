// Package sdnotify tells systemd how a service of Type=notify stands: ready,
// stopping, alive. Source: sd_notify(3) and sd_watchdog_enabled(3).
//
// Without systemd, that is without NOTIFY_SOCKET, it does nothing.
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Messages that systemd understands.
const (
	Ready     = "READY=1"
	Reloading = "RELOADING=1" // until the next Ready; with [Monotonic]
	Stopping  = "STOPPING=1"
	Alive     = "WATCHDOG=1"
)

// Status is a line for systemctl status.
func Status(format string, args ...any) string {
	return "STATUS=" + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")
}

// Monotonic is the system's clock, which goes with Reloading.
func Monotonic() string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return "MONOTONIC_USEC=0"
	}
	return "MONOTONIC_USEC=" + strconv.FormatInt(now.Nano()/1000, 10)
}

// Extend asks for more time to start or stop.
func Extend(d time.Duration) string {
	return "EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10)
}

// Send sends messages together. It tells whether systemd is there; the error is
// that of sending.
func Send(messages ...string) (bool, error) {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return false, nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return true, fmt.Errorf("notify systemd: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(strings.Join(messages, "\n"))); err != nil {
		return true, fmt.Errorf("notify systemd: %w", err)
	}
	return true, nil
}

// Watchdog is how often systemd wants to hear Alive; 0: not at all. Half of it
// is a good time between two messages.
func Watchdog() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	return time.Duration(us) * time.Microsecond
}
