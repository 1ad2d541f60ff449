package lint

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// layers gives every package its row: a package imports only from rows above
// (smaller numbers), or from its own row where that is listed in siblings.
// Folders of packages end with a slash.
var layers = map[string]int{
	"api/": 0, "event": 0, "internal/humanize": 0, "internal/invariants": 0, "internal/offheap": 0, "internal/sdnotify": 0, "internal/cgroup": 0, "internal/testutil": 0, "internal/atomicfile": 0,
	"sector": 1, "r1cs": 1, "cuda": 1, "budget": 1, "internal/affine": 1, "internal/lanes": 1, "internal/ntt": 1, "internal/timeline": 1, "kernels": 1, "kernels/": 1,
	"r1cs/rtest": 2, "internal/circuittest": 2, "gadget/": 2, "vanilla": 2, "vanilla/": 2, "porep": 2,
	"circuit/": 3, "srs": 3, "sample": 3,
	"synth": 4, "backend": 4,
	"backend/": 5, "groth16": 5, "backend/fake": 8,
	"kind": 6, "job": 6,
	"internal/circuitcache": 7, "engine/sched": 7, "job/sqlstore": 7, "job/storetest": 7,
	"proving": 8, "engine": 8, "cluster": 8,
	"internal/config": 9, "server/web": 9, "server/telemetry": 9, "srs/fetch": 9, "client": 9, "internal/loadtest": 9,
	"server": 10, "server/": 10, "daemon": 10,
	"": 0, "cmd/": 11, "tools/": 11, "internal/lint": 11, "internal/devtest": 11,
}

// siblings may import from their own row.
var siblings = map[int]bool{1: true, 2: true, 3: true, 5: true, 8: true, 9: true, 10: true, 11: true}

func layer(t *testing.T, pkg string) int {
	if n, ok := layers[pkg]; ok {
		return n
	}
	for p := pkg; p != "."; p = filepath.Dir(p) {
		if n, ok := layers[p+"/"]; ok && p != pkg {
			return n
		}
	}
	t.Errorf("package %s has no row in the layer table", pkg)
	return -1
}

// pure packages give the same output for the same input: they may not reach for
// files, networks, clocks, logs or random numbers.
var pure = []string{"r1cs", "gadget", "vanilla", "circuit", "synth", "groth16", "engine/sched"}

var impure = map[string]bool{"os": true, "net": true, "log": true, "log/slog": true, "math/rand": true, "math/rand/v2": true, "net/http": true}

// owners are outside modules that only the named packages may use.
var owners = map[string][]string{
	"github.com/ebitengine/purego":   {"cuda"},
	"github.com/spf13/cobra":         {"cmd/"},
	"google.golang.org/grpc":         {"server", "server/", "client", "api/", "cmd/", "cluster", "engine"},
	"modernc.org/sqlite":             {"job/sqlstore"},
	"github.com/go-json-experiment/": {"vanilla", "vanilla/", "kind"},
}

type file struct {
	path, pkg string // relative to the root
	test      bool
	imports   []string
	ast       *ast.File
	src       []byte
	lines     int
}

func files(t *testing.T) []file {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", "*.go").Output()
	if err != nil {
		t.Skip("visible skip: not a git checkout") // the check runs in CI, which is one
	}
	var list []file
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "tools/") {
			continue // a module of its own
		}
		src, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue // removed and not yet committed
		}
		if err != nil {
			t.Fatal(err)
		}
		tree, err := parser.ParseFile(token.NewFileSet(), path, src, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(path)
		if dir == "." {
			dir = ""
		}
		f := file{path: path, pkg: dir, test: strings.HasSuffix(path, "_test.go"), ast: tree, src: src, lines: strings.Count(string(src), "\n")}
		for _, i := range tree.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			f.imports = append(f.imports, p)
		}
		list = append(list, f)
	}
	return list
}

func generated(f *file) bool { return ast.IsGenerated(f.ast) }

