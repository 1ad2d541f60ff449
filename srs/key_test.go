package srs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
)

// toyShape is a key small enough to cut at every byte.
var toyShape = Shape{Inputs: 2, H: 3, L: 4, A: 5, B: 2}

// points makes n multiples of the generators.
func points(n int) ([]bls12381.G1Affine, []bls12381.G2Affine) {
	_, _, g1, g2 := bls12381.Generators()
	p, q := make([]bls12381.G1Affine, n), make([]bls12381.G2Affine, n)
	for i := range n {
		p[i].ScalarMultiplication(&g1, big.NewInt(int64(i+2)))
		q[i].ScalarMultiplication(&g2, big.NewInt(int64(i+2)))
	}
	return p, q
}

func toyVK(inputs int) *VerifyingKey {
	p, q := points(inputs + 6)
	return &VerifyingKey{AlphaG1: p[0], BetaG1: p[1], BetaG2: q[1], GammaG2: q[2], DeltaG1: p[3], DeltaG2: q[3], IC: p[6:]}
}

// writeKey writes a key of the shape with the same few points over and over.
func writeKey(t testing.TB, path string, vk *VerifyingKey, s Shape) {
	t.Helper()
	w, err := Create(path, vk, s)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	p, q := points(64)
	for left := s.H + s.L + s.A + s.B; left > 0; left -= min(left, len(p)) {
		if err := w.G1(p[:min(left, len(p))]); err != nil {
			t.Fatal(err)
		}
	}
	for left := s.B; left > 0; left -= min(left, len(q)) {
		if err := w.G2(q[:min(left, len(q))]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
}

func toyBytes(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "insecure-toy.params")
	writeKey(t, path, toyVK(toyShape.Inputs), toyShape)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// openToy writes a key of at least a few pages and maps it.
func openToy(t *testing.T, s Shape) *Key {
	t.Helper()
	path := filepath.Join(t.TempDir(), "insecure-toy.params")
	writeKey(t, path, toyVK(s.Inputs), s)
	k, err := OpenFile(t.Context(), path, Options{Insecure: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	return k
}

func TestKeyRoundTrip(t *testing.T) {
	k := openToy(t, toyShape)
	if k.Shape() != toyShape || k.Bytes() != toyShape.ParamsBytes() || k.Official || k.ID.Valid() {
		t.Errorf("shape %+v, %d bytes, official %v, id %v", k.Shape(), k.Bytes(), k.Official, k.ID)
	}
	want := toyVK(toyShape.Inputs)
	if !bytes.Equal(k.VK.Encode(), want.Encode()) {
		t.Error("another verifying key comes back")
	}
	p, q := points(64)
	at := 0
	for _, query := range k.queries()[:4] {
		got := make([]bls12381.G1Affine, query.N)
		if err := query.DecodeG1(got, 0); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, p[at:at+query.N]) {
			t.Errorf("query %s: other points come back", query.Name)
		}
		at += query.N
	}
	got := make([]bls12381.G2Affine, 1)
	if err := k.B2.DecodeG2(got, 1); err != nil || got[0] != q[1] {
		t.Errorf("second point of b_g2: %v", err)
	}
	raw := make([]byte, 2*g1Size)
	if err := k.A.CopyRaw(raw, 2); err != nil || !bytes.Equal(raw, k.A.Raw[2*g1Size:4*g1Size]) {
		t.Errorf("raw copy: %v", err)
	}
	if err := k.CheckPoints(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

func TestQueryRanges(t *testing.T) {
	k, err := NewKey(toyBytes(t))
	if err != nil {
		t.Fatal(err)
	}
	one, two := make([]bls12381.G1Affine, 1), make([]bls12381.G2Affine, 1)
	for name, err := range map[string]error{
		"past the end":   k.H.DecodeG1(one, 3),
		"negative":       k.H.DecodeG1(one, -1),
		"too many":       k.H.DecodeG1(make([]bls12381.G1Affine, 4), 0),
		"overflow":       k.H.DecodeG1(one, int(^uint(0)>>1)),
		"wrong group":    k.H.DecodeG2(two, 0),
		"wrong group 2":  k.B2.DecodeG1(one, 0),
		"half a point":   k.H.CopyRaw(make([]byte, 95), 0),
		"raw past":       k.H.CopyRaw(make([]byte, 96), 3),
		"G2 in G1 bytes": k.B2.CopyRaw(make([]byte, 96), 0),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := k.H.DecodeG1(nil, 3); err != nil {
		t.Errorf("nothing at the end: %v", err)
	}
}

// TestCutKeysRefused cuts a key at every byte and lengthens it.
func TestCutKeysRefused(t *testing.T) {
	b := toyBytes(t)
	for n := range b {
		if _, err := NewKey(b[:n:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("cut to %d of %d bytes: %v", n, len(b), err)
		}
	}
	if _, err := NewKey(append(slices.Clone(b), 0)); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "too many") {
		t.Errorf("one byte more: %v", err)
	}
}

// TestLyingLengthsRefused puts huge and wrong lengths into every list.
func TestLyingLengthsRefused(t *testing.T) {
	b := toyBytes(t)
	off := vkHeader - countSize
	for i, n := range []int{g1Size * toyShape.Inputs, g1Size * toyShape.H, g1Size * toyShape.L, g1Size * toyShape.A,
		g1Size * toyShape.B, g2Size * toyShape.B} {
		for _, lie := range []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff} {
			c := slices.Clone(b)
			binary.BigEndian.PutUint32(c[off:], lie)
			if _, err := NewKey(c); !errors.Is(err, ErrCorrupt) {
				t.Errorf("list %d of %d points: %v", i, lie, err)
			}
		}
		off += countSize + n
	}
	if off != len(b) {
		t.Fatalf("lists end at %d of %d", off, len(b))
	}
}

// TestBadPointsInQueries spoils one point and expects its position.
func TestBadPointsInQueries(t *testing.T) {
	good := toyBytes(t)
	for _, c := range []struct {
		name  string
		spoil func(point []byte)
		want  error
	}{
		{"compressed", func(p []byte) { p[0] |= 0x80 }, errCompressed},
		{"infinity", func(p []byte) { clear(p); p[0] = 0x40 }, errInfinity},
		{"zeros", func(p []byte) { clear(p) }, errInfinity},
		{"sign", func(p []byte) { p[0] |= 0x20 }, errSign},
		{"x too big", func(p []byte) { p[0] = 0x1f }, errRange},
		{"y too big", func(p []byte) { p[len(p)-48] = 0xff }, errRange},
		{"off the curve", func(p []byte) { p[len(p)-1] ^= 1 }, errCurve},
	} {
		for i := range 5 {
			b := slices.Clone(good)
			k, err := NewKey(b)
			if err != nil {
				t.Fatal(err)
			}
			q := k.queries()[i]
			size := q.pointSize()
			c.spoil(q.Raw[size : 2*size])
			err = k.CheckPoints(t.Context(), nil)
			if !errors.Is(err, c.want) || !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "query "+q.Name) {
				t.Errorf("%s in %s: %v", c.name, q.Name, err)
			}
			if c.want != errCurve && !strings.Contains(err.Error(), "point 1 of") {
				t.Errorf("%s in %s does not name the point: %v", c.name, q.Name, err)
			}
		}
	}
}

// TestShrunkFileIsAnError cuts the file of a mapped key. Reading a page that is
// gone would otherwise end the program.
func TestShrunkFileIsAnError(t *testing.T) {
	s := Shape{Inputs: 1, H: 1000, L: 1000, A: 100, B: 100}
	k := openToy(t, s)
	if err := k.Changed(); err != nil {
		t.Errorf("before: %v", err)
	}
	if err := os.Truncate(k.Path, 4096); err != nil {
		t.Fatal(err)
	}
	p, q := make([]bls12381.G1Affine, 10), make([]bls12381.G2Affine, 10)
	for name, err := range map[string]error{
		"decode G1":   k.L.DecodeG1(p, 500),
		"decode G2":   k.B2.DecodeG2(q, 50),
		"copy":        k.L.CopyRaw(make([]byte, 96*100), 500),
		"check":       k.CheckPoints(t.Context(), nil),
		"its content": k.Changed(),
	} {
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := k.H.DecodeG1(p, 0); err != nil {
		t.Errorf("what is still there: %v", err)
	}
}

func TestReplacedFileLeavesKeyAlone(t *testing.T) {
	k := openToy(t, toyShape)
	other := k.Path + ".new"
	if err := os.WriteFile(other, []byte("something else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, k.Path); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(k.CheckPoints(t.Context(), nil), k.Changed()); err != nil {
		t.Error(err)
	}
}

func TestOverwrittenFileIsNoticed(t *testing.T) {
	k := openToy(t, toyShape)
	f, err := os.OpenFile(k.Path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{1}, k.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := k.Changed(); !errors.Is(err, ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

// TestGuardPassesOtherPanics: only faults inside the mapping become errors.
func TestGuardPassesOtherPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic was swallowed")
		}
	}()
	_ = Guard(make([]byte, 8), func() error { panic("programmer's mistake") })
}

func TestCheckPointsCancelled(t *testing.T) {
	k := openToy(t, Shape{Inputs: 1, H: 20000, L: 1, A: 1, B: 1})
	ctx, cancel := context.WithCancel(t.Context())
	err := k.CheckPoints(ctx, func(done, total int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// FuzzNewKey: no panic, no allocation beyond the bytes given.
func FuzzNewKey(f *testing.F) {
	b := toyBytes(f)
	f.Add(b)
	f.Add(b[:len(b)-100])
	f.Add([]byte("not a key"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := NewKey(b)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Errorf("error of no class: %v", err)
			}
			return
		}
		if k.Shape().ParamsBytes() != int64(len(b)) {
			t.Errorf("%d bytes read as a key of %d", len(b), k.Shape().ParamsBytes())
		}
		_ = k.CheckPoints(t.Context(), nil)
	})
}

func BenchmarkDecodeG1(b *testing.B) {
	k := benchKey(b)
	dst := make([]bls12381.G1Affine, k.L.N)
	b.SetBytes(int64(len(k.L.Raw)))
	for b.Loop() {
		if err := k.L.DecodeG1(dst, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*k.L.N), "ns/point")
}

func BenchmarkDecodeG2(b *testing.B) {
	k := benchKey(b)
	dst := make([]bls12381.G2Affine, k.B2.N)
	b.SetBytes(int64(len(k.B2.Raw)))
	for b.Loop() {
		if err := k.B2.DecodeG2(dst, 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*k.B2.N), "ns/point")
}

func benchKey(b *testing.B) *Key {
	path := filepath.Join(b.TempDir(), "insecure-bench.params")
	writeKey(b, path, toyVK(1), Shape{Inputs: 1, H: 1, L: 10000, A: 1, B: 10000})
	k, err := OpenFile(b.Context(), path, Options{Insecure: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { k.Close() })
	return k
}
