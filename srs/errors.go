package srs

import (
	"errors"
	"fmt"
	"io/fs"
)

// What a caller may want to tell apart.
var (
	// ErrKeyMissing: there is no such file.
	ErrKeyMissing = errors.New("key missing")
	// ErrCorrupt: the file is not a whole, well-formed key.
	ErrCorrupt = errors.New("key file corrupt")
	// ErrNotOfficial: the file's digest is not the published one and the caller
	// did not permit insecure keys.
	ErrNotOfficial = errors.New("key not official")
)

// missing adds ErrKeyMissing to an error of opening a file that is not there.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrKeyMissing, err)
	}
	return err
}
