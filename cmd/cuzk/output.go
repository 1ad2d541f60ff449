package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"cuzk/internal/atomicfile"
)

// output is where a result goes. It is opened before the work begins, so that a
// path that cannot be written is found at once, and gets all bytes at the end.
type output struct {
	stdout io.Writer        // if the result goes there
	file   *atomicfile.File // if it becomes a file
	device *os.File         // if the path is no ordinary file, such as a pipe
}

// openOutput opens a path, or standard output for "-".
func openOutput(stdout io.Writer, path string) (*output, error) {
	if path == "-" {
		return &output{stdout: stdout}, nil
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // what a link leads to is replaced, not the link
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, badInput(fmt.Errorf("write %s: it is a directory, the name of a file is wanted", path))
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &output{device: f}, err
	}
	f, err := atomicfile.Create(path)
	return &output{file: f}, err
}

// abort leaves nothing behind unless write succeeded.
func (o *output) abort() {
	if o.file != nil {
		o.file.Abort()
	}
}

// write writes everything at once.
func (o *output) write(b []byte) error {
	var err error
	switch {
	case o.file != nil:
		if _, err = o.file.Write(b); err == nil {
			err = o.file.Commit()
		}
	case o.device != nil:
		if _, err = o.device.Write(b); err == nil {
			err = o.device.Close()
		}
	default:
		_, err = o.stdout.Write(b)
	}
	return err
}
