package srs

import "golang.org/x/sys/unix"

// release gives pages of a mapping back. Refusal costs memory alone.
func release(pages []byte) { _ = unix.Madvise(pages, unix.MADV_DONTNEED) }
