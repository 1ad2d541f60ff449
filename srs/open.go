package srs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Options are what opening, listing and checking keys may do.
type Options struct {
	// Insecure permits keys whose secrets are known. They are used only where
	// the official key of a circuit is missing, and only under their own names
	// ([ID.InsecureFileName]).
	Insecure bool
	// CacheDir is where digests are remembered, by size, times and inode of the
	// file; empty to read the file each time.
	CacheDir string
	// Progress hears about files that are being digested; may be nil.
	Progress Progress
	// Warn hears about trouble that costs time but no correctness, such as a
	// CacheDir that cannot be written; may be nil.
	Warn func(error)
}

func (o Options) warn(err error) {
	if err != nil && o.Warn != nil {
		o.Warn(err)
	}
}

// Open opens the proving key of a circuit in a directory: the official one, or,
// with Insecure and no official one there, the insecure one. The first opening
// of an official key reads the whole file for its digest: a minute for 40 GB, more
// on a slow disk (0.7 GB/s a core, BenchmarkDigest). [Values] beside the key come with
// it; those that do not fit it or are damaged are left out, with a warning.
//
// Errors: [ErrKeyMissing], [ErrCorrupt], [ErrNotOfficial], the context's.
func Open(ctx context.Context, dir, circuit string, o Options) (*Key, error) {
	id, err := ParseID(circuit)
	if err != nil {
		return nil, err
	}
	f, found, err := find(dir, id, o, Params)
	if err != nil {
		return nil, fmt.Errorf("load key %s: %w", id, err)
	}
	k, err := openFile(ctx, f, found, o)
	if err != nil {
		return nil, fmt.Errorf("load key %s from %s: %w", id, found.Path, err)
	}
	k.attachValues(ctx, o)
	return k, nil
}

// OpenFile opens a proving key by path. Without Insecure, or where the file has
// the name of a published one, its digest must be that of a published proving
// key.
func OpenFile(ctx context.Context, path string, o Options) (*Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load key: %w", missing(err))
	}
	found := Found{Path: path, Part: Params}
	if !o.Insecure || strings.HasPrefix(filepath.Base(path), Version+"-") {
		if found.ID, err = o.identify(ctx, f); err != nil {
			f.Close()
			return nil, fmt.Errorf("load key %s: %w", path, err)
		}
		found.Official = true
	}
	k, err := openFile(ctx, f, found, o)
	if err != nil {
		return nil, fmt.Errorf("load key %s: %w", path, err)
	}
	k.attachValues(ctx, o)
	return k, nil
}

// identify finds the published proving key that has the file's digest.
func (o Options) identify(ctx context.Context, f *os.File) (ID, error) {
	d, err := o.digest(ctx, f)
	if err != nil {
		return ID{}, err
	}
	for _, id := range Official() {
		if p, _ := id.Published(Params); p.Digest == d {
			return id, nil
		}
	}
	return ID{}, fmt.Errorf("%w: digest %s is not that of any published proving key", ErrNotOfficial, d)
}

// openFile maps a file, after its digest if it has to be official, and checks
// that its shape is the circuit's. It owns the file: on error it closes it.
func openFile(ctx context.Context, f *os.File, found Found, o Options) (_ *Key, err error) {
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	digest := ""
	if found.Official {
		if digest, err = o.checkOfficial(ctx, f, found); err != nil {
			return nil, err
		}
	}
	k, err := mapFile(f)
	if err != nil {
		return nil, err
	}
	k.ID, k.Official, k.Digest = found.ID, found.Official, digest
	if id := found.ID; id.Valid() && k.Shape() != id.Shape() {
		err := fmt.Errorf("%w: the key of another circuit: its lists have %+v points, those of %s %+v", ErrCorrupt, k.Shape(), id, id.Shape())
		return nil, errors.Join(err, unix.Munmap(k.data))
	}
	return k, nil
}

