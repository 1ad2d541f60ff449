package srs

import "fmt"

// Raw appends points that are in the file's form already, whole points of the list
// that is being written. Whoever made them vouches for them; only flags are looked
// at.
func (w *Writer) Raw(points []byte) error {
	if w.err != nil || len(points) == 0 {
		return w.err
	}
	if len(w.lists) == 0 {
		return w.ready(g1Size, false) // says what is wrong
	}
	l := &w.lists[0]
	n := len(points) / l.size
	if len(points)%l.size != 0 || n > l.left {
		return w.fail(fmt.Errorf("query %s still lacks %d points of %d bytes, %d bytes came", l.name, l.left, l.size, len(points)))
	}
	for at := 0; at < len(points); at += l.size {
		if b := points[at]; b&flagMask != 0 {
			return w.fail(fmt.Errorf("query %s: %w", l.name, flagError(b)))
		}
	}
	if _, err := w.buf.Write(points); err != nil {
		return w.fail(err)
	}
	l.left -= n
	return w.advance()
}
