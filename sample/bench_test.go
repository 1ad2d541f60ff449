package sample

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"cuzk/porep"
	porepc1 "cuzk/vanilla/porep"
)

// text32GiB is a phase-1 output of a 32 GiB sector, about 51 MB of JSON.
func text32GiB(b *testing.B) ([]byte, *PoRepSample) {
	b.Helper()
	s, err := PoRep(porep.Proof(8).Config(), 7, 0)
	if err != nil {
		b.Fatal(err)
	}
	c1, err := s.C1()
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	if err := c1.Encode(&out); err != nil {
		b.Fatal(err)
	}
	return out.Bytes(), s
}

func BenchmarkDecode32GiB(b *testing.B) {
	bare, _ := text32GiB(b)
	wrapped, err := json.Marshal(map[string]any{"SectorNum": 7, "SectorSize": 32 << 30, "Phase1Out": bare})
	if err != nil {
		b.Fatal(err)
	}
	for name, data := range map[string][]byte{"bare": bare, "wrapped": wrapped} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				c1, err := porepc1.Decode(data)
				if err != nil {
					b.Fatal(err)
				}
				size = c1.Bytes()
			}
			b.ReportMetric(float64(size), "decoded-B")
		})
	}
}

func BenchmarkCheck32GiB(b *testing.B) {
	data, s := text32GiB(b)
	c1, err := porepc1.Decode(data)
	if err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				if err := c1.Check(context.Background(), s.Identity, workers); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
