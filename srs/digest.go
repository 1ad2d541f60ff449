package srs

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/crypto/blake2b"

	"cuzk/internal/atomicfile"
)

// Progress hears how much of a file has been digested, in bytes.
type Progress func(file string, done, total int64)

// digestChunk is how much is read between two looks at the context: 8 MiB take
// about 12 ms.
const digestChunk = 8 << 20

// digestFile computes the first 16 bytes of BLAKE2b-512 of an open file.
func digestFile(ctx context.Context, f *os.File, size int64, progress Progress) (string, error) {
	h, err := blake2b.New512(nil)
	if err != nil {
		return "", err
	}
	return hashFile(ctx, f, h, 0, size, progress)
}

// hashFile computes the first 16 bytes of a hash of an open file, from an offset on.
func hashFile(ctx context.Context, f *os.File, h hash.Hash, from, size int64, progress Progress) (string, error) {
	buf := make([]byte, min(digestChunk, max(size, 1)))
	for done := from; done < size; {
		if err := ctx.Err(); err != nil {
			return "", fmt.Errorf("digest %s: %w", f.Name(), err)
		}
		n, err := f.ReadAt(buf[:min(int64(len(buf)), size-done)], done)
		if n == 0 && err != nil {
			return "", fmt.Errorf("digest %s: %w", f.Name(), unexpected(err))
		}
		h.Write(buf[:n])
		if done += int64(n); progress != nil {
			progress(filepath.Base(f.Name()), done, size)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: the file became shorter while it was read", ErrCorrupt)
	}
	return err
}

// digest returns the digest of an open file, from memory where the file is the
// same as when it was last read, and otherwise by reading it.
func (o Options) digest(ctx context.Context, f *os.File) (string, error) {
	return o.remembered(f, func(size int64) (string, error) { return digestFile(ctx, f, size, o.Progress) })
}

// digestFrom is the first half of the BLAKE2b-256 of what comes after a header, with
// the same memory.
func (o Options) digestFrom(ctx context.Context, f *os.File, from int64) (string, error) {
	h, err := blake2b.New256(nil)
	if err != nil {
		return "", err
	}
	return o.remembered(f, func(size int64) (string, error) { return hashFile(ctx, f, h, from, size, o.Progress) })
}

// remembered is the digest of an open file, of which one kind is kept.
func (o Options) remembered(f *os.File, read func(size int64) (string, error)) (string, error) {
	before, err := stampOf(f)
	if err != nil {
		return "", err
	}
	memory := o.loadDigests()
	if d, ok := memory.find(before); ok {
		return d, nil
	}
	d, err := read(before.Size)
	if err != nil {
		return "", err
	}
	after, err := stampOf(f)
	if err != nil {
		return "", err
	}
	if after != before {
		return "", fmt.Errorf("%w: %s was written to while it was read", ErrCorrupt, f.Name())
	}
	o.warn(memory.remember(o.CacheDir, filepath.Base(f.Name()), before, d))
	return d, nil
}

// digests is the sidecar file that remembers digests. Whoever can write to it
// can make any file pass as official, exactly as whoever can replace the
// program; it belongs in a directory of the user who runs the program.
type digests struct {
	Version int          `json:"version"`
	Files   []digestLine `json:"files"`
}

type digestLine struct {
	Name   string `json:"name"` // for the reader; the stamp decides
	Stamp  stamp  `json:"stamp"`
	Digest string `json:"digest"`
}

const (
	digestsName    = "key-digests.json"
	digestsVersion = 1
)

// loadDigests reads the sidecar. One that is not there or not readable is empty:
// digests are then computed again.
func (o Options) loadDigests() digests {
	d := digests{Version: digestsVersion}
	if o.CacheDir == "" {
		return d
	}
	path := filepath.Join(o.CacheDir, digestsName)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d
	}
	var read digests
	if err == nil {
		err = json.Unmarshal(b, &read)
	}
	if err != nil || read.Version != digestsVersion {
		o.warn(fmt.Errorf("remembered digests in %s are not readable and are made again: %w", path, err))
		return d
	}
	return read
}

func (d digests) find(s stamp) (string, bool) {
	for _, l := range d.Files {
		if l.Stamp == s {
			return l.Digest, true
		}
	}
	return "", false
}

// remember adds a line and replaces the sidecar at once.
func (d digests) remember(dir, name string, s stamp, digest string) error {
	if dir == "" {
		return nil
	}
	kept := digests{Version: digestsVersion, Files: []digestLine{{name, s, digest}}}
	for _, l := range d.Files {
		if l.Stamp.Dev != s.Dev || l.Stamp.Ino != s.Ino {
			kept.Files = append(kept.Files, l)
		}
	}
	b, err := json.MarshalIndent(kept, "", " ")
	if err == nil {
		err = replaceFile(filepath.Join(dir, digestsName), append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("the digest of %s could not be remembered and will be computed again: %w", name, err)
	}
	return nil
}

// replaceFile writes a file so that readers see the old or the new content.
func replaceFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteFile(path, b)
}
