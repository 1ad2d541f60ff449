package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

func sample() *Request {
	return &Request{Kind: "window-post", SectorSize: 32 << 30, RegisteredProof: 8, SectorNumber: 7, MinerID: 1000, PartitionIndex: 3,
		VanillaProof: []byte("{}"), VanillaProofs: [][]byte{{1, 2}, nil, {3}}, Randomness: bytes.Repeat([]byte{9}, 32), CommRNew: []byte{4}}
}

func encode(t testing.TB, r *Request) []byte {
	var b bytes.Buffer
	if n, err := r.WriteTo(&b); err != nil || n != r.Size() || n != int64(b.Len()) {
		t.Fatalf("wrote %d of %d bytes, %v", n, r.Size(), err)
	}
	return b.Bytes()
}

func TestRequestSurvives(t *testing.T) {
	for _, r := range []*Request{{}, sample()} {
		got, err := ParseRequest(encode(t, r))
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", r) || !got.Equal(r) {
			t.Errorf("%v: got %#v, want %#v", err, got, r)
		}
	}
}

// TestDigestIsOfTheContent holds every field to the digest, and the digest to
// the form on disk: it must not change from one version to the next.
func TestDigestIsOfTheContent(t *testing.T) {
	// SHA-256 of the format in request.go, packed independently with Python's struct and hashlib.
	const want = "6da10c4255eb560b8204e83c0d050d0b85e2acb0649032244848880bb37570bc"
	base := sample().Digest()
	if base.String() != want {
		t.Errorf("digest %s, want %s", base, want)
	}
	for i, change := range []func(*Request){
		func(r *Request) { r.Kind = "x" }, func(r *Request) { r.SectorSize++ }, func(r *Request) { r.RegisteredProof++ },
		func(r *Request) { r.SectorNumber++ }, func(r *Request) { r.MinerID++ }, func(r *Request) { r.PartitionIndex++ },
		func(r *Request) { r.VanillaProof = nil }, func(r *Request) { r.VanillaProofs = r.VanillaProofs[:2] },
		func(r *Request) { r.VanillaProofs = [][]byte{{1}, {2}, {3}} }, func(r *Request) { r.Randomness[0]++ },
		func(r *Request) { r.CommROld = []byte{4} }, func(r *Request) { r.CommRNew = nil }, func(r *Request) { r.CommDNew = []byte{4} },
	} {
		r := sample()
		if change(r); r.Digest() == base {
			t.Errorf("change %d does not change the digest", i)
		}
	}
}

func TestBrokenRequestsAreRefused(t *testing.T) {
	good := encode(t, sample())
	for n := range good {
		if _, err := ParseRequest(good[:n]); !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%d of %d bytes: %v", n, len(good), err)
		}
	}
	if _, err := ParseRequest(append(good, 0)); !errors.Is(err, ErrCorrupt) {
		t.Fatal("trailing byte accepted")
	}
}

func FuzzParseRequest(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(encode(f, &Request{}))
	f.Add([]byte(requestMagic))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if r, err := ParseRequest(raw); err == nil && !bytes.Equal(encode(t, r), raw) {
			t.Fatal("two forms of one request")
		}
	})
}

func TestIDsSortByTime(t *testing.T) {
	now := time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC)
	a, b := NewID(now), NewID(now.Add(time.Millisecond))
	if a >= b || !ValidID(a) || !ValidID(b) || a == NewID(now) {
		t.Fatalf("ids %s, %s", a, b)
	}
	for _, bad := range []string{"", "../../etc/passwd", a + a, a[:15] + "u", "0123456789ABCDEF"} {
		if ValidID(bad) {
			t.Errorf("%q is no id", bad)
		}
	}
}

