package sample

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/porep"
	porepc1 "cuzk/vanilla/porep"
)

// TestCheckNamesThePlaceIn32GiB tampers with an output of ten partitions.
func TestCheckNamesThePlaceIn32GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("many hashes")
	}
	s, err := PoRep(porep.Proof(8).Config(), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	one := fr.One()
	for _, c := range []struct {
		name string
		edit func(c *porepc1.C1)
		want string
	}{
		{"label", func(c *porepc1.C1) {
			row := &c.Partitions[3][5].Columns[2].Rows[10]
			row.Add(row, &one)
		}, "partition 3, challenge 5"},
		{"sub level", func(c *porepc1.C1) {
			s := c.Partitions[9][17].Replica.Siblings
			s[len(s)-1].Add(&s[len(s)-1], &one)
		}, "partition 9, challenge 17"},
		{"partitions in another order", func(c *porepc1.C1) {
			c.Partitions[4], c.Partitions[5] = c.Partitions[5], c.Partitions[4]
		}, "partition 4, challenge 0"},
		{"partition twice", func(c *porepc1.C1) { c.Partitions[7] = c.Partitions[6] }, "partition 7, challenge 0"},
		{"partition missing", func(c *porepc1.C1) { c.Partitions = c.Partitions[:9] }, "partitions: expected 10, found 9"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c1, err := s.C1()
			if err != nil {
				t.Fatal(err)
			}
			c.edit(c1)
			err = c1.Check(context.Background(), s.Identity, 2)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one about %s", err, c.want)
			}
		})
	}
}

// TestDecodeRefuses64GiBSentAs32GiB changes the names alone.
func TestDecodeRefuses64GiBSentAs32GiB(t *testing.T) {
	if testing.Short() {
		t.Skip("many hashes")
	}
	s, err := PoRep(porep.Proof(9).Config(), 7, 0)
	if err != nil {
		t.Fatal(err)
	}
	c1, err := s.C1()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := c1.Encode(&out); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"registered_proof":"StackedDrg64GiBV1_1"`, `"registered_proof":"StackedDrg32GiBV1_1"`,
			"vanilla proofs are of StackedDrg64GiBV1 but StackedDrg32GiBV1_1 needs StackedDrg32GiBV1"},
		{`StackedDrg64GiB`, `StackedDrg32GiB`, "partition 0, challenge 0, comm_d_proofs/data/Single/path/path"},
	} {
		_, err := porepc1.Decode([]byte(strings.ReplaceAll(out.String(), c.old, c.new)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want one about %q", err, c.want)
		}
	}
}
