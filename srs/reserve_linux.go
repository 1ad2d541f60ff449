package srs

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reserve asks for the disk space of the whole file, so that a full disk is
// found before hours of work and not after. The file's length stays as it is.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil // a file system that cannot promise; writes will tell
	}
	if err != nil {
		return fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	return nil
}
