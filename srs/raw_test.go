package srs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rawLists are the toy key's lists in the file's form.
func rawLists(s Shape) (lists [][]byte) {
	p, q := points(64)
	at := 0
	for _, n := range []int{s.H, s.L, s.A, s.B} {
		var b []byte
		for range n {
			b = appendG1(b, &p[at])
			at++
		}
		lists = append(lists, b)
	}
	var b []byte
	for i := range s.B {
		b = appendG2(b, &q[i])
	}
	return append(lists, b)
}

// TestRawWritesTheSameFile compares files of points and of bytes.
func TestRawWritesTheSameFile(t *testing.T) {
	dir := t.TempDir()
	want, got := filepath.Join(dir, "insecure-points.params"), filepath.Join(dir, "insecure-raw.params")
	writeKey(t, want, toyVK(2), toyShape)
	w, err := Create(got, toyVK(2), toyShape)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	for _, l := range rawLists(toyShape) {
		half := len(l) / g2Size / 2 * g2Size
		if err := errors.Join(w.Raw(l[:half]), w.Raw(nil), w.Raw(l[half:])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	a, err := os.ReadFile(want)
	b, err2 := os.ReadFile(got)
	if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
		t.Errorf("files of %d and %d bytes differ, %v", len(a), len(b), err)
	}
}

// TestRawRefuses gives bytes that do not belong there.
func TestRawRefuses(t *testing.T) {
	lists := rawLists(toyShape)
	flagged := bytes.Clone(lists[0])
	flagged[g1Size] |= flagInfinity
	for _, c := range []struct {
		name, text string
		raw        [][]byte
	}{
		{"half a point", "96 bytes, 95 bytes came", [][]byte{lists[0][:95]}},
		{"two lists at once", "query h still lacks", [][]byte{append(bytes.Clone(lists[0]), lists[1]...)}},
		{"infinity", "query h: point at infinity", [][]byte{flagged}},
		{"more than all", "more points than the shape says", append(rawLists(toyShape), lists[0])},
	} {
		dir := t.TempDir()
		w, err := Create(filepath.Join(dir, "insecure-toy.params"), toyVK(2), toyShape)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range c.raw {
			err = w.Raw(b)
		}
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
		empty(t, dir)
	}
}
