package cuda

import (
	"testing"

	"cuzk/backend"
	"cuzk/r1cs"
)

func TestGainsInValues(t *testing.T) {
	for _, c := range []struct {
		name string
		n    r1cs.Counts
		logM int
		want bool
	}{
		{"update-32GiB", r1cs.Counts{Inputs: 5, Aux: 80978488, Bits: 80013450, Rows: 81049499}, 27, true},
		{"a full domain", r1cs.Counts{Inputs: 5, Aux: 133900000, Bits: 133000000, Rows: 134000000}, 27, false},
		{"rows of elements", r1cs.Counts{Inputs: 5, Aux: 100000000, Bits: 1000, Rows: 100000000}, 27, false},
		{"a small domain", r1cs.Counts{Inputs: 23, Aux: 22128, Bits: 20000, Rows: 22000}, 15, false},
	} {
		if got := GainsInValues(&backend.Layout{Counts: c.n, LogM: c.logM}); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}
