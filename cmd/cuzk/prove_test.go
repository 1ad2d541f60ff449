package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFixedRandomnessGivesReferenceBytes proves the requests whose proofs the
// reference made, with the reference's r and s.
func TestFixedRandomnessGivesReferenceBytes(t *testing.T) {
	const requests = "../../testdata/requests/"
	keys, err := windowKeys()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"window-2KiB-V1-1of2", "window-2KiB-V1-3of4", "window-2KiB-V1_2-2of2", "window-2KiB-V1_2-3of4"} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !strings.HasSuffix(name, "1of2") {
				t.Skip("more of the same: runs without -short")
			}
			var want struct{ Proof, R, S string }
			b, err := os.ReadFile(requests + name + ".proof.json")
			if err == nil {
				err = json.Unmarshal(b, &want)
			}
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "proof")
			code, out, errOut := runIn("prove", requests+name+".json", "--insecure", "--params-dir", keys, "--circuit-dir", "",
				"--fixed-r", want.R, "--fixed-s", want.S, "--format", "hex", "-o", file)
			if code != exitOK || out != "" || !strings.HasPrefix(errOut, "cuzk: warning: r and s are fixed: this proof does not hide its witness\n") {
				t.Fatalf("code %d, output %q, errors %q", code, out, errOut)
			}
			if b, err = os.ReadFile(file); err != nil || string(b) != want.Proof+"\n" {
				t.Errorf("proof %s, reference %s, %v", b, want.Proof, err)
			}
		})
	}
}
