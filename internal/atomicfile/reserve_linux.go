package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Reserve takes the disk space of size bytes for a file without content, so that
// a full disk is found before hours of work and not after. The file's length
// stays as it is. The error wraps ENOSPC if that much is not free; where the file
// system cannot promise space, nothing is done and writes will tell.
//
// The free space is looked at first: the system call takes what it finds before
// it says that there is not enough, and for that moment every other program on
// the disk, a daemon that stores a job too, would find it full.
func Reserve(f *os.File, size int64) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &fs); err == nil && fs.Blocks > 0 && uint64(size)/uint64(fs.Bsize) >= fs.Bavail {
		return &os.PathError{Op: "reserve", Path: f.Name(), Err: unix.ENOSPC}
	}
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	switch {
	case err == nil, errors.Is(err, unix.EOPNOTSUPP), errors.Is(err, unix.ENOSYS):
		return nil
	}
	return errors.Join(&os.PathError{Op: "reserve", Path: f.Name(), Err: err}, giveBack(f))
}

// giveBack frees what a reservation that failed had taken already.
func giveBack(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return f.Truncate(info.Size())
}
