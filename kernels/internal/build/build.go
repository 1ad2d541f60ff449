// Package build compiles the kernels and hashes their sources, for the generator
// and for the tests that look for stale blobs.
package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// Compiler is the program that makes PTX.
const Compiler = "clang-19"

// Flags are the compiler's, before the source. The target is the oldest card
// served (Turing, PTX 6.3); drivers compile it for every later one.
var Flags = []string{
	"-x", "cuda", "--cuda-device-only", "-S", "-nocudainc", "-nocudalib",
	"--cuda-gpu-arch=sm_75", "-Xclang", "-target-feature", "-Xclang", "+ptx63", "-O3", "-std=c++17", "-Wall", "-Wno-unknown-cuda-version",
	"-fno-exceptions", "-fno-rtti", "-I.",
}

// Sources lists the .cu files below root, sorted, as slash paths.
func Sources(root string) ([]string, error) {
	var out []string
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.HasSuffix(p, ".cu") {
			out = append(out, p)
		}
		return err
	})
	sort.Strings(out)
	return out, err
}

// Name is the module name of a source: its base name.
func Name(source string) string { return strings.TrimSuffix(path.Base(source), ".cu") }

// checks are the sources that only tests load.
var checks = map[string]bool{"curve/curve.cu": true}

// Check tells whether only tests load a source's PTX.
func Check(source string) bool { return checks[source] }

// Blob is the path of a source's PTX below kernels/.
func Blob(source string) string {
	if Check(source) {
		return "check/" + Name(source) + ".ptx"
	}
	return "ptx/" + Name(source) + ".ptx"
}

// Version is the first line of the compiler's version, or an error when it is
// not installed.
func Version() (string, error) {
	out, err := exec.Command(Compiler, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", Compiler, err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return strings.TrimSpace(line), nil
}

// Compile returns the PTX of a source below root.
func Compile(root, source string) ([]byte, error) {
	cmd := exec.Command(Compiler, append(append([]string{}, Flags...), "-o", "-", source)...)
	cmd.Dir = root
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("compile %s: %w\n%s", source, err, msg.String())
	}
	if msg.Len() > 0 {
		return nil, fmt.Errorf("compile %s: the compiler warns:\n%s", source, msg.String())
	}
	return out.Bytes(), nil
}

var include = regexp.MustCompile(`(?m)^\s*#\s*include\s+"([^"]+)"`)

// Hash digests a source with every header it includes, by path and content,
// and the flags.
func Hash(root, source string) (string, error) {
	files := map[string][]byte{}
	if err := collect(root, source, files); err != nil {
		return "", err
	}
	names := make([]string, 0, len(files))
	for n := range files {
		names = append(names, n)
	}
	sort.Strings(names)
	h := sha256.New()
	fmt.Fprintf(h, "%s\n", strings.Join(Flags, " "))
	for _, n := range names {
		fmt.Fprintf(h, "%s %d\n", n, len(files[n]))
		h.Write(files[n])
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// collect reads a file and, beside it or below root, what it includes.
func collect(root, name string, files map[string][]byte) error {
	if _, done := files[name]; done {
		return nil
	}
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return fmt.Errorf("hash sources: %w", err)
	}
	files[name] = data
	for _, m := range include.FindAllSubmatch(data, -1) {
		next := path.Join(path.Dir(name), string(m[1]))
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(next))); err != nil {
			next = path.Clean(string(m[1]))
		}
		if err := collect(root, next, files); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// Digest is the SHA-256 of data in hex.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
