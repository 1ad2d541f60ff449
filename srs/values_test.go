package srs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"
)

// valuesShape is a key with a domain of 2^3.
var valuesShape = Shape{Inputs: 2, H: 7, L: 4, A: 5, B: 2}

var longAgo = time.Unix(1e9, 0)

const toyK, toyM = 6, 5

func toyValues(n int) []byte {
	p, _ := points(n)
	var out []byte
	for i := range p {
		b := p[i].RawBytes()
		out = append(out, b[:]...)
	}
	return out
}

// keyWithValues writes a key and values beside it, and returns the key's path.
func keyWithValues(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "insecure-toy.params")
	writeKey(t, path, toyVK(valuesShape.Inputs), valuesShape)
	k := openKey(t, path, nil)
	w, err := CreateValues(k, ValuesHeader{Circuit: "toy", LogN: 3, M: toyM, K: toyK})
	if err != nil {
		t.Fatal(err)
	}
	all := toyValues(toyK + toyM)
	for from := 0; from < len(all); from += 4 * 96 {
		if err := w.Raw(all[from:min(from+4*96, len(all))]); err != nil {
			t.Fatal(err)
		}
	}
	checkWritten(t, w, all)
	got, err := w.Commit(Options{})
	if err != nil || got != ValuesPath(path) {
		t.Fatal(got, err)
	}
	w.Abort()
	return path
}

func checkWritten(t testing.TB, w *ValuesWriter, all []byte) {
	t.Helper()
	k, m, err := w.Lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		list WrittenList
		want []byte
	}{{k, all[2*96 : toyK*96]}, {m, all[(toyK+2)*96:]}} {
		got := make([]byte, len(c.want))
		if err := c.list.CopyRaw(got, 2); err != nil || !bytes.Equal(got, c.want) {
			t.Errorf("points read back differ: %v", err)
		}
		if err := c.list.CopyRaw(got, 3); err == nil {
			t.Error("points beyond the list were read")
		}
	}
}

func openKey(t testing.TB, path string, warn func(error)) *Key {
	t.Helper()
	k, err := OpenFile(t.Context(), path, Options{Insecure: true, CacheDir: filepath.Join(filepath.Dir(path), "cache"), Warn: warn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return k
}

func TestValues(t *testing.T) {
	k := openKey(t, keyWithValues(t), func(err error) { t.Error(err) })
	if k.Values == nil {
		t.Fatal("the values were not opened")
	}
	if v := k.Values; v.K.N != toyK || v.M.N != toyM || !bytes.Equal(append(bytes.Clone(v.K.Raw), v.M.Raw...), toyValues(toyK+toyM)) {
		t.Error("other points than were written")
	}
	if err := k.Changed(); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(ValuesPath(k.Path), longAgo, longAgo); err != nil {
		t.Fatal(err)
	}
	if err := k.Changed(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("after a change of the values: %v", err)
	}
}

// TestValuesDamage opens the key without values that are damaged, and warns.
func TestValuesDamage(t *testing.T) {
	path := keyWithValues(t)
	good, err := os.ReadFile(ValuesPath(path))
	if err != nil {
		t.Fatal(err)
	}
	damage := map[string]func([]byte) []byte{
		"empty":         func([]byte) []byte { return nil },
		"half a header": func(b []byte) []byte { return b[:80] },
		"cut":           func(b []byte) []byte { return b[:len(b)-96] },
		"longer":        func(b []byte) []byte { return append(b, 0) },
		"another point": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"another key":   func(b []byte) []byte { b[70] ^= 1; return sealed(b) },
		"another domain": func(b []byte) []byte {
			binary.BigEndian.PutUint32(b[12:], 4)
			return sealed(b)
		},
	}
	for at := 0; at < valuesHeader; at += 7 {
		damage["header byte "+string(rune('0'+at/7))] = func(b []byte) []byte { b[at] ^= 0x40; return b }
	}
	for name, hurt := range damage {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(ValuesPath(path), hurt(bytes.Clone(good)), 0o644); err != nil {
				t.Fatal(err)
			}
			var warned error
			if k := openKey(t, path, func(err error) { warned = err }); k.Values != nil || !errors.Is(warned, ErrCorrupt) {
				t.Errorf("values %v, warning %v", k.Values, warned)
			}
		})
	}
}

