package lint

import (
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// tracked lists the files of the repository that match a pattern of git.
func tracked(t *testing.T, pattern string) []string {
	t.Helper()
	out, err := exec.Command("git", "-C", root, "ls-files", pattern).Output()
	if err != nil {
		t.Skip("not a git checkout")
	}
	return strings.Fields(string(out))
}

// machinePath is a path that exists on one machine only. /home/x is the
// nobody of tests.
var machinePath = regexp.MustCompile(`(^|[^\w.~-])/(work|root|home/[^x]|Users|tmp/\w*jobs)/[\w.]`)

// TestNoMachinePaths looks for paths of the machines that files were made on.
// Large data files are left out: nothing was typed into them.
func TestNoMachinePaths(t *testing.T) {
	const largest = 1 << 20
	for _, path := range tracked(t, "*") {
		info, err := os.Stat(filepath.Join(root, path))
		if os.IsNotExist(err) || err == nil && info.Size() > largest || strings.HasPrefix(path, "internal/lint/") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			if m := machinePath.FindString(line); m != "" {
				t.Errorf("%s:%d: path of a machine: %q", path, n+1, m)
			}
		}
	}
}

// link is a Markdown link.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksLead follows every relative link of the documents.
func TestLinksLead(t *testing.T) {
	for _, path := range tracked(t, "*.md") {
		b, err := os.ReadFile(filepath.Join(root, path))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			to, _, _ := strings.Cut(m[1], "#")
			if to == "" || strings.Contains(to, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(path), to)); err != nil {
				t.Errorf("%s: link to %s leads nowhere", path, m[1])
			}
		}
	}
}

// TestFunctionsAreShort: a function above 100 lines hides something, unless it
// is a table.
func TestFunctionsAreShort(t *testing.T) {
	for _, f := range files(t) {
		if generated(&f) {
			continue
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := strings.Count(string(f.src[fn.Pos()-f.ast.FileStart:fn.End()-f.ast.FileStart]), "\n") + 1; n > 100 {
				t.Errorf("%s: %s has %d lines", f.path, fn.Name.Name, n)
			}
		}
	}
}
