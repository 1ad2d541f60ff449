package cuda

import (
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	gpu "cuzk/cuda"
)

// checkBits compares the sums over the set bits of n with the known ones.
func (b *bench) checkBits(v *basis, n int, set func(i int) bool, scratch gpu.Memory) {
	b.Helper()
	k, words := make([]fr.Element, n), make([]uint64, (n+63)/64)
	for i := range k {
		if set(i) {
			k[i].SetOne()
			words[i/64] |= 1 << (i % 64)
		}
	}
	if n%64 != 0 {
		words[n/64] |= ^uint64(0) << (n % 64) // bits past the end mean nothing
	}
	w1, w2 := v.sums(k)
	bits := Bits{b.put(encode(nil, words)), n}
	g1, err := b.s.BitsG1(context.Background(), b.put(encodeG1(v.g1[:n])), bits, scratch)
	if err != nil || !g1.Equal(&w1) {
		b.Errorf("G1: %v, %s, want %s", err, g1.String(), w1.String())
	}
	g2, err := b.s.BitsG2(context.Background(), b.put(encodeG2(v.g2[:n])), bits, scratch)
	if err != nil || !g2.Equal(&w2) {
		b.Errorf("G2: %v, %s, want %s", err, g2.String(), w2.String())
	}
}

func TestBitsOfAllSizes(t *testing.T) {
	r := source(8)
	pattern := make([]bool, 20000)
	for i := range pattern {
		pattern[i] = r.Uint32()%3 == 0
	}
	sets := map[string]func(i int) bool{
		"none":   func(int) bool { return false },
		"all":    func(int) bool { return true },
		"one":    func(i int) bool { return i == 1 },
		"random": func(i int) bool { return pattern[i] },
	}
	v := newBasis(1025, factorKinds["some infinite"](source(9)))
	onDevices(t, func(b *bench) {
		scratch := b.scratch()
		for name, set := range sets {
			for _, n := range []int{0, 1, 2, 31, 33, 64, 1025} {
				if testing.Short() && n > 1 && n != 33 {
					continue
				}
				b.run(fmt.Sprintf("%s of %d", name, n), func(b *bench) { b.checkBits(v, n, set, scratch) })
			}
		}
	})
}

// TestBitsOfEqualAndOppositePoints makes every addition an exception.
func TestBitsOfEqualAndOppositePoints(t *testing.T) {
	onDevices(t, func(b *bench) {
		for _, kind := range []string{"equal", "opposite", "all infinite", "few"} {
			v := newBasis(100, factorKinds[kind](source(10)))
			b.run(kind, func(b *bench) { b.checkBits(v, 100, func(int) bool { return true }, b.scratch()) })
		}
		if b.s.Exceptions() == 0 {
			b.Error("exceptions were not counted")
		}
	})
}

// TestBitsInPasses has memory for a part of the bits only.
func TestBitsInPasses(t *testing.T) {
	const n = 20000
	few := newBasis(7, factorKinds["random"](source(11)))
	v := &basis{factor: make([]fr.Element, n), g1: make([]bls12381.G1Affine, n), g2: make([]bls12381.G2Affine, n)}
	for i := range n {
		v.factor[i], v.g1[i], v.g2[i] = few.factor[i%7], few.g1[i%7], few.g2[i%7]
	}
	onDevices(t, func(b *bench) {
		f := b.s.dev.facts()
		p := bitsPlan{curve: curveG2, n: bitsChunk}
		c := carver{dry: true}
		p.carve(f, &c)
		b.checkBits(v, n, func(i int) bool { return i%5 != 0 }, b.memory(c.used))
	})
}

func TestFixedBaseMultiples(t *testing.T) {
	if testing.Short() {
		t.Skip("the table is large for one CPU thread")
	}
	onDevices(t, func(b *bench) {
		_, _, g1, g2 := bls12381.Generators()
		var k []fr.Element
		for _, kind := range []string{"random", "0, 1, -1", "halves of r", "window borders"} {
			k = append(k, scalarsOf(60, scalarKinds[kind], 12)...)
		}
		scratch := b.scratch()
		ctx, s := context.Background(), b.scalars(k, Montgomery)
		table, out := b.memory(TableBytesG2), b.memory(int64(len(k))*192)
		if err := b.s.TableG2(ctx, g2, table, scratch); err != nil {
			b.Fatal(err)
		}
		if err := b.s.FixedG2(ctx, table, s, out, scratch); err != nil {
			b.Fatal(err)
		}
		for i, w := range bls12381.BatchScalarMultiplicationG2(&g2, k) {
			if got := decodeG2(b.get(out)[192*i:]); !got.Equal(&w) {
				b.Errorf("G2 scalar %d: %s, want %s", i, got.String(), w.String())
			}
		}
		if err := b.s.TableG1(ctx, g1, table, scratch); err != nil {
			b.Fatal(err)
		}
		if err := b.s.FixedG1(ctx, table, s, out, scratch); err != nil {
			b.Fatal(err)
		}
		for i, w := range bls12381.BatchScalarMultiplicationG1(&g1, k) {
			if got := decodeG1(b.get(out)[96*i:]); !got.Equal(&w) {
				b.Errorf("G1 scalar %d: %s, want %s", i, got.String(), w.String())
			}
		}
	})
}
