package srs

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"

	"cuzk/internal/atomicfile"
)

// Writer writes a .params file as a stream: the verifying key at once, then the
// points of h, l, a, b_g1 and b_g2 in this order, as many as the shape says.
// Until Commit the file has a temporary name; Abort, or an error, leaves nothing
// behind. Not for concurrent use.
type Writer struct {
	file    *atomicfile.File
	buf     *bufio.Writer
	path    string
	lists   []list // what is still to come; the first is being written
	err     error  // the first failure; everything later returns it
	scratch []byte
}

// list is a query being written.
type list struct {
	name string
	size int // bytes a point
	left int // points still to come
	open bool
}

// Create starts a .params file. Keys that this program makes have secrets that
// somebody knows, so the file's name must contain "insecure"; see
// [ID.InsecureFileName].
func Create(path string, vk *VerifyingKey, s Shape) (*Writer, error) {
	if len(vk.IC) != s.Inputs {
		return nil, fmt.Errorf("write key %s: verifying key has %d inputs, shape says %d", path, len(vk.IC), s.Inputs)
	}
	file, err := create(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: file, buf: bufio.NewWriterSize(file, 1<<20), path: path, lists: []list{
		{name: nameH, size: g1Size, left: s.H}, {name: nameL, size: g1Size, left: s.L},
		{name: nameA, size: g1Size, left: s.A}, {name: nameB1, size: g1Size, left: s.B},
		{name: nameB2, size: g2Size, left: s.B}}}
	if err := atomicfile.Reserve(file.Temporary(), s.ParamsBytes()); err != nil {
		return nil, w.fail(fmt.Errorf("reserve %d bytes: %w", s.ParamsBytes(), err))
	}
	if _, err := w.buf.Write(vk.Encode()); err != nil {
		return nil, w.fail(err)
	}
	return w, w.advance()
}

// create begins a file whose name says that it is no published key.
func create(path string) (*atomicfile.File, error) {
	if !strings.Contains(filepath.Base(path), "insecure") {
		return nil, fmt.Errorf("write key %s: the name of a key made here must contain \"insecure\"", path)
	}
	f, err := atomicfile.Create(path)
	if err != nil {
		return nil, fmt.Errorf("write key: %w", err)
	}
	return f, nil
}

// G1 appends points of h, l, a or b_g1. A call may end one list and begin the
// next.
func (w *Writer) G1(points []bls12381.G1Affine) error {
	for i := range points {
		if err := w.ready(g1Size, points[i].IsInfinity()); err != nil {
			return err
		}
		b := points[i].RawBytes()
		if err := w.put(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// G2 appends points of b_g2.
func (w *Writer) G2(points []bls12381.G2Affine) error {
	for i := range points {
		if err := w.ready(g2Size, points[i].IsInfinity()); err != nil {
			return err
		}
		b := points[i].RawBytes()
		if err := w.put(b[:]); err != nil {
			return err
		}
	}
	return nil
}

// ready checks that a point of the given size may come now.
func (w *Writer) ready(size int, infinity bool) error {
	switch {
	case w.err != nil:
		return w.err
	case len(w.lists) == 0:
		return w.fail(errors.New("more points than the shape says"))
	case w.lists[0].size != size:
		return w.fail(fmt.Errorf("query %s still lacks %d points of the other group", w.lists[0].name, w.lists[0].left))
	case infinity:
		return w.fail(fmt.Errorf("query %s: %w", w.lists[0].name, errInfinity))
	}
	return nil
}

func (w *Writer) put(b []byte) error {
	if _, err := w.buf.Write(b); err != nil {
		return w.fail(err)
	}
	w.lists[0].left--
	return w.advance()
}

// advance writes the lengths of the lists that begin now.
func (w *Writer) advance() error {
	for len(w.lists) > 0 {
		l := &w.lists[0]
		if !l.open {
			l.open = true
			w.scratch = binary.BigEndian.AppendUint32(w.scratch[:0], uint32(l.left))
			if _, err := w.buf.Write(w.scratch); err != nil {
				return w.fail(err)
			}
		}
		if l.left > 0 {
			return nil
		}
		w.lists = w.lists[1:]
	}
	return nil
}

// fail remembers the first error and removes the temporary file.
func (w *Writer) fail(err error) error {
	if w.err != nil {
		return w.err
	}
	var named *fs.PathError // says the path itself
	if errors.As(err, &named) {
		w.err = fmt.Errorf("write key: %w", err)
	} else {
		w.err = fmt.Errorf("write key %s: %w", w.path, err)
	}
	w.file.Abort()
	return w.err
}

// Abort gives up; nothing stays on disk. After Commit it does nothing, so it can
// be deferred.
func (w *Writer) Abort() {
	if w.err == nil {
		_ = w.fail(errors.New("given up"))
	}
}

// Commit checks that every list is complete, brings the bytes to disk and gives
// the file its name.
func (w *Writer) Commit() error {
	if w.err != nil {
		return w.err
	}
	if len(w.lists) > 0 {
		return w.fail(fmt.Errorf("query %s lacks %d points", w.lists[0].name, w.lists[0].left))
	}
	if err := w.buf.Flush(); err != nil {
		return w.fail(err)
	}
	if err := w.file.Commit(); err != nil {
		return w.fail(err)
	}
	w.err = fmt.Errorf("write key %s: committed already", w.path)
	return nil
}

// WriteVerifyingKey writes a .vk file, whole or not at all. The rule for names is
// that of [Create].
func WriteVerifyingKey(path string, vk *VerifyingKey) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if _, err = f.Write(vk.Encode()); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
