package srs

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/blake2b"

	"cuzk/internal/atomicfile"
)

// ValuesWriter writes a file of values as a stream: the points of K, then those of M,
// as a key file has them. Until Commit the file has a temporary name; Abort, or an
// error, leaves nothing behind. Not for concurrent use.
type ValuesWriter struct {
	file   *atomicfile.File
	buf    *bufio.Writer
	sum    hash.Hash
	path   string
	header ValuesHeader
	left   int64 // bytes of points still to come
	err    error // the first failure, or that it is done
}

// CreateValues starts the file of values beside a key, with space reserved for all
// of it. The header's digests are filled in.
func CreateValues(k *Key, h ValuesHeader) (*ValuesWriter, error) {
	path := ValuesPath(k.Path)
	h.Key = k.VK.Identity()
	if err := h.fits(k); err != nil {
		return nil, fmt.Errorf("write %s: %w", path, err)
	}
	if _, err := DecodeValuesHeader(h.Encode()); err != nil {
		return nil, fmt.Errorf("write %s: %d and %d points of 2^%d: %w", path, h.K, h.M, h.LogN, err)
	}
	if !strings.HasSuffix(k.Path, Params) {
		return nil, fmt.Errorf("write %s: the key is no file NAME%s", path, Params)
	}
	file, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write values: %w", err)
	}
	sum, err := blake2b.New256(nil)
	w := &ValuesWriter{file: file, buf: bufio.NewWriterSize(file, 1<<20), sum: sum, path: path, header: h, left: h.Bytes() - valuesHeader}
	if err == nil {
		err = atomicfile.Reserve(file.Temporary(), h.Bytes())
	}
	if err == nil {
		_, err = w.buf.Write(make([]byte, valuesHeader)) // its digest is not known yet
	}
	if err != nil {
		return nil, w.fail(fmt.Errorf("reserve %d bytes: %w", h.Bytes(), err))
	}
	return w, nil
}

// Raw appends points in the file's form.
func (w *ValuesWriter) Raw(points []byte) error {
	if w.err != nil {
		return w.err
	}
	if len(points)%g1Size != 0 || int64(len(points)) > w.left {
		return w.fail(fmt.Errorf("%d bytes of points came, %d are still to come", len(points), w.left))
	}
	for at := 0; at < len(points); at += g1Size {
		if b := points[at]; b&flagMask != 0 {
			return w.fail(flagError(b))
		}
	}
	if _, err := w.buf.Write(points); err != nil {
		return w.fail(err)
	}
	w.sum.Write(points) // never fails
	w.left -= int64(len(points))
	return nil
}

// Lists are K and M as they were written, to be read again before Commit. All points
// must have come.
func (w *ValuesWriter) Lists() (k, m WrittenList, err error) {
	if w.err != nil {
		return k, m, w.err
	}
	if w.left > 0 {
		return k, m, w.fail(fmt.Errorf("%d bytes of points are missing", w.left))
	}
	if err := w.buf.Flush(); err != nil {
		return k, m, w.fail(err)
	}
	h := &w.header
	return WrittenList{w, valuesHeader, h.K}, WrittenList{w, valuesHeader + int64(h.K)*g1Size, h.M}, nil
}

// WrittenList reads the points of one of them back.
type WrittenList struct {
	w     *ValuesWriter
	from  int64
	count int
}

// CopyRaw fills dst with points as the file has them. It may be called by several
// goroutines.
func (l WrittenList) CopyRaw(dst []byte, from int) error {
	if len(dst)%g1Size != 0 || from < 0 || len(dst)/g1Size > l.count-from {
		return fmt.Errorf("%d bytes from point %d of %d are not there", len(dst), from, l.count)
	}
	_, err := l.w.file.Temporary().ReadAt(dst, l.from+int64(from)*g1Size)
	return err
}

// Commit writes the header, brings the bytes to disk and gives the file its name. It
// returns the path. The digest is remembered where the options say, so that the file
// is not read for it.
func (w *ValuesWriter) Commit(o Options) (string, error) {
	if _, _, err := w.Lists(); err != nil {
		return "", err
	}
	copy(w.header.Content[:], w.sum.Sum(nil))
	if _, err := w.file.Temporary().WriteAt(w.header.Encode(), 0); err != nil {
		return "", w.fail(err)
	}
	if err := w.file.Commit(); err != nil {
		return "", w.fail(err)
	}
	w.err = fmt.Errorf("write values %s: committed already", w.path)
	o.warn(w.remember(o))
	return w.path, nil
}

func (w *ValuesWriter) remember(o Options) error {
	f, err := os.Open(w.path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := stampOf(f)
	if err != nil {
		return err
	}
	return o.loadDigests().remember(o.CacheDir, filepath.Base(w.path), st, hex.EncodeToString(w.header.Content[:16]))
}

// Abort gives up; after Commit it does nothing, so it can be deferred.
func (w *ValuesWriter) Abort() {
	if w.err == nil {
		_ = w.fail(errors.New("given up"))
	}
}

func (w *ValuesWriter) fail(err error) error {
	if w.err == nil {
		w.err = fmt.Errorf("write values %s: %w", filepath.Base(w.path), err)
		w.file.Abort()
	}
	return w.err
}
