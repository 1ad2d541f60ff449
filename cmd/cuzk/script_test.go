package main

import (
	stdbytes "bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"cuzk/cuda"
)

// TestScripts runs what a user types, testdata/*.txtar. Beside the usual commands
// of testscript there are:
//
//	exits CODE PROGRAM ARGS   run a program that must end with this code
//	flip FILE BIT             change one bit of a file
//	cut FILE SIZE             shorten a file
//	vary FILE NEW MEMBER JSON change a member of a JSON object; without JSON remove it
//	patch FILE OFFSET HEX     write bytes into a file, or after its end (OFFSET -1)
//	sparse FILE SIZE          make a file of zeros
//	holds FOLDER [NAME...]    a folder must hold exactly these names
//
// The condition [driver] holds where there is a GPU.
//
// $REF is the repository's testdata, $KEYS a folder with the insecure key of
// window-2KiB.
func TestScripts(t *testing.T) {
	ref, err := filepath.Abs("../../testdata")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:             "testdata",
		ContinueOnError: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("REF", ref)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			dir, err := windowKeys()
			e.Setenv("KEYS", dir)
			return err
		},
		Condition: func(name string) (bool, error) {
			if name != "driver" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			_, err := cuda.Devices()
			return err == nil, nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "flip": flip, "cut": cut, "patch": patch, "vary": vary, "sparse": sparse, "holds": holds,
		},
	})
}

// tempDir is removed when all tests have ended.
var tempDir string

// windowKeys makes the insecure key of window-2KiB once.
var windowKeys = sync.OnceValues(func() (string, error) {
	dir := filepath.Join(tempDir, "keys")
	if code, _, errOut := runIn("params", "setup", "window-2KiB", "--insecure", "--params-dir", dir, "--circuit-dir", ""); code != exitOK {
		return "", errors.New(errOut)
	}
	return dir, nil
})

// runIn runs a command in this process.
func runIn(args ...string) (code int, out, errOut string) {
	var o, e stdbytes.Buffer
	code = run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var e *exec.ExitError
		if !errors.As(err, &e) {
			ts.Check(err)
		}
		got = e.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit code %d, want %s", got, args[0])
	}
}

func flip(ts *testscript.TestScript, _ bool, args []string) {
	bit, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := []byte(ts.ReadFile(args[0]))
	b[bit/8] ^= 1 << (bit % 8)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

func cut(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if n >= info.Size() {
		ts.Fatalf("%s has %d bytes", args[0], info.Size())
	}
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func patch(ts *testscript.TestScript, _ bool, args []string) {
	at, err := strconv.Atoi(args[1])
	ts.Check(err)
	what, err := hex.DecodeString(args[2])
	ts.Check(err)
	b := []byte(ts.ReadFile(args[0]))
	if at < 0 {
		at = len(b)
	}
	b = append(b[:at:at], append(what, b[min(at+len(what), len(b)):]...)...)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b, 0o600))
}

func vary(ts *testscript.TestScript, _ bool, args []string) {
	var v map[string]json.RawMessage
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &v))
	if len(args) == 3 {
		delete(v, args[2])
	} else {
		v[args[2]] = json.RawMessage(args[3])
	}
	b, err := json.Marshal(v)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), b, 0o600))
}

func sparse(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o600))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

func holds(ts *testscript.TestScript, _ bool, args []string) {
	if err := folderHolds(ts.MkAbs(args[0]), args[1:]...); err != nil {
		ts.Fatalf("%v", err)
	}
}

// folderHolds compares the names in a folder; one that is not there is empty.
func folderHolds(dir string, want ...string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		return errors.New(dir + " holds " + strings.Join(got, " ") + ", want " + strings.Join(want, " "))
	}
	return nil
}
