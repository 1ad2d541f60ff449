package kernels

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"cuzk/kernels/internal/build"
)

// TestManifestMatchesSources finds blobs older than their sources, without a
// compiler.
func TestManifestMatchesSources(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Flags, build.Flags) {
		t.Errorf("manifest was made with other flags: run go generate ./kernels")
	}
	sources, err := build.Sources(".")
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, mod := range m.Modules {
		listed = append(listed, mod.Source)
		checkModule(t, mod)
	}
	slices.Sort(listed)
	if !slices.Equal(listed, sources) {
		t.Errorf("manifest lists %v, the folder has %v: run go generate ./kernels", listed, sources)
	}
}

func checkModule(t *testing.T, mod Module) {
	t.Helper()
	hash, err := build.Hash(".", mod.Source)
	if err != nil {
		t.Fatal(err)
	}
	if hash != mod.Hash {
		t.Errorf("%s: source or header changed: run go generate ./kernels", mod.Source)
	}
	ptx, err := os.ReadFile(build.Blob(mod.Source))
	if err != nil {
		t.Fatal(err)
	}
	if build.Digest(ptx) != mod.PTX || len(ptx) != mod.Bytes {
		t.Errorf("%s differs from its manifest: run go generate ./kernels", build.Blob(mod.Source))
	}
	if bytes.Contains(ptx, []byte(".extern .func")) {
		t.Errorf("%s calls a function that it does not contain", build.Blob(mod.Source))
	}
}

// TestRebuildGivesSameBytes compiles again where the recorded compiler is.
func TestRebuildGivesSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every kernel")
	}
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	version, err := build.Version()
	if err != nil {
		t.Skipf("no compiler here: %v", err)
	}
	if version != m.Compiler {
		t.Skipf("this is %q, the manifest names %q", version, m.Compiler)
	}
	for _, mod := range m.Modules {
		t.Run(mod.Name, func(t *testing.T) {
			ptx, err := build.Compile(".", mod.Source)
			if err != nil {
				t.Fatal(err)
			}
			if build.Digest(ptx) != mod.PTX {
				t.Errorf("compiling %s gives other bytes: run go generate ./kernels", mod.Source)
			}
		})
	}
}
