package cuda

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// fakeRing is a ring whose copies are done when their slot is asked for again, as
// late as may be. It notes misuse.
type fakeRing struct {
	t       *testing.T
	slots   [stagingSlots][]byte
	pending [stagingSlots]func()
	dst     []byte
	copies  []int
	fails   int // copy that fails; 0: none
}

func newFakeRing(t *testing.T, bytes int64) *fakeRing {
	r := &fakeRing{t: t, dst: make([]byte, bytes)}
	for i := range r.slots {
		r.slots[i] = make([]byte, stagingBytes)
	}
	return r
}

func (r *fakeRing) slot(i int) []byte { return r.slots[i] }

func (r *fakeRing) free(ctx context.Context, i int) error {
	if r.pending[i] != nil {
		r.pending[i]()
		r.pending[i] = nil
	}
	return ctx.Err()
}

var errFake = errors.New("the copy fails")

func (r *fakeRing) copy(i int, off, n int64) error {
	if r.pending[i] != nil {
		r.t.Errorf("slot %d is copied twice", i)
	}
	r.copies = append(r.copies, i)
	if len(r.copies) == r.fails {
		return errFake
	}
	r.pending[i] = func() { copy(r.dst[off:off+n], r.slots[i][:n]) }
	return nil
}

func (r *fakeRing) finish() {
	for i := range r.slots {
		_ = r.free(context.Background(), i)
	}
}

func TestPour(t *testing.T) {
	first := 0
	for _, n := range []int64{0, 1, stagingPiece, stagingPiece + 1, stagingBytes - 1, stagingBytes, 3*stagingBytes + 7, (2*stagingSlots + 3) * stagingBytes} {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(i>>3 ^ i>>17)
		}
		r := newFakeRing(t, n)
		next, err := pour(t.Context(), r, first, n, bytesOf(src))
		if err != nil {
			t.Fatal(err)
		}
		r.finish()
		if !bytes.Equal(r.dst, src) {
			t.Errorf("%d bytes from slot %d: other ones arrive", n, first)
		}
		var want []int
		for ; first != next || len(want) < len(r.copies); first = (first + 1) % stagingSlots {
			want = append(want, first)
		}
		if !slices.Equal(r.copies, want) {
			t.Errorf("%d bytes: slots %v, want %v", n, r.copies, want)
		}
	}
}

func TestPourFails(t *testing.T) {
	const n = 20 * stagingBytes
	wrong := errors.New("the source fails")
	failing := func(dst []byte, off int64) error {
		if off > 5*stagingBytes {
			return wrong
		}
		return nil
	}
	if _, err := pour(t.Context(), newFakeRing(t, n), 0, n, failing); !errors.Is(err, wrong) {
		t.Errorf("source: %v", err)
	}
	r := newFakeRing(t, n)
	r.fails = 7
	if _, err := pour(t.Context(), r, 0, n, bytesOf(make([]byte, n))); !errors.Is(err, errFake) || len(r.copies) != 7 {
		t.Errorf("copy: %v after %d", err, len(r.copies))
	}
	panics := func([]byte, int64) error { panic("at a piece") }
	if _, err := pour(t.Context(), newFakeRing(t, n), 0, n, panics); err == nil || !strings.Contains(err.Error(), "panic: at a piece") {
		t.Errorf("panic: %v", err)
	}
}

func TestPourIsCancelled(t *testing.T) {
	const n = 20 * stagingBytes
	ctx, cancel := context.WithCancel(t.Context())
	var filled atomic.Int64
	fill := func(dst []byte, off int64) error {
		if filled.Add(int64(len(dst))) > n/4 {
			cancel()
		}
		return nil
	}
	if _, err := pour(ctx, newFakeRing(t, n), 0, n, fill); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if got := filled.Load(); got > n/2 {
		t.Errorf("%d of %d bytes were filled", got, n)
	}
}
