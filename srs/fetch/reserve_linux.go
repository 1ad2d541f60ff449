package fetch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes the file as long as it will be and takes the disk space now, so
// that a full disk is found before the download.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return f.Truncate(size) // a file system that cannot promise; writes will tell
	}
	return err
}
