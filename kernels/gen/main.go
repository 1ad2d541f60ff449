// Command gen writes the field headers and compiles every kernel to PTX.
//
// It is run by go generate in package kernels, with that package's folder as
// working directory. Names of modules as arguments restrict the compilation.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"cuzk/kernels"
	"cuzk/kernels/internal/build"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(only []string) error {
	for name, text := range headers() {
		if err := writeChanged(name, []byte(text)); err != nil {
			return err
		}
	}
	return compileAll(only)
}

// headers are the generated files by path below kernels/.
func headers() map[string]string {
	return map[string]string{
		"field/fp_ops.cuh": fieldHeader(fp),
		"field/fr_ops.cuh": fieldHeader(fr),
	}
}

// writeChanged leaves an equal file alone, so that its time stays.
func writeChanged(name string, data []byte) error {
	if old, err := os.ReadFile(name); err == nil && string(old) == string(data) {
		return nil
	}
	return os.WriteFile(name, data, 0o644)
}

// compileAll builds stale modules and writes the manifest.
func compileAll(only []string) error {
	version, err := build.Version()
	if err != nil {
		return fmt.Errorf("kernels are compiled by %s: %w", build.Compiler, err)
	}
	old, err := readOld()
	if err != nil {
		return err
	}
	sources, err := build.Sources(".")
	if err != nil {
		return err
	}
	next := kernels.Manifest{Compiler: version, Flags: build.Flags}
	for _, src := range sources {
		prev, known := old[build.Name(src)]
		if len(only) > 0 && !slices.Contains(only, build.Name(src)) {
			if known {
				next.Modules = append(next.Modules, prev)
			}
			continue
		}
		mod, err := compileOne(src, prev)
		if err != nil {
			return err
		}
		next.Modules = append(next.Modules, mod)
	}
	slices.SortFunc(next.Modules, func(a, b kernels.Module) int { return strings.Compare(a.Name, b.Name) })
	return writeManifest(next)
}

// compileOne keeps the date of a module whose PTX did not change.
func compileOne(src string, prev kernels.Module) (kernels.Module, error) {
	hash, err := build.Hash(".", src)
	if err != nil {
		return kernels.Module{}, err
	}
	ptx, err := build.Compile(".", src)
	if err != nil {
		return kernels.Module{}, err
	}
	mod := kernels.Module{
		Name: build.Name(src), Source: src, Hash: hash, PTX: build.Digest(ptx), Bytes: len(ptx),
		Date: time.Now().UTC().Format(time.DateOnly), Check: build.Check(src),
	}
	if prev.PTX == mod.PTX {
		mod.Date = prev.Date
	}
	return mod, writeChanged(build.Blob(src), ptx)
}

// readOld reads the manifest on disk; the embedded one may be older.
func readOld() (map[string]kernels.Module, error) {
	out := map[string]kernels.Module{}
	data, err := os.ReadFile("ptx/manifest.json")
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	var m kernels.Manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("ptx/manifest.json: %w", err)
	}
	for _, mod := range m.Modules {
		out[mod.Name] = mod
	}
	return out, nil
}

func writeManifest(m kernels.Manifest) error {
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeChanged("ptx/manifest.json", append(data, '\n'))
}
