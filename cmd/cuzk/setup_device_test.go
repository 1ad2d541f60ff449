package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuzk/srs"
)

// TestKeySumIsTheFiles feeds a key's own lists and gets the digest of its file.
func TestKeySumIsTheFiles(t *testing.T) {
	dir, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "insecure-window-2KiB.params"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := srs.NewKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	k := newKeySum(key.VK, key.Shape())
	for _, q := range []srs.Query{key.H, key.L, key.A, key.B1, key.B2} {
		half := len(q.Raw) / q.N * (q.N / 2)
		if err := k.Raw(q.Raw[:half]); err != nil {
			t.Fatal(err)
		}
		if err := k.Raw(q.Raw[half:]); err != nil {
			t.Fatal(err)
		}
	}
	digest, n, err := k.end()
	if want := sha256.Sum256(raw); err != nil || digest != hex.EncodeToString(want[:]) || n != int64(len(raw)) {
		t.Errorf("%s of %d bytes, %v", digest, n, err)
	}
	if err := k.Raw(key.H.Raw[:96]); err == nil {
		t.Error("a point after the end")
	}
}

// TestKeySumRefuses gives it what is no key.
func TestKeySumRefuses(t *testing.T) {
	dir, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	key, err := srs.Open(t.Context(), dir, "window-2KiB", srs.Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	defer key.Close()
	wrong := append([]byte(nil), key.H.Raw[:96]...)
	wrong[95] ^= 1
	for name, b := range map[string][]byte{"half a point": key.H.Raw[:95], "a point off the curve": wrong} {
		if err := newKeySum(key.VK, key.Shape()).Raw(b); err == nil {
			t.Errorf("took %s", name)
		}
	}
	k := newKeySum(key.VK, key.Shape())
	if _, _, err := k.end(); err == nil || !strings.Contains(err.Error(), "points are missing") {
		t.Errorf("an end without points: %v", err)
	}
}
