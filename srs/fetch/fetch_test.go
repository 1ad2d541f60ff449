package fetch

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/blake2b"

	"cuzk/sector"
	"cuzk/srs"
)

// content is a file of the given size and the row that publishes it.
func content(size int) ([]byte, srs.Row) {
	data := make([]byte, size)
	r := rand.NewChaCha8([32]byte{byte(size)})
	_, _ = r.Read(data)
	sum := blake2b.Sum512(data)
	return data, srs.Row{ID: srs.ID{Family: srs.Window, Size: sector.Size2KiB}, Part: srs.Params, File: "v28-test.params",
		State: srs.Missing, Want: int64(size), Published: srs.Published{CID: "QmTest", Digest: hex.EncodeToString(sum[:16])}}
}

// gateway serves data and counts requests and bytes.
type gateway struct {
	*httptest.Server
	requests, sent atomic.Int64
	ranges         sync.Map // Range headers seen
}

// serve makes a gateway; fault may answer a request itself, numbered from 1, and
// then returns true.
func serve(t *testing.T, data []byte, fault func(n int64, w http.ResponseWriter, r *http.Request) bool) *gateway {
	g := &gateway{}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := g.requests.Add(1)
		g.ranges.Store(r.Header.Get("Range"), true)
		if r.URL.Path != "/ipfs/QmTest" {
			http.NotFound(w, r)
			return
		}
		c := &counter{w, g}
		if fault != nil && fault(n, c, r) {
			return
		}
		http.ServeContent(c, r, "", time.Time{}, bytes.NewReader(data))
	}))
	t.Cleanup(g.Close)
	return g
}

func (g *gateway) url() string { return g.URL + "/ipfs/" }

type counter struct {
	http.ResponseWriter
	g *gateway
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.g.sent.Add(int64(n))
	return n, err
}

func (c *counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// options are quick ones.
func options(gateways ...*gateway) Options {
	o := Options{Part: 10_000, Parallel: 3, Retries: 3, Backoff: time.Millisecond, Stall: 100 * time.Millisecond,
		Free: func(string) int64 { return 1 << 40 }}
	for _, g := range gateways {
		o.Gateways = append(o.Gateways, g.url())
	}
	return o
}

// cut sends the headers of a whole answer but only n bytes of it.
func cut(w http.ResponseWriter, r *http.Request, data []byte, n int) {
	http.ServeContent(&short{ResponseWriter: w, left: n}, r, "", time.Time{}, bytes.NewReader(data))
	panic(http.ErrAbortHandler)
}

type short struct {
	http.ResponseWriter
	left int
}

func (s *short) Write(p []byte) (int, error) {
	n, err := s.ResponseWriter.Write(p[:min(len(p), s.left)])
	if s.left -= n; s.left == 0 && err == nil {
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		err = errors.New("cut")
	}
	return n, err
}

// get downloads and compares.
func get(t *testing.T, dir string, data []byte, r srs.Row, o Options) {
	t.Helper()
	if err := Get(t.Context(), dir, r, o); err != nil {
		t.Fatal(err)
	}
	same(t, dir, data, r)
}

func same(t *testing.T, dir string, data []byte, r srs.Row) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, r.File))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("file differs: %v", err)
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 1 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}

func TestFaultsThatAreOvercome(t *testing.T) {
	data, row := content(95_001)
	for _, c := range []struct {
		name  string
		fault func(n int64, w http.ResponseWriter, r *http.Request) bool
	}{
		{"none", nil},
		{"connections are cut", func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if n%3 != 0 {
				cut(w, r, data, 1_777)
			}
			return false
		}},
		{"no answer", func(n int64, w http.ResponseWriter, _ *http.Request) bool {
			if n%2 == 1 {
				panic(http.ErrAbortHandler)
			}
			return false
		}},
		{"busy", func(n int64, w http.ResponseWriter, _ *http.Request) bool {
			if n%2 == 1 {
				w.Header().Set("Retry-After", "0")
				http.Error(w, "later", http.StatusServiceUnavailable)
			}
			return n%2 == 1
		}},
		{"no ranges", func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			_, _ = w.Write(data)
			return true
		}},
		{"no ranges, and cut further on each time", func(n int64, w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("Range")
			if n < 8 {
				cut(w, r, data, int(n)*12_345)
			}
			_, _ = w.Write(data)
			return true
		}},
		{"slow", func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			http.ServeContent(&slow{w}, r, "", time.Time{}, bytes.NewReader(data))
			return true
		}},
		{"stalls", func(n int64, w http.ResponseWriter, r *http.Request) bool {
			if n != 2 {
				return false
			}
			w.Header().Set("Content-Range", r.Header.Get("Range"))
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		}},
		{"size of the whole unknown", func(_ int64, w http.ResponseWriter, r *http.Request) bool {
			var a, b int
			_, _ = fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-%d", &a, &b)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", a, b))
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write(data[a : b+1])
			return true
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := options(serve(t, data, c.fault))
			o.Retries = 20 // faults are numbered over all connections
			get(t, t.TempDir(), data, row, o)
		})
	}
}

