package srs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// State is what is known of a key file.
type State string

// States, from nothing to everything.
const (
	Missing    State = "missing"    // no such file
	WrongSize  State = "wrong size" // cannot be the published file
	Unchecked  State = "unchecked"  // the size fits, the digest was never computed
	Verified   State = "verified"   // the digest is the published one
	Mismatch   State = "mismatch"   // another digest: damaged, or of another setup
	InsecureOK State = "insecure"   // a well-formed key whose secrets are known
	Malformed  State = "malformed"  // an insecure key, or values, that are not whole
)

// Row is one key file, as a list shows it.
type Row struct {
	ID        ID
	Part      string // Params, VK or ValuesPart
	File      string // base name
	State     State
	Bytes     int64     // size on disk, 0 if missing
	Want      int64     // size that it must have
	Digest    string    // as computed; empty if it was not
	Published Published // zero for an insecure key
}

// Usable tells whether Open would take the file, given permission for insecure
// keys, without finding fault.
func (r Row) Usable() bool {
	return r.State == Verified || r.State == Unchecked || r.State == InsecureOK
}

// Insecure tells whether the file is called an insecure key.
func (r Row) Insecure() bool { return strings.HasPrefix(r.File, "insecure-") }

// List looks at a directory without reading keys: first a row for each part of
// each published key, then one for each insecure key that is there. Digests come
// from memory ([Options.CacheDir]).
func List(dir string, o Options) ([]Row, error) {
	if err := needDir(dir); err != nil {
		return nil, err
	}
	memory := o.loadDigests()
	var rows []Row
	for _, id := range Official() {
		for _, part := range []string{Params, VK} {
			r, err := officialRow(dir, id, part, memory)
			if err != nil {
				return nil, err
			}
			rows = append(rows, r)
		}
	}
	insecure, err := insecureRows(dir)
	return append(rows, insecure...), err
}

func needDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("key directory: %w", missing(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("key directory: %w: %s is not a directory", ErrKeyMissing, dir)
	}
	return nil
}

func officialRow(dir string, id ID, part string, memory digests) (Row, error) {
	r := Row{ID: id, Part: part, File: id.FileName(part), Want: id.Shape().Bytes(part), State: Missing}
	r.Published, _ = id.Published(part)
	f, err := os.Open(filepath.Join(dir, r.File))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	st, err := stampOf(f)
	if err != nil {
		return r, err
	}
	r.Bytes = st.Size
	d, known := memory.find(st)
	r.judge(d, known)
	return r, nil
}

// judge sets the state of a published file that is there.
func (r *Row) judge(digest string, known bool) {
	switch {
	case r.Bytes != r.Want:
		r.State = WrongSize
	case !known:
		r.State = Unchecked
	case digest == r.Published.Digest:
		r.State, r.Digest = Verified, digest
	default:
		r.State, r.Digest = Mismatch, digest
	}
}

func insecureRows(dir string) ([]Row, error) {
	var rows []Row
	for _, id := range Circuits() {
		for _, part := range []string{Params, VK} {
			r := Row{ID: id, Part: part, File: id.InsecureFileName(part), Want: id.Shape().Bytes(part), State: InsecureOK}
			info, err := os.Stat(filepath.Join(dir, r.File))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if r.Bytes = info.Size(); r.Bytes != r.Want {
				r.State = WrongSize
			}
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// Check reads the file of a row and returns the row with what it found: the
// digest of a published file, the form and the points of an insecure one. An
// error means that the file could not be read, not that it is bad.
func Check(ctx context.Context, dir string, r Row, o Options) (Row, error) {
	if r.State == Missing || r.State == WrongSize {
		return r, nil
	}
	if r.Part == ValuesPart {
		return checkValues(ctx, dir, r, o)
	}
	if r.Insecure() {
		return checkInsecure(ctx, dir, r, o)
	}
	f, err := os.Open(filepath.Join(dir, r.File))
	if err != nil {
		return r, missing(err)
	}
	defer f.Close()
	d, err := o.digest(ctx, f)
	if err != nil {
		return r, err
	}
	r.judge(d, true)
	return r, nil
}

func checkInsecure(ctx context.Context, dir string, r Row, o Options) (Row, error) {
	path := filepath.Join(dir, r.File)
	if r.Part == VK {
		_, err := ReadVerifyingKey(path)
		return r.malformed(err)
	}
	o.Insecure = true
	k, err := OpenFile(ctx, path, o)
	if err != nil {
		return r.malformed(err)
	}
	err = k.CheckPoints(ctx, func(done, total int) {
		if o.Progress != nil {
			o.Progress(r.File, k.Bytes()*int64(done)/int64(total), k.Bytes())
		}
	})
	return r.malformed(errors.Join(err, k.Close()))
}

// malformed turns the finding that a key is not whole into a state.
func (r Row) malformed(err error) (Row, error) {
	if errors.Is(err, ErrCorrupt) {
		r.State = Malformed
		return r, nil
	}
	return r, err
}