// checkOfficial compares size, which is quick, and then the digest.
func (o Options) checkOfficial(ctx context.Context, f *os.File, found Found) (string, error) {
	st, err := stampOf(f)
	if err != nil {
		return "", err
	}
	if want := found.ID.Shape().Bytes(found.Part); st.Size != want {
		return "", fmt.Errorf("%w: %d bytes, the published file has %d; fetch it again", ErrCorrupt, st.Size, want)
	}
	d, err := o.digest(ctx, f)
	if err != nil {
		return "", err
	}
	if p, _ := found.ID.Published(found.Part); p.Digest != d {
		return "", fmt.Errorf("%w: digest %s, the published one is %s: the file is damaged or from another setup; fetch it again", ErrNotOfficial, d, p.Digest)
	}
	return d, nil
}

// Found is the file that a key was taken from.
type Found struct {
	ID       ID
	Part     string // Params or VK
	Path     string
	Official bool // it has a published name, so its digest must be the published one
}

// candidates lists where parts of a circuit's key may be, best first: published
// files, then, with permission, insecure ones.
func candidates(dir string, id ID, o Options, parts []string) []Found {
	var out []Found
	for _, part := range parts {
		if _, published := id.Published(part); published {
			out = append(out, Found{id, part, filepath.Join(dir, id.FileName(part)), true})
		}
	}
	if o.Insecure {
		for _, part := range parts {
			out = append(out, Found{id, part, filepath.Join(dir, id.InsecureFileName(part)), false})
		}
	}
	return out
}

// find opens the first candidate that is there.
func find(dir string, id ID, o Options, parts ...string) (*os.File, Found, error) {
	for _, c := range candidates(dir, id, o, parts) {
		f, err := os.Open(c.Path)
		if err == nil {
			return f, c, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, Found{}, err
		}
	}
	return nil, Found{}, notFound(dir, id, parts[0], o)
}

// notFound says what was looked for and what could be done.
func notFound(dir string, id ID, part string, o Options) error {
	insecure := id.InsecureFileName(part)
	if _, err := os.Stat(filepath.Join(dir, insecure)); err == nil {
		return fmt.Errorf("%w: %s holds only %s, a key whose secrets are known; permit insecure keys to use it for tests", ErrNotOfficial, dir, insecure)
	}
	_, published := id.Published(part)
	switch {
	case published && o.Insecure:
		return fmt.Errorf("%w: neither %s nor %s in %s", ErrKeyMissing, id.FileName(part), insecure, dir)
	case published:
		return fmt.Errorf("%w: no %s in %s", ErrKeyMissing, id.FileName(part), dir)
	case o.Insecure:
		return fmt.Errorf("%w: no %s in %s", ErrKeyMissing, insecure, dir)
	}
	return fmt.Errorf("%w: no key was ever published for %s; an insecure one can be made for tests", ErrKeyMissing, id)
}

// OpenVK reads the verifying key of a circuit in a directory by the rules of
// [Open] and tells which file it came from. Where the .vk file is missing it is
// read from the start of the .params file.
func OpenVK(ctx context.Context, dir, circuit string, o Options) (*VerifyingKey, Found, error) {
	id, err := ParseID(circuit)
	if err != nil {
		return nil, Found{}, err
	}
	f, found, err := find(dir, id, o, VK, Params)
	if err != nil {
		return nil, Found{}, fmt.Errorf("load verifying key %s: %w", id, err)
	}
	vk, err := vkOf(ctx, f, found, o)
	if err != nil {
		return nil, Found{}, fmt.Errorf("load verifying key %s from %s: %w", id, found.Path, err)
	}
	return vk, found, nil
}

// vkOf reads the verifying key from either part. It owns the file.
func vkOf(ctx context.Context, f *os.File, found Found, o Options) (*VerifyingKey, error) {
	if found.Part == Params {
		k, err := openFile(ctx, f, found, o)
		if err != nil {
			return nil, err
		}
		return k.VK, k.Close()
	}
	defer f.Close()
	if found.Official {
		if _, err := o.checkOfficial(ctx, f, found); err != nil {
			return nil, err
		}
	}
	b, err := readVK(f)
	if err != nil {
		return nil, err
	}
	vk, err := DecodeVerifyingKey(b)
	if err != nil {
		return nil, err
	}
	if n := found.ID.Shape().Inputs; len(vk.IC) != n {
		return nil, fmt.Errorf("%w: the key of another circuit: %d inputs, %s has %d", ErrCorrupt, len(vk.IC), found.ID, n)
	}
	return vk, nil
}
