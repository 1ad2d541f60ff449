package server

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// listen opens host:port or unix:///path. An address that other machines can
// reach is refused unless it is protected; how says what would protect it. A socket
// for it that was left by another process is taken.
func listen(addr string, protected bool, how string, left *Sockets) (net.Listener, error) {
	if path, ok := strings.CutPrefix(addr, "unix://"); ok {
		if left.Has(addr) {
			return left.take(addr)
		}
		return listenUnix(path)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: want host:port or unix:///path: %w", addr, err)
	}
	if !protected && !loopback(host) {
		return nil, fmt.Errorf("address %q can be reached from other machines: set %s, use 127.0.0.1 or a unix socket, or permit it with allow_plaintext", addr, how)
	}
	if left.Has(addr) {
		return left.take(addr)
	}
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("address %s is in use: is another daemon running? %w", addr, err)
	}
	return l, err
}

// loopback tells whether a host is this machine alone.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// listenUnix replaces a socket that nobody listens on, and nothing else.
func listenUnix(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("address unix://%s: want an absolute path", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make folder of the socket: %w", err)
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is there and is not a socket", path)
	default:
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			c.Close()
			return nil, fmt.Errorf("%s: is another daemon running? %w", path, syscall.EADDRINUSE)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove old socket: %w", err)
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}