// sealed puts the header's check right.
func sealed(b []byte) []byte {
	check := blake2b.Sum256(b[:valuesChecked])
	copy(b[valuesChecked:], check[:])
	return b
}

// TestValuesWriter refuses what is no file of values, and leaves nothing.
func TestValuesWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "insecure-toy.params")
	writeKey(t, path, toyVK(valuesShape.Inputs), valuesShape)
	k := openKey(t, path, nil)
	for _, h := range []ValuesHeader{{LogN: 4, M: 1, K: 1}, {LogN: 3, M: 9, K: 1}, {LogN: 3, K: 1}} {
		if _, err := CreateValues(k, h); err == nil {
			t.Errorf("%+v was taken", h)
		}
	}
	for name, feed := range map[string]func(*ValuesWriter) error{
		"too many": func(w *ValuesWriter) error { return w.Raw(toyValues(3)) },
		"too few":  func(w *ValuesWriter) error { _, err := w.Commit(Options{}); return err },
		"no point": func(w *ValuesWriter) error { return w.Raw(make([]byte, 95)) },
		"flags":    func(w *ValuesWriter) error { b := toyValues(1); b[0] |= flagInfinity; return w.Raw(b) },
	} {
		w, err := CreateValues(k, ValuesHeader{Circuit: "toy", LogN: 3, M: 1, K: 1})
		if err != nil {
			t.Fatal(err)
		}
		if err := feed(w); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("files left: %v, %v", left, err)
	}
}

// TestListValues lists and checks them like keys.
func TestListValues(t *testing.T) {
	path := keyWithValues(t)
	dir, id := filepath.Dir(path), ID{Update, Circuits()[len(Circuits())-1].Size}
	if err := os.Rename(ValuesPath(path), filepath.Join(dir, ValuesPath(id.InsecureFileName(Params)))); err != nil {
		t.Fatal(err)
	}
	o := Options{Insecure: true, CacheDir: filepath.Join(dir, "cache")}
	state := func(want State) Row {
		t.Helper()
		rows, err := ListValues(dir, o)
		if err != nil || len(rows) != 1 || rows[0].State != want || rows[0].ID != id || !rows[0].Insecure() {
			t.Fatalf("%+v, %v; want %s", rows, err, want)
		}
		return rows[0]
	}
	r, err := Check(t.Context(), dir, state(Unchecked), o)
	if err != nil || r.State != Verified {
		t.Fatalf("%+v, %v", r, err)
	}
	state(Verified)
	name := filepath.Join(dir, r.File)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if r, err = Check(t.Context(), dir, r, o); err != nil || r.State != Mismatch {
		t.Fatalf("%+v, %v", r, err)
	}
	if err := os.Truncate(name, 100); err != nil {
		t.Fatal(err)
	}
	state(Malformed)
}

// FuzzValuesHeader decodes anything, and encodes what it took to the same bytes.
func FuzzValuesHeader(f *testing.F) {
	h := ValuesHeader{Circuit: "update-2KiB", LogN: 21, M: 1 << 20, K: 1<<20 - 1, Key: [32]byte{1}, Content: [32]byte{2}}
	f.Add(h.Encode())
	f.Add(h.Encode()[:100])
	f.Add(sealed(append(append([]byte(valuesMagic), 0, 0, 0, 1), make([]byte, 148)...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, resealed(b)} {
			h, err := DecodeValuesHeader(b)
			if err != nil {
				if !errors.Is(err, ErrCorrupt) {
					t.Error(err)
				}
				continue
			}
			if !bytes.Equal(h.Encode(), b[:valuesHeader]) {
				t.Errorf("%+v encodes to other bytes", h)
			}
		}
	})
}

// resealed is a header with the right check, so that the fuzzer gets past it.
func resealed(b []byte) []byte {
	if len(b) < valuesHeader {
		return nil
	}
	return sealed(bytes.Clone(b))
}