// TestLayers checks the import graph against the table of ARCHITECTURE.md.
func TestLayers(t *testing.T) {
	for _, f := range files(t) {
		if f.test || f.pkg == "gadget/gadgettest" {
			continue
		}
		own := layer(t, f.pkg)
		for _, i := range f.imports {
			p, ours := strings.CutPrefix(i, "cuzk/")
			if i == "cuzk" {
				p, ours = "", true
			}
			if !ours {
				continue
			}
			if n := layer(t, p); n > own || n == own && !siblings[own] {
				t.Errorf("%s (row %d) imports %s (row %d)", f.path, own, i, n)
			}
		}
	}
}

// TestPurePackages looks for imports and calls that make output depend on more
// than input.
func TestPurePackages(t *testing.T) {
	for _, f := range files(t) {
		if f.test || !within(f.pkg, pure) || f.pkg == "gadget/gadgettest" {
			continue
		}
		for _, i := range f.imports {
			if impure[i] {
				t.Errorf("%s imports %s", f.path, i)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" && s.Sel.Name == "Now" {
					t.Errorf("%s calls time.Now", f.path)
				}
			}
			return true
		})
	}
}

func within(pkg string, list []string) bool {
	for _, p := range list {
		if pkg == p || strings.HasPrefix(pkg, p+"/") {
			return true
		}
	}
	return false
}

// TestOwnedModules keeps outside modules where they belong.
func TestOwnedModules(t *testing.T) {
	for _, f := range files(t) {
		if f.test {
			continue
		}
		for _, i := range f.imports {
			for module, allowed := range owners {
				if strings.HasPrefix(i, module) && !owned(f.pkg, allowed) {
					t.Errorf("%s imports %s, which belongs to %v", f.path, i, allowed)
				}
			}
		}
	}
}

func owned(pkg string, allowed []string) bool {
	for _, a := range allowed {
		if pkg == a || strings.HasSuffix(a, "/") && strings.HasPrefix(pkg, a) {
			return true
		}
	}
	return false
}

// TestFilesAreShort keeps files below 600 lines; tables and generated files
// aside.
func TestFilesAreShort(t *testing.T) {
	for _, f := range files(t) {
		if f.lines >= 600 && !generated(&f) {
			t.Errorf("%s has %d lines", f.path, f.lines)
		}
	}
}

// TestEveryPackageIsDescribed wants a package comment in every package.
func TestEveryPackageIsDescribed(t *testing.T) {
	described, seen := map[string]bool{}, map[string]bool{}
	for _, f := range files(t) {
		if f.test {
			continue
		}
		seen[f.pkg] = true
		if f.ast.Doc != nil && len(f.ast.Doc.Text()) > 20 {
			described[f.pkg] = true
		}
	}
	for p := range seen {
		if !described[p] && !strings.HasPrefix(p, "api/") {
			t.Errorf("package %s has no package comment", p)
		}
	}
}

// TestExportedIsDocumented wants a comment on every exported declaration.
func TestExportedIsDocumented(t *testing.T) {
	for _, f := range files(t) {
		if f.test || generated(&f) || f.ast.Name.Name == "main" {
			continue
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !trivial(d.Name.Name) {
					t.Errorf("%s: %s has no comment", f.path, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if ts, ok := s.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
						t.Errorf("%s: type %s has no comment", f.path, ts.Name.Name)
					}
				}
			}
		}
	}
}

// trivial names implement well-known interfaces.
func trivial(name string) bool {
	switch name {
	case "Error", "Unwrap", "String", "Len", "Less", "Swap", "Is":
		return true
	}
	return false
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if s, ok := typ.(*ast.StarExpr); ok {
		typ = s.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// TestFormatted formats every file as gofmt does.
func TestFormatted(t *testing.T) {
	for _, f := range files(t) {
		want, err := format.Source(f.src)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, f.src) {
			t.Errorf("%s is not formatted: run gofmt -w on it", f.path)
		}
	}
}
