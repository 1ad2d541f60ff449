package web

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

var screenshots = flag.String("screenshots", "", "directory to which the browser test writes pictures of the page")

// browser runs headless Chromium, which can reach nothing but this machine.
func browser(t *testing.T, args ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds to start")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("visible skip: no chromium here")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append([]string{"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--disable-extensions", "--disable-background-networking", "--force-device-scale-factor=1",
		"--user-data-dir=" + t.TempDir(), "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"}, args...)...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v", err)
	}
	return string(out)
}

// site serves the page, notes what is asked for, and has a page beside it that
// opens it in a frame of a phone's width and measures it.
type site struct {
	*httptest.Server
	f     *fake
	mu    sync.Mutex
	paths map[string]int
	held  chan struct{} // closed when the browser may think that the page is loaded
	once  sync.Once
}

const measure = `<!doctype html><title>m</title><pre id="r">waiting</pre><iframe id="f" width="390" height="844" src="/"></iframe><script>
const f = document.getElementById("f");
f.onload = () => setTimeout(() => {
  const d = f.contentDocument, e = d.documentElement, out = [];
  out.push("width " + e.scrollWidth + " of " + e.clientWidth);
  out.push("link " + d.getElementById("link").textContent);
  out.push("version " + d.getElementById("head").textContent.includes("9.9.9"));
  const row = d.getElementById("job-06b1f2m8k0q4t7xv");
  row.open = true;
  out.push("opened " + (row.scrollHeight > 200) + " width " + (e.scrollWidth <= e.clientWidth));
  setTimeout(() => {
    out.push("open after update " + d.getElementById("job-06b1f2m8k0q4t7xv").open + " " + d.getElementById("head").textContent.includes("9.9.10"));
    document.getElementById("r").textContent = out.join("\n");
    fetch("/measured");
  }, 2500);
  fetch("/next");
}, 2500);
</script><img src="/hold">`

func newSite(t *testing.T) *site {
	s := &site{f: &fake{s: busy()}, paths: map[string]int{}, held: make(chan struct{})}
	page := New(s.f)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths[r.URL.Path]++
		s.mu.Unlock()
		switch r.URL.Path {
		case "/measure":
			fmt.Fprint(w, measure)
		case "/next": // what the stream must bring
			s.f.set(func(s *Snapshot) { s.Version = "9.9.10"; s.Jobs[0].Age += time.Second })
		case "/measured":
			s.once.Do(func() { close(s.held) })
		case "/hold": // the browser looks at the page when all of it has come
			select {
			case <-s.held:
			case <-time.After(30 * time.Second):
			}
		case "/web/stream":
			s.f.set(func(s *Snapshot) { s.Version = "9.9.9" })
			page.ServeHTTP(w, r)
		default:
			page.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

// TestInBrowser: the page fits a phone, the stream changes it, what was opened
// stays open, and nothing else is asked for.
func TestInBrowser(t *testing.T) {
	s := newSite(t)
	dom := browser(t, "--dump-dom", s.URL+"/measure")
	for _, want := range []string{"width 390 of 390", "link live", "version true", "opened true width true", "open after update true true"} {
		if !strings.Contains(dom, want) {
			t.Errorf("no %q in %.600s", want, dom)
		}
	}
	known := map[string]bool{"/": true, "/measure": true, "/next": true, "/hold": true, "/measured": true, "/web/style.css": true, "/web/app.js": true, "/web/stream": true, "/favicon.ico": true}
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.paths {
		if !known[p] {
			t.Errorf("the browser asked for %s", p)
		}
	}
	if s.paths["/web/stream"] != 1 {
		t.Errorf("%d streams", s.paths["/web/stream"])
	}
}

// TestScreenshots writes pictures for the documents, if asked to. The page gets
// a script that does not come before the first update has, so that the browser
// waits for it.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no -screenshots")
	}
	page := New(&fake{s: busy()})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/late.js":
			time.Sleep(2500 * time.Millisecond)
		case "/":
			rec := httptest.NewRecorder()
			page.ServeHTTP(rec, r)
			fmt.Fprint(w, strings.Replace(rec.Body.String(), "</head>", `<script src="late.js" defer></script></head>`, 1))
		default:
			page.ServeHTTP(w, r)
		}
	}))
	defer server.Close()
	defer server.CloseClientConnections()
	for name, size := range map[string]string{"dashboard.png": "1280,1300", "dashboard-phone.png": "500,1000"} {
		path, err := filepath.Abs(filepath.Join(*screenshots, name))
		if err != nil {
			t.Fatal(err)
		}
		browser(t, "--window-size="+size, "--screenshot="+path, server.URL+"/")
		if info, err := os.Stat(path); err != nil || info.Size() > 300<<10 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}
