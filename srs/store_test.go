package srs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDigestKnownAnswer: the first 16 bytes of BLAKE2b-512("abc"), RFC 7693
// appendix A.
func TestDigestKnownAnswer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "abc")
	if err := os.WriteFile(path, []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := digestFile(t.Context(), f, 3, nil)
	if err != nil || got != "ba80a53f981c4d0d6a2797b69f12f6e9" {
		t.Errorf("got %s, %v", got, err)
	}
	if _, err := digestFile(t.Context(), f, 4, nil); !errors.Is(err, ErrCorrupt) {
		t.Errorf("file shorter than said: %v", err)
	}
}

// publish window-2KiB under other digests for the length of a test, since no
// published file is at hand.
func republish(t *testing.T, part, digest string) {
	t.Helper()
	old := manifest
	t.Cleanup(func() { manifest = old })
	m := map[string]Published{}
	for k, v := range old() {
		m[k] = v
	}
	name := mustID(t, "window-2KiB").FileName(part)
	p := m[name]
	p.Digest = digest
	m[name] = p
	manifest = func() map[string]Published { return m }
}

// install puts a whole window-2KiB key under its published or insecure name.
func install(t *testing.T, dir string, name func(ID, string) string) {
	t.Helper()
	id := mustID(t, "window-2KiB")
	tmp := filepath.Join(dir, "insecure.tmp")
	writeKey(t, tmp, toyVK(id.Shape().Inputs), id.Shape())
	if err := os.Rename(tmp, filepath.Join(dir, name(id, Params))); err != nil {
		t.Fatal(err)
	}
	b := readFile(t, "../testdata/keys/window-2KiB.vk")
	if err := os.WriteFile(filepath.Join(dir, name(id, VK)), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func digestOf(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	d, err := digestFile(t.Context(), f, info.Size(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// row finds the row of a file of window-2KiB.
func row(t *testing.T, dir, file string, o Options) Row {
	t.Helper()
	rows, err := List(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.File == file {
			return r
		}
	}
	return Row{}
}

// TestOfficialKeyLifecycle follows a published key from missing to verified.
func TestOfficialKeyLifecycle(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	id := mustID(t, "window-2KiB")
	read := 0
	o := Options{CacheDir: cache, Progress: func(string, int64, int64) { read++ }, Warn: func(err error) { t.Error(err) }}
	if r := row(t, dir, id.FileName(Params), o); r.State != Missing || r.Want != 11501496 {
		t.Errorf("before: %+v", r)
	}
	if _, err := Open(t.Context(), dir, "window-2KiB", o); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("before: %v", err)
	}

	install(t, dir, ID.FileName)
	if _, err := Open(t.Context(), dir, "window-2KiB", o); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("another setup's key under the published name: %v", err)
	}
	insecure := o
	insecure.Insecure = true
	if _, err := Open(t.Context(), dir, "window-2KiB", insecure); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("the same, insecure keys permitted: %v", err)
	}
	if _, err := OpenFile(t.Context(), filepath.Join(dir, id.FileName(Params)), insecure); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("the same by path: %v", err)
	}
	if r := row(t, dir, id.FileName(Params), o); r.State != Mismatch {
		t.Errorf("after its digest is known: %+v", r)
	}
	if r := row(t, dir, id.FileName(VK), o); r.State != Unchecked {
		t.Errorf("vk was not read yet: %+v", r)
	}

	republish(t, Params, digestOf(t, filepath.Join(dir, id.FileName(Params))))
	republish(t, VK, digestOf(t, filepath.Join(dir, id.FileName(VK))))
	read = 0
	k, err := Open(t.Context(), dir, "window-2KiB", o)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if !k.Official || k.ID != id || k.Digest == "" || read != 0 {
		t.Errorf("official %v, id %v, digest %q, read %d times though it was remembered", k.Official, k.ID, k.Digest, read)
	}
	if r := row(t, dir, id.FileName(Params), o); r.State != Verified {
		t.Errorf("after: %+v", r)
	}
	if _, found, err := OpenVK(t.Context(), dir, "window-2KiB", o); err != nil || !found.Official || found.Part != VK {
		t.Errorf("vk: %+v, %v", found, err)
	}
	if _, err := OpenFile(t.Context(), filepath.Join(dir, id.FileName(Params)), o); err != nil {
		t.Errorf("by path: %v", err)
	}
}

// TestChangedFileIsDigestedAgain writes to a file whose digest is remembered.
func TestChangedFileIsDigestedAgain(t *testing.T) {
	dir := t.TempDir()
	id := mustID(t, "window-2KiB")
	o := Options{CacheDir: t.TempDir()}
	install(t, dir, ID.FileName)
	path := filepath.Join(dir, id.FileName(VK))
	republish(t, VK, digestOf(t, path))
	if _, _, err := OpenVK(t.Context(), dir, "window-2KiB", o); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	b := readFile(t, path)
	b[len(b)-1] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil { // as a careless copy would
		t.Fatal(err)
	}
	if _, _, err := OpenVK(t.Context(), dir, "window-2KiB", o); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("got %v", err)
	}
}

