package daemon

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// TestRestartsAreBounded: so many an hour, counted over processes; none where they
// cannot be counted.
func TestRestartsAreBounded(t *testing.T) {
	dir, now := t.TempDir(), time.Date(2026, 12, 1, 5, 0, 0, 0, time.UTC)
	take := func(most int) (int, error) { // each time another process
		r := NewRestarts(dir, most)
		r.now = func() time.Time { return now }
		return r.Take()
	}
	if n, err := take(0); !errors.Is(err, errRestarts) || n != 0 {
		t.Errorf("with 0: %d, %v", n, err)
	}
	for _, c := range []struct {
		later time.Duration
		want  int
	}{{0, 1}, {10 * time.Minute, 2}, {time.Second, 0}, {49 * time.Minute, 0}, {2 * time.Minute, 2}, {time.Second, 0}, {-25 * time.Hour, 1}, {time.Hour, 1}} {
		now = now.Add(c.later)
		if n, err := take(2); n != c.want || (err == nil) != (c.want > 0) || err != nil && !strings.Contains(err.Error(), "2 restarts within an hour") {
			t.Errorf("at %v: %d, %v, want %d", now, n, err, c.want)
		}
	}
	path := NewRestarts(dir, 2).path
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(path, []byte("2026-12-01T05:00:00Z yesterday\n"), 0o600) },
		func() error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if n, err := take(2); !errors.Is(err, errRestarts) || n != 0 {
			t.Errorf("spoilt: %d, %v", n, err)
		}
	}
}
