package job

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Lock is the exclusive use of a state directory by one process.
type Lock struct{ file *os.File }

// LockDir takes the lock of a state directory, which is made if need be. The
// error wraps [ErrLocked] if another process has it. The kernel lets go of the
// lock when the process ends, however it ends.
func LockDir(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	name := filepath.Join(dir, "lock")
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock state directory: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		defer f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w%s; stop it or set another state directory", dir, ErrLocked, holder(f))
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	if err := f.Truncate(0); err == nil { // the number is only for people
		_, _ = f.WriteAt([]byte(fmt.Sprintln(os.Getpid())), 0)
	}
	return &Lock{f}, nil
}

func holder(f *os.File) string {
	var b [32]byte
	n, _ := f.ReadAt(b[:], 0)
	if pid := strings.TrimSpace(string(b[:n])); pid != "" {
		return " (pid " + pid + ")"
	}
	return ""
}

// Close gives the directory back.
func (l *Lock) Close() error { return l.file.Close() }
