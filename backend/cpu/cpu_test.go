package cpu

import (
	"testing"

	"cuzk/backend"
	"cuzk/backend/conformance"
)

func TestConformance(t *testing.T) {
	conformance.Run(t, func(testing.TB) backend.Backend { return New(Options{}) })
}
