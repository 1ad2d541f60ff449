package main

import (
	stdbytes "bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/cobra"
)

func TestMain(m *testing.M) {
	testscript.Main(shared{m}, map[string]func(){"cuzk": main, "cuzk-frail": frailMain, "cuzk-spoilt": spoilMain})
}

// shared gives the tests a folder that is removed when they have ended.
type shared struct{ m *testing.M }

func (s shared) Run() int {
	dir, err := os.MkdirTemp("", "cuzk-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	tempDir = dir
	return s.m.Run()
}

// TestEveryCommandTeaches: help has a story and, for what does something,
// examples that name the command.
func TestEveryCommandTeaches(t *testing.T) {
	root := newRootCmd(&session{})
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if len(c.Long) < 200 {
			t.Errorf("%s: long help of %d characters", c.CommandPath(), len(c.Long))
		}
		if c.Runnable() && !c.HasSubCommands() && !strings.Contains(c.Example, c.CommandPath()) {
			t.Errorf("%s: no example of its use", c.CommandPath())
		}
		for l := range strings.Lines(c.Long + "\n" + c.Example) {
			if len(l) > 84 {
				t.Errorf("%s: help line too wide: %s", c.CommandPath(), l)
			}
		}
	}
	walk(root)
}

// TestExitCodes classes errors however deep they are wrapped.
func TestExitCodes(t *testing.T) {
	for _, c := range classes {
		root := newRootCmd(&session{})
		root.Annotations[started] = "yes"
		err := hint(fmt.Errorf("deep: %w", fmt.Errorf("deeper: %w", c.err)), "do this")
		if got := exitCode(t.Context(), root, err); got != c.code {
			t.Errorf("%v: %d, want %d", c.err, got, c.code)
		}
	}
	root := newRootCmd(&session{})
	root.Annotations[started] = "yes"
	if got := exitCode(t.Context(), root, io.ErrUnexpectedEOF); got != exitInternal {
		t.Errorf("unclassed: %d", got)
	}
}

func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 47373928632: "44.1 GiB", 1 << 60: "1024.0 PiB"} {
		if got := bytes(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestProofForms(t *testing.T) {
	raw := append([]byte{0x84}, make([]byte, 191)...)
	for name, text := range map[string]string{
		"raw":    string(raw),
		"hex":    strings.Repeat(" ", 2) + "84" + strings.Repeat("00", 191) + "\n",
		"base64": "hAAA" + strings.Repeat("AAAA", 63) + "\n",
		"json":   `{"proof": "84` + strings.Repeat("00", 191) + `", "r": "1"}`,
	} {
		if got, err := proofBytes([]byte(text)); err != nil || !stdbytes.Equal(got, raw) {
			t.Errorf("%s: %x, %v", name, got, err)
		}
	}
	for _, text := range []string{"", " ", "{", "{}", `{"proof": 3}`, "not a proof!"} {
		if got, err := proofBytes([]byte(text)); err == nil {
			t.Errorf("%q read as %x", text, got)
		}
	}
}
