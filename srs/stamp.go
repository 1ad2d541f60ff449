package srs

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// stamp identifies a file's content without reading it. The change time is part
// of it because, unlike the modification time, no ordinary tool can set it back.
type stamp struct {
	Dev, Ino     uint64
	Size         int64
	Mtime, Ctime int64 // nanoseconds since 1970
}

// stampOf asks the system about an open file.
func stampOf(f *os.File) (stamp, error) {
	info, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	if !info.Mode().IsRegular() {
		return stamp{}, fmt.Errorf("%w: %s is not a regular file", ErrCorrupt, f.Name())
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return stamp{}, fmt.Errorf("stat %s: %w", f.Name(), err)
	}
	return stamp{Dev: uint64(st.Dev), Ino: st.Ino, Size: st.Size,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano()}, nil
}

// sameContent ignores the change time, which renaming or linking the file moves.
func (s stamp) sameContent(o stamp) bool {
	return s.Dev == o.Dev && s.Ino == o.Ino && s.Size == o.Size && s.Mtime == o.Mtime
}
