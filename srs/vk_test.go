package srs

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
)

func vkFiles(t testing.TB) []string {
	t.Helper()
	a, _ := filepath.Glob("../testdata/keys/*.vk")
	b, _ := filepath.Glob("../testdata/field/*.vk")
	if len(a) != 4 || len(b) != 2 {
		t.Fatalf("%d reference and %d field keys", len(a), len(b))
	}
	return append(a, b...)
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVerifyingKeysOfOthers reads keys that bellperson and others made and
// writes the same bytes.
func TestVerifyingKeysOfOthers(t *testing.T) {
	for _, path := range vkFiles(t) {
		vk, err := ReadVerifyingKey(path)
		if err != nil {
			t.Error(err)
			continue
		}
		b := readFile(t, path)
		if !bytes.Equal(vk.Encode(), b) || vk.Bytes() != len(b) || vk.Inputs() != (len(b)-vkHeader)/g1Size-1 {
			t.Errorf("%s: other bytes come back, %d of %d", path, vk.Bytes(), len(b))
		}
	}
	type line struct {
		Circuit string
		SHA256  string `json:"vk_sha256"`
	}
	jsonLines(t, "../testdata/keys/keys.jsonl", func(l line) {
		h := sha256.Sum256(readFile(t, "../testdata/keys/"+l.Circuit+".vk"))
		if got := hex.EncodeToString(h[:]); got != l.SHA256 {
			t.Errorf("%s.vk: SHA-256 %s, want %s", l.Circuit, got, l.SHA256)
		}
	})
}

// TestSameKeyInCompressedForm compares with the other encoding of two keys.
func TestSameKeyInCompressedForm(t *testing.T) {
	for _, name := range []string{"eiger-2k-porep", "eiger-2k-wpost"} {
		vk, err := ReadVerifyingKey("../testdata/field/" + name + ".vk")
		if err != nil {
			t.Fatal(err)
		}
		var b []byte
		g1 := func(p *bls12381.G1Affine) { x := p.Bytes(); b = append(b, x[:]...) }
		g2 := func(p *bls12381.G2Affine) { x := p.Bytes(); b = append(b, x[:]...) }
		g1(&vk.AlphaG1)
		g1(&vk.BetaG1)
		g2(&vk.BetaG2)
		g2(&vk.GammaG2)
		g1(&vk.DeltaG1)
		g2(&vk.DeltaG2)
		b = append(b, 0, 0, 0, byte(len(vk.IC)))
		for i := range vk.IC {
			g1(&vk.IC[i])
		}
		if !bytes.Equal(b, readFile(t, "../testdata/field/"+name+".vk.scale")) {
			t.Errorf("%s: the two forms differ", name)
		}
	}
}

// TestKnownSecretsOfReferenceKeys: the reference keys are the insecure ones that
// ORIGIN.md describes: alpha is its secret times the generator.
func TestKnownSecretsOfReferenceKeys(t *testing.T) {
	_, _, g1, g2 := bls12381.Generators()
	for _, path := range vkFiles(t)[:4] {
		vk, err := ReadVerifyingKey(path)
		if err != nil {
			t.Fatal(err)
		}
		var alpha, beta, delta bls12381.G1Affine
		var gamma bls12381.G2Affine
		alpha.ScalarMultiplication(&g1, secret("alpha"))
		beta.ScalarMultiplication(&g1, secret("beta"))
		delta.ScalarMultiplication(&g1, secret("delta"))
		gamma.ScalarMultiplication(&g2, secret("gamma"))
		if alpha != vk.AlphaG1 || beta != vk.BetaG1 || delta != vk.DeltaG1 || gamma != vk.GammaG2 {
			t.Errorf("%s has other secrets", path)
		}
	}
}

// TestBadVerifyingKeysNamed spoils each of the fields.
func TestBadVerifyingKeysNamed(t *testing.T) {
	good := toyVK(3).Encode()
	g1Torsion, g2Torsion := outsideG1(t), outsideG2(t)
	fields := []struct {
		name    string
		at, len int
	}{{"alpha_g1", 0, 96}, {"beta_g1", 96, 96}, {"beta_g2", 192, 192}, {"gamma_g2", 384, 192}, {"delta_g1", 576, 96},
		{"delta_g2", 672, 192}, {"ic, point 0 of 3", 868, 96}, {"ic, point 2 of 3", 868 + 192, 96}}
	for _, f := range fields {
		outside := g1Torsion
		if f.len == g2Size {
			outside = g2Torsion
		}
		for _, c := range []struct {
			name  string
			spoil func(p []byte)
			want  error
		}{
			{"off the curve", func(p []byte) { p[len(p)-1] ^= 1 }, errCurve},
			{"outside the subgroup", func(p []byte) { copy(p, outside) }, errSubgroup},
			{"infinity", func(p []byte) { clear(p); p[0] = 0x40 }, errInfinity},
			{"compressed", func(p []byte) { p[0] |= 0x80 }, errCompressed},
			{"not below p", func(p []byte) { p[0] = 0x1b }, errRange},
		} {
			b := slices.Clone(good)
			c.spoil(b[f.at : f.at+f.len])
			_, err := DecodeVerifyingKey(b)
			if !errors.Is(err, c.want) || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), f.name) {
				t.Errorf("%s %s: %v", f.name, c.name, err)
			}
		}
	}
}

func TestCutVerifyingKeysRefused(t *testing.T) {
	b := toyVK(3).Encode()
	for n := range b {
		if _, err := DecodeVerifyingKey(b[:n:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d: %v", n, len(b), err)
		}
	}
	if _, err := DecodeVerifyingKey(append(b, 0)); !errors.Is(err, ErrCorrupt) {
		t.Errorf("one byte more: %v", err)
	}
	path := filepath.Join(t.TempDir(), "none.vk")
	if _, err := ReadVerifyingKey(path); !errors.Is(err, ErrKeyMissing) || !strings.Contains(err.Error(), path) {
		t.Errorf("no file: %v", err)
	}
}

// FuzzDecodeVerifyingKey: no panic, and one encoding for what is accepted.
func FuzzDecodeVerifyingKey(f *testing.F) {
	for _, path := range vkFiles(f) {
		f.Add(readFile(f, path))
	}
	f.Add(toyVK(1).Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		vk, err := DecodeVerifyingKey(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error of no class: %v", err)
			}
			return
		}
		if !bytes.Equal(vk.Encode(), b) {
			t.Error("other bytes come back")
		}
	})
}

func BenchmarkDecodeVerifyingKey(b *testing.B) {
	for _, path := range vkFiles(b) {
		raw := readFile(b, path)
		b.Run(filepath.Base(path), func(b *testing.B) {
			for b.Loop() {
				if _, err := DecodeVerifyingKey(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
