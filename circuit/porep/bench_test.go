package porep

import (
	"context"
	"testing"

	"cuzk/r1cs"
	"cuzk/sector"
)

func BenchmarkCompile(b *testing.B) {
	for _, size := range []sector.Size{sector.Size2KiB, sector.Size32GiB} {
		b.Run(size.String(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := r1cs.Compile(Blank(size)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	benchmarkFile(b, func(_ []byte, c *r1cs.Compiled) error { c.Encode(); return nil })
}

func BenchmarkDecode(b *testing.B) {
	benchmarkFile(b, func(file []byte, _ *r1cs.Compiled) error { _, err := r1cs.Decode(file); return err })
}

func benchmarkFile(b *testing.B, f func([]byte, *r1cs.Compiled) error) {
	for _, size := range []sector.Size{sector.Size2KiB, sector.Size32GiB} {
		b.Run(size.String(), func(b *testing.B) {
			c, err := r1cs.Compile(Blank(size))
			if err != nil {
				b.Fatal(err)
			}
			file := c.Encode()
			b.SetBytes(int64(len(file)))
			for b.Loop() {
				if err := f(file, c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkWitness writes a partition of made-up values on one core into an
// assignment that is there already.
func BenchmarkWitness(b *testing.B) {
	for _, size := range []sector.Size{sector.Size2KiB, sector.Size32GiB} {
		b.Run(size.String(), func(b *testing.B) {
			c, err := New(size, arbitrary(size))
			if err != nil {
				b.Fatal(err)
			}
			cc := compiled(b, size)
			a := r1cs.NewAssignment(cc.Counts())
			b.SetBytes(int64(a.Bytes()))
			for b.Loop() {
				clear(a.Bits)
				if err := c.Fill(context.Background(), cc, a, 1); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(a.Bytes())/(1<<20), "MiB")
		})
	}
}
