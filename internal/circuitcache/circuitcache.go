// Package circuitcache keeps compiled circuits on disk, addressed by the
// SHA-256 of their content.
//
// Invariants:
//
//  1. What Get returns has the digest that the program expects, whether it was
//     read or compiled: a file that was changed is never used.
//  2. A file appears under its name whole or not at all.
//  3. The cache only saves time. If its folder cannot be read or written, the
//     circuit is compiled and the trouble is reported beside it.
package circuitcache

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"cuzk/internal/atomicfile"
	"cuzk/kind"
	"cuzk/r1cs"
	"cuzk/srs"
)

// ErrDrift: the circuit that this program compiles is not the one it was
// released with.
var ErrDrift = errors.New("compiled circuit differs from the one this program was released with")

// Result is a compiled circuit and where it came from.
type Result struct {
	*r1cs.Compiled
	Path    string // file in the cache, or empty
	Read    bool   // it was read, not compiled
	Trouble error  // why the cache could not be used, if so
}

// Get returns the compiled form of a circuit. dir is the folder of the cache;
// empty to use none.
func Get(ctx context.Context, dir string, id srs.ID) (*Result, error) {
	e, ok := kind.Lookup(id)
	if !ok {
		return nil, fmt.Errorf("circuit %s is not supported", id)
	}
	r := &Result{}
	if dir != "" {
		r.Path = filepath.Join(dir, hex.EncodeToString(e.Digest[:])+".circuit")
		if r.read(e) {
			return r, nil
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	encoded, err := r.compile(e)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		r.write(dir, encoded)
	}
	return r, nil
}

// read tries the file; a damaged one is reported and will be replaced.
func (r *Result) read(e kind.Entry) bool {
	b, err := os.ReadFile(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil && r1cs.Digest(b) != e.Digest {
		err = fmt.Errorf("%w: not the content that its name says", r1cs.ErrCorrupt)
	}
	if err == nil {
		r.Compiled, err = r1cs.Decode(b)
	}
	if err != nil {
		r.Trouble = fmt.Errorf("read compiled circuit %s from %s: %w", e.ID, r.Path, err)
		return false
	}
	r.Read = true
	return true
}

func (r *Result) compile(e kind.Entry) ([]byte, error) {
	blank, err := kind.Blank(e.ID)
	if err != nil {
		return nil, err
	}
	if r.Compiled, err = r1cs.Compile(blank); err != nil {
		return nil, err
	}
	b := r.Compiled.Encode()
	if d := r1cs.Digest(b); d != e.Digest {
		return nil, fmt.Errorf("%s: %w: digest %x, expected %x", e.ID, ErrDrift, d, e.Digest)
	}
	return b, nil
}

// write stores the file through a temporary one.
func (r *Result) write(dir string, b []byte) {
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = atomicfile.WriteFile(r.Path, b)
	}
	if err != nil {
		r.Trouble = errors.Join(r.Trouble, fmt.Errorf("keep compiled circuit in %s: %w", dir, err))
		r.Path = ""
	}
}
