package cpu

import (
	"testing"

	"cuzk/backend"
	"cuzk/backend/conformance"
	"cuzk/internal/offheap"
)

func TestConformance(t *testing.T) {
	before := offheap.InUse()
	conformance.Run(t, func(testing.TB) backend.Backend { return New(Options{}) })
	if after := offheap.InUse(); after != before {
		t.Errorf("%d bytes outside the heap were not freed", after-before)
	}
}
