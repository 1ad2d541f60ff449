package cpu

import (
	"testing"

	"cuzk/backend"
	"cuzk/backend/conformance"
)

func TestConformance(t *testing.T) {
	for name, opt := range map[string]Options{
		"resident":       {},
		"mapped, slices": {Resident: -1, Slice: 17},
	} {
		t.Run(name, func(t *testing.T) {
			conformance.Run(t, func(testing.TB) backend.Backend { return New(opt) })
		})
	}
}
