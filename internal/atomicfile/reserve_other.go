//go:build !linux

package atomicfile

import "os"

// Reserve does nothing where the system has no call for it; writes will tell.
func Reserve(*os.File, int64) error { return nil }
