// Package kernels holds the device code of the CUDA backend, compiled to PTX and
// embedded: fields, transforms, curves and multi-scalar multiplications.
//
// The sources are the .cu and .cuh files below this folder, one folder an
// object of the mathematics; README.md lists every kernel with its cost. They
// are compiled by Debian's clang-19 without the CUDA toolkit, for an old target
// that every later card's driver accepts:
//
//	go generate ./kernels
//
// Invariants, checked by the tests:
//
//  1. ptx/manifest.json names every .cu file, with the hash of the source and of
//     all headers it includes; a blob whose hash differs is stale. What only tests
//     load is in package check.
//  2. Where the recorded compiler is installed, compiling again gives the same
//     bytes.
package kernels

import (
	"embed"
	"encoding/json"
	"fmt"
	"sort"
)

//go:generate go run ./gen

//go:embed ptx
var blobs embed.FS

// Manifest says how the embedded PTX was made.
type Manifest struct {
	Compiler string   `json:"compiler"` // first line of clang --version
	Flags    []string `json:"flags"`
	Modules  []Module `json:"modules"` // sorted by name
}

// Module is one compiled file.
type Module struct {
	Name   string `json:"name"`            // of the PTX file, without extension
	Source string `json:"source"`          // path below kernels/
	Hash   string `json:"hash"`            // SHA-256 of the source and the headers it includes
	PTX    string `json:"ptx"`             // SHA-256 of the PTX
	Bytes  int    `json:"bytes"`           // of the PTX
	Date   string `json:"date"`            // day of the last build that changed it
	Check  bool   `json:"check,omitempty"` // only tests load it; its PTX is in package check
}

// ReadManifest returns the embedded manifest.
func ReadManifest() (Manifest, error) {
	var m Manifest
	data, err := blobs.ReadFile("ptx/manifest.json")
	if err != nil {
		return m, fmt.Errorf("kernels: %w", err)
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return m, fmt.Errorf("kernels: manifest.json: %w", err)
	}
	return m, nil
}

// PTX returns the text of a module. The caller must not change it.
func PTX(name string) ([]byte, error) {
	data, err := blobs.ReadFile("ptx/" + name + ".ptx")
	if err != nil {
		return nil, fmt.Errorf("kernels: no module %q: %w", name, err)
	}
	return data, nil
}

// Names lists the embedded modules.
func Names() ([]string, error) {
	m, err := ReadManifest()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, mod := range m.Modules {
		if !mod.Check {
			names = append(names, mod.Name)
		}
	}
	sort.Strings(names)
	return names, nil
}
