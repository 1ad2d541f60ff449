// Package atomicfile writes files that appear under their name whole or not at
// all.
//
// Invariants:
//
//  1. Until [File.Commit] the bytes are in a hidden file beside the final one,
//     .NAME.*.partial, and whatever had the name before is untouched.
//  2. Commit brings the bytes to disk before it gives them their name, so that
//     a power cut leaves the old file or the new one.
//  3. After [File.Abort], a failed write or a failed Commit nothing stays.
//  4. A program that ends without unwinding calls [AbortAll] first, and then
//     nothing stays either. (After a kill -9 the hidden file does, until [Sweep].)
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// ErrAborted: the file was given up, by Abort or by AbortAll.
var ErrAborted = errors.New("given up, nothing was written")

// open are the files of this process that are being written; nil after AbortAll.
var (
	mu   sync.Mutex
	open = map[*File]struct{}{}
)

// File is a file being written. Its methods are not for concurrent use.
type File struct {
	tmp  *os.File
	path string
	done bool // committed or aborted
}

// Create begins a file. Its mode will be 0644, like that of any new file.
func Create(path string) (*File, error) {
	mu.Lock()
	defer mu.Unlock()
	if open == nil {
		return nil, fmt.Errorf("%s: %w", path, ErrAborted)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return nil, named(err, "create", path)
	}
	f := &File{tmp: tmp, path: path}
	open[f] = struct{}{}
	return f, nil
}

// Sweep removes what programs that were killed left in a folder. Nobody may be
// writing there.
func Sweep(dir string) error {
	left, err := filepath.Glob(filepath.Join(escape(dir), ".*.partial"))
	for _, name := range left {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}

// escape makes a pattern that matches a path alone.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// named gives an error of the temporary file the name that the caller knows.
func named(err error, op, path string) error {
	var e *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &e):
		return &fs.PathError{Op: op, Path: path, Err: e.Err}
	case errors.As(err, &l):
		return &fs.PathError{Op: op, Path: path, Err: l.Err}
	}
	return err
}

// Write appends bytes.
func (f *File) Write(b []byte) (int, error) {
	n, err := f.tmp.Write(b)
	return n, named(err, "write", f.path)
}

// Temporary is the file under its temporary name, for what Write cannot do.
func (f *File) Temporary() *os.File { return f.tmp }

// Commit makes the bytes durable and gives the file its name.
func (f *File) Commit() error {
	if f.done {
		return fmt.Errorf("%s: %w", f.path, fs.ErrClosed)
	}
	err := f.tmp.Chmod(0o644)
	if err == nil {
		err = f.tmp.Sync()
	}
	if err == nil {
		err = f.publish()
	}
	if err != nil {
		f.Abort()
		return named(err, "write", f.path)
	}
	return syncDir(filepath.Dir(f.path))
}

// publish closes and renames, unless AbortAll came first.
func (f *File) publish() error {
	mu.Lock()
	defer mu.Unlock()
	if open == nil {
		return fmt.Errorf("%s: %w", f.path, ErrAborted)
	}
	if err := f.tmp.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.tmp.Name(), f.path); err != nil {
		return err
	}
	f.done = true
	delete(open, f)
	return nil
}

// Abort removes what was written. After Commit it does nothing, so it can be
// deferred.
func (f *File) Abort() {
	mu.Lock()
	defer mu.Unlock()
	f.discard()
	delete(open, f)
}

// discard is best effort: the error that led here is the one to report.
func (f *File) discard() {
	if f.done {
		return
	}
	f.done = true
	_ = os.Remove(f.tmp.Name())
	_ = f.tmp.Close()
}

// AbortAll gives up every file that is being written, whoever writes it, and
// lets none be created or committed any more. It is for a program that ends now.
func AbortAll() {
	mu.Lock()
	defer mu.Unlock()
	for f := range open {
		_ = os.Remove(f.tmp.Name()) // its owner may still be writing: leave it open
	}
	open = nil
}

// WriteFile writes a whole file.
func WriteFile(path string, b []byte) error {
	f, err := Create(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		f.Abort()
		return err
	}
	return f.Commit()
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
