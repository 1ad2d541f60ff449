package post

import (
	"errors"
	"io/fs"
	"testing"

	"cuzk/vanilla"
)

// A decoder of arbitrary bytes must not panic, and what it accepts must have
// the shape that the size demands. Seeds are the reference's proofs.
func FuzzDecodeSector(f *testing.F) {
	for _, name := range []string{"winning-2KiB", "window-2KiB-V1-1of2", "window-8MiB-V1-1of2"} {
		in := load(f, name)
		for n, r := range registered {
			if r == in.Registered {
				f.Add(uint8(n), in.Proofs[0])
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, data []byte) {
		r := registered[int(n)%len(registered)]
		s, err := DecodeSector(data, r)
		if err != nil {
			mustBeFault(t, err)
			return
		}
		tree := vanilla.TreeR(r.Size)
		for i := range s.Paths {
			if len(s.Paths[i].Siblings) != tree.Siblings() || s.Paths[i].Index >= tree.Leaves() {
				t.Fatalf("path %d has %d siblings, leaf %d", i, len(s.Paths[i].Siblings), s.Paths[i].Index)
			}
		}
	})
}

// Seeds are the reference's requests; no file can be read.
func FuzzParseRequest(f *testing.F) {
	for _, name := range names(f) {
		data, err := readRequestFile(name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		in, err := ParseRequest(data, func(name string) ([]byte, error) {
			if !fs.ValidPath(name) {
				t.Fatalf("asked for file %q", name)
			}
			return []byte(name), nil
		})
		if err != nil {
			mustBeFault(t, err)
			return
		}
		if _, err := New(in); err != nil {
			mustBeFault(t, err)
		}
	})
}

func mustBeFault(t *testing.T, err error) {
	t.Helper()
	var fault *vanilla.Error
	if !errors.As(err, &fault) {
		t.Fatalf("error %q is not a vanilla.Error", err)
	}
}
