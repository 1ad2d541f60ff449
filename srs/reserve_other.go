//go:build !linux

package srs

import "os"

// reserve does nothing where the system has no call for it; writes will tell.
func reserve(*os.File, int64) error { return nil }
