package daemon

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultTable: each row of the table of faults in CONTRIBUTING.md names tests,
// and they are there.
func TestFaultTable(t *testing.T) {
	raw, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(raw), "## Faults that are tested\n")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| ([^|]+) \| [^|]+ \| (.+) \|$`).FindAllStringSubmatch(table, -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows", len(rows))
	}
	name := regexp.MustCompile("`(Test[A-Za-z0-9]+)`")
	for _, row := range rows[1:] { // after the head
		for _, part := range strings.Split(row[2], "; ") {
			folder, list, ok := strings.Cut(part, ": ")
			tests := name.FindAllStringSubmatch(list, -1)
			if !ok || len(tests) == 0 {
				t.Errorf("%s: no test in %q", row[1], part)
			}
			for _, m := range tests {
				if !hasTest(t, filepath.Join("..", folder), m[1]) {
					t.Errorf("%s: %s has no %s", row[1], folder, m[1])
				}
			}
		}
	}
}

// hasTest looks for a test in the files of a package.
func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "\nfunc "+name+"(t *testing.T) {\n") {
			return true
		}
	}
	return false
}
