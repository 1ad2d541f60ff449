package main

import (
	stdbytes "bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cuzk/srs"
)

// runFetch runs "params fetch".
func runFetch(args ...string) (code int, out, errOut string) {
	var o, e stdbytes.Buffer
	code = run(append([]string{"params", "fetch"}, args...), nil, &o, &e)
	return code, o.String(), e.String()
}

// TestFetchRefusesWhatIsNotPublished serves files of the right size with other
// content, as a gateway that lies would.
func TestFetchRefusesWhatIsNotPublished(t *testing.T) {
	id, err := srs.ParseID("window-2KiB")
	if err != nil {
		t.Fatal(err)
	}
	size := int(id.Shape().Bytes(srs.VK))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, size))
	}))
	defer server.Close()
	dir := t.TempDir()
	code, out, errOut := runFetch("--params-dir", dir, "--cache-dir", "", "--vk-only", "--gateway", server.URL+"/ipfs/", "window-2KiB")
	if code != exitKey || out != "" || !strings.Contains(errOut, "is not the published file") || !strings.Contains(errOut, "hint: try another gateway") {
		t.Errorf("code %d, output %q, errors %q", code, out, errOut)
	}
	if _, err := os.Stat(filepath.Join(dir, id.FileName(srs.VK))); err == nil {
		t.Error("the file has a key's name")
	}
}

func TestFetchFromNobody(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	code, _, errOut := runFetch("--params-dir", t.TempDir(), "--cache-dir", "", "--gateway", server.URL+"/ipfs/", "winning-2KiB")
	if code != exitInternal || !strings.Contains(errOut, "404 Not Found") || !strings.Contains(errOut, "hint: what has come is kept") {
		t.Errorf("code %d, errors %q", code, errOut)
	}
}

func TestFetchPlans(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "keys")
	code, out, errOut := runFetch("--params-dir", dir, "--cache-dir", "", "--dry-run", "--size", "32GiB")
	if code != exitOK || strings.Count(out, "\n") != 8 || !strings.Contains(out, "porep-32GiB.params: missing, 44.1 GiB\n") ||
		!strings.Contains(errOut, "cuzk: 8 files, 133.0 GiB, to "+dir) {
		t.Errorf("code %d, output %q, errors %q", code, out, errOut)
	}
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, exitUsage, "name circuits, or a sector size with --size"},
		{[]string{"--size", "32GiB", "window-2KiB"}, exitUsage, "name circuits, or a sector size"},
		{[]string{"--size", "3GiB"}, exitUsage, "unknown sector size"},
		{[]string{"--size", "4KiB"}, exitKey, "none was ever published"},
		{[]string{"window-4KiB"}, exitKey, "none was ever published"},
		{[]string{"--config", "gone.toml", "window-2KiB"}, exitBadInput, "gone.toml: cannot be read"},
	} {
		code, _, errOut := runFetch(append(c.args, "--params-dir", dir)...)
		if code != c.code || !strings.Contains(errOut, c.text) {
			t.Errorf("%v: code %d, errors %q", c.args, code, errOut)
		}
	}
}