func spool(t *testing.T, dir string, limit int64, keep ...Digest) *Spool {
	t.Helper()
	s, err := OpenSpool(dir, limit, keep)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func files(t *testing.T, dir string) int {
	t.Helper()
	e, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func TestSpoolKeepsWhatIsHeld(t *testing.T) {
	dir := t.TempDir()
	s := spool(t, dir, 0)
	a, b := sample(), &Request{Kind: "b"}
	da, err := s.Put(a)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := s.Put(a)
	db, _ := s.Put(b)
	if used, _ := s.Usage(); da != again || files(t, dir) != 2 || used != a.Size()+b.Size() {
		t.Fatalf("%d files, %d bytes", files(t, dir), used)
	}
	s.Release(da)
	s.Release(db)
	if got, err := s.Read(da); err != nil || !got.Equal(a) {
		t.Fatalf("read %v, %v", got, err)
	}
	if s.Release(da); files(t, dir) != 0 {
		t.Fatal("released files stay")
	}
	s.Release(da)
	if used, _ := s.Usage(); used != 0 {
		t.Fatalf("%d bytes in use", used)
	}
}

func TestSpoolSweepsAtStart(t *testing.T) {
	dir := t.TempDir()
	s := spool(t, dir, 0)
	da, _ := s.Put(sample())
	if _, err := s.Put(&Request{Kind: "forgotten"}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{da.String() + tempSuffix, "not-ours.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s = spool(t, dir, 0, da, da)
	if files(t, dir) != 2 { // the payload and the file that is not ours
		t.Fatalf("%d files", files(t, dir))
	}
	s.Release(da)
	if _, err := s.Read(da); err != nil {
		t.Fatal(err)
	}
}

// TestSpoolOpensWhateverLiesThere: what cannot be removed is told and in nobody's
// way, nor is a payload that cannot be read.
func TestSpoolOpensWhateverLiesThere(t *testing.T) {
	dir := t.TempDir()
	stuck, held := Request{Kind: "stuck"}, Request{Kind: "held"}
	for _, d := range []Digest{stuck.Digest(), held.Digest()} {
		if err := os.MkdirAll(filepath.Join(dir, d.String(), "a folder in its place"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s := spool(t, dir, 0, held.Digest())
	if s.Left() == nil {
		t.Error("nothing is told of what could not be removed")
	}
	if _, err := s.Read(held.Digest()); err == nil {
		t.Error("a folder was read")
	}
	if d, err := s.Put(sample()); err != nil {
		t.Error(err)
	} else if _, err := s.Read(d); err != nil {
		t.Error(err)
	}
}

// TestSpoolMakesItsFolderAgain: somebody removed it.
func TestSpoolMakesItsFolderAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "spool")
	s := spool(t, dir, 0)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(sample()); err != nil {
		t.Fatal(err)
	}
}

// TestLimitsOfTheSystem: what others will let go of is told from a broken disk.
func TestLimitsOfTheSystem(t *testing.T) {
	for err, want := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EMFILE: true, syscall.ENFILE: true,
		syscall.EIO: false, syscall.EROFS: false, syscall.EACCES: false} {
		if got := exhausted(&os.PathError{Op: "open", Err: err}); errors.Is(got, ErrSpool) != want || !errors.Is(got, err) {
			t.Errorf("%v became %v", err, got)
		}
	}
}

func TestSpoolIsBounded(t *testing.T) {
	dir := t.TempDir()
	size := sample().Size()
	s := spool(t, dir, size)
	d, err := s.Put(sample())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(&Request{}); !errors.Is(err, ErrSpool) {
		t.Fatalf("want full, got %v", err)
	}
	s.Release(d)
	if _, err := s.Put(&Request{}); err != nil {
		t.Fatal(err)
	}
}

func TestSpoolNoticesOtherContent(t *testing.T) {
	dir := t.TempDir()
	s := spool(t, dir, 0)
	d, _ := s.Put(sample())
	raw, _ := os.ReadFile(s.path(d))
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(s.path(d), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(d); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("flipped byte: %v", err)
	}
	if err := os.Remove(s.path(d)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(d); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("missing file: %v", err)
	}
	s = spool(t, dir, 0, d) // held by a job, but gone: a new request brings it back
	if _, err := s.Put(sample()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(d); err != nil {
		t.Fatal(err)
	}
}

func TestSpoolServesManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := spool(t, dir, 0)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := &Request{Kind: fmt.Sprint(i % 3)}
			d, err := s.Put(r)
			if got, e := s.Read(d); err != nil || e != nil || !got.Equal(r) {
				t.Errorf("%v, %v", err, e)
			}
			s.Release(d)
		})
	}
	if wg.Wait(); files(t, dir) != 0 {
		t.Fatalf("%d files stay", files(t, dir))
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	l, err := LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("want locked, got %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l, err = LockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

func TestClassesReadBack(t *testing.T) {
	for c := Low; c <= Critical; c++ {
		if got, err := ParseClass(c.String()); err != nil || got != c {
			t.Errorf("%v read as %v, %v", c, got, err)
		}
	}
	if _, err := ParseClass("urgent"); err == nil || Class(9).Valid() {
		t.Error("unknown class accepted")
	}
}
