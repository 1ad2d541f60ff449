package cuda

import (
	"testing"

	"cuzk/backend"
	forms "cuzk/backend/values"
	"cuzk/r1cs"
)

// TestFormsOfFiles pins which points are chosen: where that changes, the version of
// files of values has to (srs/values.go).
func TestFormsOfFiles(t *testing.T) {
	for rows, want := range map[int]int{81049504: 81788928, 85006106: 85065728, 130278869: 130285568} {
		f, err := forms.New(rows, 27)
		if err != nil {
			t.Fatal(err)
		}
		if f.Points() != want {
			t.Errorf("%d rows: %d points, files of version 1 have %d", rows, f.Points(), want)
		}
	}
}

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
