package cuda

import (
	"bytes"
	"context"
	"errors"
	"testing"

	forms "cuzk/backend/values"
)

// TestHostedCheckValues lets the check pass, and fail for a wrong point of each list.
func TestHostedCheckValues(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("seconds of sums")
	}
	const rows = 38
	m := newPointsMachine(t)
	f, err := forms.New(rows, 6)
	if err != nil {
		t.Fatal(err)
	}
	r := newRandom(4)
	tau, delta := r.element(), r.element()
	k, l, err := f.Exponents(tau, delta)
	if err != nil {
		t.Fatal(err)
	}
	lists := []rawQuery{pointList(powersOfKey(f, tau, delta)), pointList(k), pointList(l[:rows])}
	check := func() error {
		sample, err := RandomSample(context.Background(), f, rows)
		if err != nil {
			t.Fatal(err)
		}
		return checkOn(context.Background(), m, 50, sample, lists[0], lists[1], lists[2], nil)
	}
	if err := check(); err != nil {
		t.Fatal(err)
	}
	for i := range lists {
		right := lists[i].raw
		lists[i].raw = bytes.Clone(right)
		copy(lists[i].raw, right[96:192]) // the second point in the first's place
		if err := check(); !errors.Is(err, ErrWrongValues) {
			t.Errorf("a wrong point of list %d: %v", i, err)
		}
		lists[i].raw = right
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes are left on the device", m.bytes)
	}
}

// TestHostedValuesFail stops at a sink's error, at a cancelled context and at points
// that are none.
func TestHostedValuesFail(t *testing.T) {
	t.Parallel()
	m := newPointsMachine(t)
	f, err := forms.New(42, 6)
	if err != nil {
		t.Fatal(err)
	}
	r := newRandom(4)
	h := pointList(powersOfKey(f, r.element(), r.element()))
	full := errors.New("disk full")
	if !testing.Short() {
		if err := valuesOn(context.Background(), m, 64, h, f, 42, refusing{full}, nil); !errors.Is(err, full) {
			t.Errorf("with a full disk: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := valuesOn(ctx, m, 64, h, f, 42, refusing{full}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	h.raw[96*5] = 0x40
	if err := valuesOn(context.Background(), m, 64, h, f, 42, refusing{full}, nil); err == nil || errors.Is(err, full) {
		t.Errorf("an infinite point of the key: %v", err)
	}
	if err := valuesOn(context.Background(), m, 64, h, f, 44, refusing{full}, nil); err == nil || errors.Is(err, full) {
		t.Errorf("too many rows: %v", err)
	}
	if m.bytes != 0 {
		t.Errorf("%d bytes are left on the device", m.bytes)
	}
}