// slow writes in small pieces and flushes each.
type slow struct{ http.ResponseWriter }

func (s *slow) Write(p []byte) (int, error) {
	for i := 0; i < len(p); i += 500 {
		if _, err := s.ResponseWriter.Write(p[i:min(i+500, len(p))]); err != nil {
			return i, err
		}
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
	return len(p), nil
}

func TestOneRangeIsEnoughForSmallFiles(t *testing.T) {
	data, row := content(3_076)
	g := serve(t, data, nil)
	get(t, t.TempDir(), data, row, options(g))
	if n := g.requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestNextGatewayGoesOn(t *testing.T) {
	data, row := content(95_001)
	missing := serve(t, nil, func(_ int64, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true })
	other, _ := content(50_000)
	size := serve(t, other, nil)
	broken := serve(t, nil, func(_ int64, w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadGateway)
		return true
	})
	half := serve(t, data, func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n > 4 {
			w.WriteHeader(http.StatusGone)
		}
		return n > 4
	})
	good := serve(t, data, nil)
	o := options(missing, size, broken, half, good)
	var warned []string
	o.Warn = func(err error) { warned = append(warned, err.Error()) }
	get(t, t.TempDir(), data, row, o)
	if good.sent.Load() > int64(len(data))-10_000 {
		t.Errorf("the last gateway sent %d bytes; what the one before it sent was not used", good.sent.Load())
	}
	for i, want := range []string{"404 Not Found", "another size", "given up after 3 tries without progress: the gateway answers 502", "410 Gone"} {
		if i >= len(warned) || !strings.Contains(warned[i], want) {
			t.Errorf("warnings %q, want %q", warned, want)
		}
	}
	if missing.requests.Load() != 1 || size.requests.Load() != 1 || broken.requests.Load() != 3 {
		t.Errorf("requests: %d, %d, %d", missing.requests.Load(), size.requests.Load(), broken.requests.Load())
	}
}

func TestWrongContentIsNeverPublished(t *testing.T) {
	data, row := content(95_001)
	bad := bytes.Clone(data)
	bad[54_321] ^= 1
	dir := t.TempDir()
	old := filepath.Join(dir, row.File)
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := Get(t.Context(), dir, row, options(serve(t, bad, nil)))
	if !errors.Is(err, ErrContent) || !errors.Is(err, srs.ErrCorrupt) {
		t.Fatalf("got %v", err)
	}
	if got, _ := os.ReadFile(old); string(got) != "old" {
		t.Error("the file that was there is gone")
	}
	// The next call does not begin with what was wrong.
	g := serve(t, data, nil)
	get(t, dir, data, row, options(g))
	if g.sent.Load() != int64(len(data)) {
		t.Errorf("%d bytes were asked for again", g.sent.Load())
	}
}

func TestLiarDoesNotSpoilOthers(t *testing.T) {
	data, row := content(95_001)
	liar := serve(t, bytes.Repeat([]byte{7}, len(data)), func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n > 3 {
			http.NotFound(w, r)
		}
		return n > 3
	})
	for _, o := range []Options{options(liar, serve(t, data, nil)), options(serve(t, bytes.Repeat([]byte{8}, len(data)), nil), serve(t, data, nil))} {
		o.Warn = func(err error) { t.Log(err) }
		get(t, t.TempDir(), data, row, o)
	}
}

func TestResumeAfterInterrupt(t *testing.T) {
	data, row := content(95_001)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	first := serve(t, data, func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n == 6 {
			cancel()
			<-r.Context().Done()
		}
		return n == 6
	})
	if err := Get(ctx, dir, row, options(first)); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, row.File)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("half a file has a key's name: %v", err)
	}
	second := serve(t, data, nil)
	o := options(second)
	o.Part = 777 // the parts of the first run count
	get(t, dir, data, row, o)
	if n := second.sent.Load(); n > 80_000 {
		t.Errorf("%d bytes came again", n)
	}
}

