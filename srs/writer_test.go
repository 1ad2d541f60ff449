package srs

import (
	"crypto/sha256"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

// secret is a secret of the insecure keys, by the rule in testdata/ORIGIN.md.
func secret(name string) *big.Int {
	h := sha256.Sum256([]byte("cuzk insecure key " + name))
	h[31] &= 0x3f
	slices.Reverse(h[:])
	return new(big.Int).SetBytes(h[:])
}

// outsideG1 is a point of the curve outside the subgroup.
func outsideG1(t *testing.T) []byte {
	t.Helper()
	for n := uint64(1); n < 100; n++ {
		var p bls12381.G1Affine
		var y2, four fp.Element
		p.X.SetUint64(n)
		y2.Square(&p.X).Mul(&y2, &p.X).Add(&y2, four.SetUint64(4))
		if p.Y.Sqrt(&y2) != nil && !p.IsInSubGroup() {
			return appendG1(nil, &p)
		}
	}
	t.Fatal("no such point")
	return nil
}

// outsideG2 is a point of the twist outside the subgroup.
func outsideG2(t *testing.T) []byte {
	t.Helper()
	for n := uint64(1); n < 100; n++ {
		var p bls12381.G2Affine
		var y2, b bls12381.E2
		p.X.A0.SetUint64(n)
		b.A0.SetUint64(4)
		b.A1.SetUint64(4)
		y2.Square(&p.X).Mul(&y2, &p.X).Add(&y2, &b)
		if y2.Legendre() == 1 {
			p.Y.Sqrt(&y2)
			if p.IsOnCurve() && !p.IsInSubGroup() {
				return appendG2(nil, &p)
			}
		}
	}
	t.Fatal("no such point")
	return nil
}

// empty fails if anything at all lies in the directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		t.Errorf("left behind: %s", f.Name())
	}
}

// TestWriterLeavesNothingBehind ends writers early in every way.
func TestWriterLeavesNothingBehind(t *testing.T) {
	p, q := points(20)
	for _, c := range []struct {
		name string
		do   func(w *Writer) error
		text string
	}{
		{"abort", func(w *Writer) error { w.Abort(); return w.Commit() }, "given up"},
		{"too few", func(w *Writer) error { return errors.Join(w.G1(p[:5]), w.Commit()) }, "query l lacks 2 points"},
		{"too many", func(w *Writer) error { return errors.Join(w.G1(p[:14]), w.G2(q[:3])) }, "more points than"},
		{"wrong group", func(w *Writer) error { return w.G2(q[:1]) }, "query h still lacks 3 points"},
		{"infinity", func(w *Writer) error { return w.G1(make([]bls12381.G1Affine, 1)) }, "point at infinity"},
		{"disk trouble", func(w *Writer) error {
			w.file.Temporary().Close() // every later write fails
			return errors.Join(w.G1(p[:14]), w.G2(q[:2]), w.Commit())
		}, "file already closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := Create(filepath.Join(dir, "insecure-toy.params"), toyVK(2), toyShape)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.do(w); err == nil || !strings.Contains(err.Error(), c.text) {
				t.Errorf("got %v, want %q", err, c.text)
			}
			if err := w.Commit(); err == nil {
				t.Error("commit after failure")
			}
			empty(t, dir)
		})
	}
}

func TestWriterRefusals(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		path   string
		inputs int
		text   string
	}{
		{filepath.Join(dir, "insecure-toy.params"), 3, "verifying key has 3 inputs, shape says 2"},
		{filepath.Join(dir, "toy.params"), 2, "must contain \"insecure\""},
		{filepath.Join(dir, mustID(t, "window-2KiB").FileName(Params)), 2, "must contain \"insecure\""},
		{filepath.Join(dir, "none", "insecure-toy.params"), 2, "no such file or directory"},
	} {
		if _, err := Create(c.path, toyVK(c.inputs), toyShape); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.path, err)
		}
	}
	if err := WriteVerifyingKey(filepath.Join(dir, "toy.vk"), toyVK(1)); err == nil {
		t.Error("a verifying key without \"insecure\" in its name")
	}
	empty(t, dir)
}

// TestFullDiskFoundFirst asks for more than any disk has.
func TestFullDiskFoundFirst(t *testing.T) {
	dir := t.TempDir()
	big := Shape{Inputs: 2, H: 1 << 31, L: 1 << 31, A: 1 << 31, B: 1 << 31}
	if _, err := Create(filepath.Join(dir, "insecure-big.params"), toyVK(2), big); err == nil || !strings.Contains(err.Error(), "reserve") {
		t.Skipf("the file system reserves nothing: %v", err)
	}
	empty(t, dir)
}

func TestWriteVerifyingKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "insecure-toy.vk")
	if err := WriteVerifyingKey(path, toyVK(2)); err != nil {
		t.Fatal(err)
	}
	vk, err := ReadVerifyingKey(path)
	if err != nil || string(vk.Encode()) != string(toyVK(2).Encode()) {
		t.Errorf("another key comes back (%v)", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
