//go:build !linux

package fetch

import "os"

// reserve makes the file as long as it will be; writes will tell when the disk
// is full.
func reserve(f *os.File, size int64) error { return f.Truncate(size) }
