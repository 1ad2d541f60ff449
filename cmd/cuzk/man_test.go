package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
)

var manDir = flag.String("man", "", "directory to which TestManPages writes the man pages")

// TestManPages makes a page of each command; packaging/build.sh keeps them. The
// generator is in the test so that the program does not carry it.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	// Defaults that depend on who runs the generator stay out of the pages.
	t.Setenv("HOME", "/root")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv(paramsDirEnv, "")
	root := newRootCmd(&session{})
	root.DisableAutoGenTag = true
	date := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "CUZK", Section: "1", Source: "cuzk", Manual: "cuzk", Date: &date}, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cuzk.1", "cuzk-params-fetch.1", "cuzk-config-check.1", "cuzk-devices.1", "cuzk-bench-full.1"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(raw), ".SH SYNOPSIS") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
