package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// A command stands at the start of an indented line, or in backquotes in a
// document, or in double quotes in a help text.
var (
	inDocument = regexp.MustCompile("(?m)(?:`|^ {4,}(?:sudo )?)(?:cuzk|go run \\./cmd/cuzk) ([^`\n]+)")
	inHelp     = regexp.MustCompile("(?m)(?:\"|^ {2,}(?:sudo )?)(?:cuzk|go run \\./cmd/cuzk) ([^\"\n]+)")
)

// TestDocumentsNameRealCommands looks up every command and flag that a document
// or a help text names.
func TestDocumentsNameRealCommands(t *testing.T) {
	root := newRootCmd(&session{})
	for path, text := range documents(t) {
		for _, m := range inDocument.FindAllStringSubmatch(text, -1) {
			checkLine(t, root, path, m[1])
		}
	}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, m := range inHelp.FindAllStringSubmatch(c.Long+"\n"+c.Example, -1) {
			checkLine(t, root, "help of "+c.CommandPath(), m[1])
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// documents reads the Markdown files of the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := d.Name(); d.IsDir() && strings.HasPrefix(name, ".") && name != ".." {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			b, err := os.ReadFile(path)
			out[path] = string(b)
			return err
		}
		return nil
	})
	if err != nil || out["../../README.md"] == "" {
		t.Fatalf("no README: %v", err)
	}
	return out
}

// checkLine follows the words of a command line as far as they name commands,
// and looks up its flags.
func checkLine(t *testing.T, c *cobra.Command, where, line string) {
	t.Helper()
	words := strings.Fields(line)
	for len(words) > 0 && c.HasSubCommands() {
		sub := child(c, words[0])
		if sub == nil {
			if isName(words[0]) {
				t.Errorf("%s: %q: %s has no command %q", where, line, c.CommandPath(), words[0])
			}
			return
		}
		c, words = sub, words[1:]
	}
	for _, w := range words {
		name, ok := strings.CutPrefix(strings.TrimRight(w, ".,;:)"), "--")
		name, _, _ = strings.Cut(name, "=")
		if ok && name != "" && name != "help" && c.Flags().Lookup(name) == nil && c.InheritedFlags().Lookup(name) == nil {
			t.Errorf("%s: %q: %s has no flag --%s", where, line, c.CommandPath(), name)
		}
	}
}

func child(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name {
			return sub
		}
	}
	return nil
}

// isName tells a command from a flag, a placeholder and the words of a sentence
// about cuzk; help and completion are cobra's.
func isName(word string) bool {
	return regexp.MustCompile(`^[a-z]+$`).MatchString(word) && word != "help" && word != "completion"
}