// TestNotesThatDoNotFit: what an earlier run left of another file, or damaged,
// is not used.
func TestNotesThatDoNotFit(t *testing.T) {
	data, row := content(25_000)
	for name, text := range map[string]string{
		"garbage":    "{",
		"other file": `{"cid":"QmOther","size":25000,"part":10000,"have":[true,true,true]}`,
		"other size": `{"cid":"QmTest","size":25001,"part":10000,"have":[true,true,true]}`,
		"no part":    `{"cid":"QmTest","size":25000,"part":0,"have":[]}`,
		"few parts":  `{"cid":"QmTest","size":25000,"part":10000,"have":[true]}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := partialName(dir, row)
			if err := errors.Join(os.WriteFile(path, make([]byte, 25_000), 0o600), os.WriteFile(path+notesSuffix, []byte(text), 0o600)); err != nil {
				t.Fatal(err)
			}
			get(t, dir, data, row, options(serve(t, data, nil)))
		})
	}
	// Notes that promise what is not there: found by the digest, got over by asking again.
	dir := t.TempDir()
	path := partialName(dir, row)
	text := `{"cid":"QmTest","size":25000,"part":10000,"have":[true,false,false]}`
	if err := errors.Join(os.WriteFile(path, make([]byte, 25_000), 0o600), os.WriteFile(path+notesSuffix, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	g := serve(t, data, nil)
	if err := Get(t.Context(), dir, row, options(g, g)); err != nil {
		t.Fatal(err)
	}
	same(t, dir, data, row)
}

func TestTwoDownloadsOfOneFile(t *testing.T) {
	data, row := content(3_000)
	dir := t.TempDir()
	d, err := begin(dir, row, options().filled())
	if err != nil {
		t.Fatal(err)
	}
	g := serve(t, data, nil)
	if err := Get(t.Context(), dir, row, options(g)); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	if err := d.file.Close(); err != nil {
		t.Fatal(err)
	}
	get(t, dir, data, row, options(g))
}

func TestNoRoom(t *testing.T) {
	_, row := content(95_001)
	o := options()
	o.Gateways = []string{"http://127.0.0.1:1/"}
	o.Free = func(string) int64 { return 95_000 }
	dir := t.TempDir()
	if err := Get(t.Context(), dir, row, o); !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "95001 bytes") {
		t.Errorf("got %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) > 0 {
		t.Errorf("left behind: %v", list)
	}
}

func TestNobodyServesIt(t *testing.T) {
	_, row := content(95_001)
	o := options(serve(t, nil, func(_ int64, w http.ResponseWriter, r *http.Request) bool { http.NotFound(w, r); return true }))
	o.Gateways = append(o.Gateways, "http://127.0.0.1:1/ipfs", "://")
	if err := Get(t.Context(), t.TempDir(), row, o); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "404") {
		t.Errorf("got %v", err)
	}
	row.Published = srs.Published{}
	if err := Get(t.Context(), t.TempDir(), row, o); err == nil || !strings.Contains(err.Error(), "never published") {
		t.Errorf("got %v", err)
	}
}

func TestNeeded(t *testing.T) {
	_, a := content(95_001)
	data, b := content(3_000)
	_, c := content(2_000)
	b.File, b.State, b.Bytes = "b", srs.Unchecked, b.Want
	c.State = srs.Verified
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "b"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Needed(t.Context(), dir, []srs.Row{a, b, c}, Options{})
	if err != nil || len(got) != 1 || got[0].Want != a.Want {
		t.Errorf("got %v, %v", got, err)
	}
	data[7] ^= 1
	if err := os.WriteFile(filepath.Join(dir, "b"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err = Needed(t.Context(), dir, []srs.Row{a, b, c}, Options{})
	if err != nil || len(got) != 2 || got[0].File != "b" {
		t.Errorf("got %v, %v: want the damaged small file first", got, err)
	}
}

func TestMeter(t *testing.T) {
	m := newMeter("f", 1000, 200)
	at := time.Unix(0, 0)
	m.now = func() time.Time { return at }
	if p := m.read(); p.Rate != 0 || p.Left != 0 || p.Done != 200 {
		t.Errorf("%+v", p)
	}
	at = at.Add(2 * time.Second)
	m.add(200)
	if p := m.read(); p.Rate != 100 || p.Left != 6*time.Second || p.Done != 400 {
		t.Errorf("%+v", p)
	}
	m.phase(Verifying, 0)
	if p := m.read(); p.Rate != 0 || p.Done != 0 || p.Phase != Verifying {
		t.Errorf("%+v", p)
	}
}

func TestBackoff(t *testing.T) {
	o := Options{}.filled()
	for tries, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 3: 4 * time.Second, 60: 30 * time.Second} {
		if got := o.wait(tries, errStalled); got != want {
			t.Errorf("%d: %v, want %v", tries, got, want)
		}
	}
	if got := o.wait(1, fmt.Errorf("x: %w", &busyError{"503", 20 * time.Second})); got != 20*time.Second {
		t.Errorf("got %v", got)
	}
}