func TestInsecureKeysNeedPermission(t *testing.T) {
	dir := t.TempDir()
	id := mustID(t, "window-2KiB")
	install(t, dir, ID.InsecureFileName)
	ctx := t.Context()
	if _, err := Open(ctx, dir, "window-2KiB", Options{}); !errors.Is(err, ErrNotOfficial) || !strings.Contains(err.Error(), "permit insecure") {
		t.Errorf("without permission: %v", err)
	}
	if _, _, err := OpenVK(ctx, dir, "window-2KiB", Options{}); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("vk without permission: %v", err)
	}
	path := filepath.Join(dir, id.InsecureFileName(Params))
	if _, err := OpenFile(ctx, path, Options{}); !errors.Is(err, ErrNotOfficial) {
		t.Errorf("by path, without permission: %v", err)
	}
	k, err := Open(ctx, dir, "window-2KiB", Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if k.Official || k.Digest != "" {
		t.Errorf("official %v, digest %q", k.Official, k.Digest)
	}
	r, err := Check(ctx, dir, row(t, dir, filepath.Base(path), Options{}), Options{})
	if err != nil || r.State != InsecureOK {
		t.Errorf("check: %+v, %v", r, err)
	}
}

// TestPublishedKeyComesFirst: permission for insecure keys does not prefer them.
func TestPublishedKeyComesFirst(t *testing.T) {
	dir := t.TempDir()
	id := mustID(t, "window-2KiB")
	install(t, dir, ID.InsecureFileName)
	install(t, dir, ID.FileName)
	republish(t, Params, digestOf(t, filepath.Join(dir, id.FileName(Params))))
	k, err := Open(t.Context(), dir, "window-2KiB", Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if !k.Official {
		t.Error("the insecure key was taken")
	}
	os.Remove(filepath.Join(dir, id.FileName(VK)))
	_, found, err := OpenVK(t.Context(), dir, "window-2KiB", Options{Insecure: true})
	if err != nil || !found.Official || found.Part != Params {
		t.Errorf("vk from %+v, %v", found, err)
	}
}

func TestDamagedKeys(t *testing.T) {
	dir := t.TempDir()
	id := mustID(t, "window-2KiB")
	install(t, dir, ID.InsecureFileName)
	install(t, dir, ID.FileName)
	ctx, o := t.Context(), Options{Insecure: true}
	for _, name := range []string{id.FileName(Params), id.InsecureFileName(Params)} {
		if err := os.Truncate(filepath.Join(dir, name), 1<<20); err != nil {
			t.Fatal(err)
		}
		if r := row(t, dir, name, o); r.State != WrongSize || r.Bytes != 1<<20 {
			t.Errorf("%+v", r)
		}
		if _, err := Open(ctx, dir, "window-2KiB", o); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s cut: %v", name, err)
		}
		os.Remove(filepath.Join(dir, name))
	}
	// The key of another circuit under this one's name.
	other := filepath.Join(dir, id.InsecureFileName(Params))
	writeKey(t, other, toyVK(2), toyShape)
	if _, err := Open(ctx, dir, "window-2KiB", o); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "another circuit") {
		t.Errorf("another circuit: %v", err)
	}
	vk := filepath.Join(dir, id.InsecureFileName(VK))
	if err := os.WriteFile(vk, toyVK(3).Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, id.FileName(VK)))
	if _, _, err := OpenVK(ctx, dir, "window-2KiB", o); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another circuit's vk: %v", err)
	}
}

// TestCheckFindsABadPoint spoils a y in an insecure key.
func TestCheckFindsABadPoint(t *testing.T) {
	dir := t.TempDir()
	id := mustID(t, "window-2KiB")
	install(t, dir, ID.InsecureFileName)
	name := id.InsecureFileName(Params)
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteAt([]byte{7}, 1<<20)
	f.Close()
	r, err := Check(t.Context(), dir, row(t, dir, name, Options{}), Options{})
	if err != nil || r.State != Malformed || r.Usable() {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestListingTrouble(t *testing.T) {
	if _, err := List(filepath.Join(t.TempDir(), "none"), Options{}); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("no directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := List(file, Options{}); !errors.Is(err, ErrKeyMissing) {
		t.Errorf("a file: %v", err)
	}
	rows, err := List(t.TempDir(), Options{})
	if err != nil || len(rows) != 40 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}

// TestMemoryOfDigestsMayFail: a sidecar that is damaged or cannot be written
// costs time and is told, nothing more.
func TestMemoryOfDigestsMayFail(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	id := mustID(t, "window-2KiB")
	install(t, dir, ID.FileName)
	sidecar := filepath.Join(cache, digestsName)
	os.WriteFile(sidecar, []byte("{"), 0o600)
	warned := 0
	o := Options{CacheDir: cache, Warn: func(error) { warned++ }}
	r, err := Check(t.Context(), dir, row(t, dir, id.FileName(VK), Options{}), o)
	if err != nil || r.State != Mismatch || warned != 1 {
		t.Errorf("damaged: %+v, %v, %d warnings", r, err, warned)
	}
	if r := row(t, dir, id.FileName(VK), o); r.State != Mismatch || warned != 1 {
		t.Errorf("after it was written again: %+v, %d warnings", r, warned)
	}
	o.CacheDir = filepath.Join(sidecar, "below-a-file")
	if _, err := Check(t.Context(), dir, row(t, dir, id.FileName(VK), Options{}), o); err != nil || warned < 2 {
		t.Errorf("not writable: %v, %d warnings", err, warned)
	}
}

func TestDigestCancelled(t *testing.T) {
	dir := t.TempDir()
	install(t, dir, ID.FileName)
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{Progress: func(string, int64, int64) { cancel() }}
	if _, err := Open(ctx, dir, "window-2KiB", o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func BenchmarkDigest(b *testing.B) {
	path := filepath.Join(b.TempDir(), "file")
	os.WriteFile(path, make([]byte, 64<<20), 0o600)
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.SetBytes(64 << 20)
	for b.Loop() {
		if _, err := digestFile(b.Context(), f, 64<<20, nil); err != nil {
			b.Fatal(err)
		}
	}
}
