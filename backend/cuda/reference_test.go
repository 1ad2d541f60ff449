package cuda

import (
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
)

// The kernels' algorithm in Go, with the same indices and the same tables, so that
// continuous integration checks them without a GPU. Names follow
// kernels/ntt/tile.cuh.

// eighth holds the constants of an eight-point transform (eighthRoots).
type eighth struct{ i, c, ci fr.Element }

func newEighth() (e eighth) {
	e.i, e.c, e.ci = eighthRoots()
	return e
}

func add(a, b fr.Element) fr.Element { return *new(fr.Element).Add(&a, &b) }
func sub(a, b fr.Element) fr.Element { return *new(fr.Element).Sub(&a, &b) }
func mul(a, b fr.Element) fr.Element { return *new(fr.Element).Mul(&a, &b) }

func (e eighth) dft8(x *[8]fr.Element) {
	var s, d [4]fr.Element
	for j := range 4 {
		s[j], d[j] = add(x[j], x[j+4]), sub(x[j], x[j+4])
	}
	t0, t1, t2, t3 := add(s[0], s[2]), sub(s[0], s[2]), add(s[1], s[3]), mul(sub(s[1], s[3]), e.i)
	x[0], x[4], x[2], x[6] = add(t0, t2), sub(t0, t2), add(t1, t3), sub(t1, t3)
	p, q, m := mul(sub(d[1], d[3]), e.c), mul(add(d[1], d[3]), e.ci), mul(d[2], e.i)
	a0, a1, b0, b1 := add(d[0], m), sub(d[0], m), add(p, q), sub(q, p)
	x[1], x[5], x[3], x[7] = add(a0, b0), sub(a0, b0), add(a1, b1), sub(a1, b1)
}

func reverse8(x *[8]fr.Element) {
	x[1], x[4] = x[4], x[1]
	x[3], x[6] = x[6], x[3]
}

// root reads entry (f, i) of the uploaded table.
func root(t []uint64, lg, f, i int) fr.Element {
	width := 1 << lg
	if lg == 3 {
		t = t[8*4*64*2:]
	}
	at := func(p int) []uint64 { return t[((f*4+p)*width+i)*2:][:2] }
	v := new(big.Int)
	for _, l := range []uint64{at(1)[1], at(1)[0], at(0)[1], at(0)[0]} {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(l))
	}
	return *new(fr.Element).SetBigInt(v)
}

func mulRoots(x *[8]fr.Element, t []uint64, lg, r int) {
	for k := 1; k < 8; k++ {
		w := root(t, lg, int(reverse(uint32(k), 3)), r&(1<<lg-1))
		x[k].Mul(&x[k], &w)
	}
}

// line runs the radix-8 steps on 8^stages rows.
func line(rows []fr.Element, dif bool, table []uint64, e eighth) {
	stages := 0
	for n := len(rows); n > 1; n /= 8 {
		stages++
	}
	for s := range stages {
		lg := 3 * s
		if dif {
			lg = 3 * (stages - 1 - s)
		}
		for r := range len(rows) / 8 {
			dist := 1 << lg
			base := r>>lg<<(lg+3) + r&(dist-1)
			var x [8]fr.Element
			for k := range x {
				x[k] = rows[base+k*dist]
			}
			if dif {
				e.dft8(&x)
				reverse8(&x)
			}
			if lg > 0 {
				mulRoots(&x, table, lg, r)
			}
			if !dif {
				reverse8(&x)
				e.dft8(&x)
			}
			for k := range x {
				rows[base+k*dist] = x[k]
			}
		}
	}
}

// reference is a Transform on the host.
type reference struct {
	logN   int
	w      fr.Element
	pow    []fr.Element
	chunks []chunk
	roots  []uint64
	e      eighth
}

func newReference(logN int) *reference {
	w, _ := fft.Generator(1 << logN)
	return &reference{logN, w, powersOf(w, 1<<logN), chunks(logN), rootTable(), newEighth()}
}

func (t *reference) crossFactor(ch chunk, idx int) fr.Element {
	digit := uint32(idx) >> ch.shift & (1<<ch.bits - 1)
	l := uint32(idx) & (1<<ch.shift - 1)
	return t.pow[reverse(digit, int(ch.bits))*l<<(uint32(t.logN)-ch.shift-ch.bits)]
}

// pass is one launch: loads with twiddles by factor (nil: none), the line, stores.
func (t *reference) pass(dst, src []fr.Element, ch chunk, dif, negate bool, factor func(int) fr.Element) {
	n := len(src)
	for ln := range n >> ch.bits {
		first := ln>>ch.shift<<(ch.shift+ch.bits) + ln&(1<<ch.shift-1)
		rows := make([]fr.Element, 1<<ch.bits)
		for r := range rows {
			idx := first + r<<ch.shift
			if negate {
				rows[r] = src[-idx&(n-1)]
			} else {
				rows[r] = src[idx]
			}
			if factor != nil {
				rows[r] = mul(rows[r], factor(idx))
			}
		}
		t.digit(rows, dif)
		for r := range rows {
			dst[first+r<<ch.shift] = rows[r]
		}
	}
}

// digit transforms the rows of a line; the tails of one and two bits too.
func (t *reference) digit(x []fr.Element, dif bool) {
	switch len(x) {
	case 2:
		x[0], x[1] = add(x[0], x[1]), sub(x[0], x[1])
	case 4:
		if !dif {
			x[1], x[2] = x[2], x[1]
		}
		s0, d0, s1, d1 := add(x[0], x[2]), sub(x[0], x[2]), add(x[1], x[3]), mul(sub(x[1], x[3]), t.e.i)
		x[0], x[1], x[2], x[3] = add(s0, s1), sub(s0, s1), add(d0, d1), sub(d0, d1)
		if !dif {
			x[1], x[2] = x[2], x[1]
		}
	default:
		line(x, dif, t.roots, t.e)
	}
}

func (t *reference) met(ch chunk) func(int) fr.Element {
	return func(idx int) fr.Element { return t.crossFactor(ch, idx) }
}

func (t *reference) dif(x []fr.Element, negate bool) {
	src := append([]fr.Element{}, x...)
	for i, ch := range t.chunks {
		var f func(int) fr.Element
		if i > 0 {
			f = t.met(t.chunks[i-1])
		}
		t.pass(x, src, ch, true, negate && i == 0, f)
		copy(src, x)
	}
}

func (t *reference) dit(x []fr.Element) {
	for i := len(t.chunks) - 1; i >= 0; i-- {
		var f func(int) fr.Element
		if ch := t.chunks[i]; ch.shift > 0 {
			f = t.met(ch)
		}
		t.pass(x, x, t.chunks[i], false, false, f)
	}
}

func randomVector(n int) []fr.Element {
	v := make([]fr.Element, n)
	for i := range v {
		v[i].MustSetRandom()
	}
	return v
}

func equalVectors(t *testing.T, what string, got, want []fr.Element) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: element %d of %d is %s, want %s", what, i, len(want), got[i].String(), want[i].String())
		}
	}
}

func TestReferenceTransformsEqualGnark(t *testing.T) {
	for logN := 1; logN <= 13; logN++ {
		ref, domain := newReference(logN), fft.NewDomain(1<<logN)
		x := randomVector(1 << logN)
		got, want := append([]fr.Element{}, x...), append([]fr.Element{}, x...)
		ref.dif(got, false)
		domain.FFT(want, fft.DIF)
		equalVectors(t, "DIF", got, want)

		got, want = append([]fr.Element{}, x...), append([]fr.Element{}, x...)
		ref.dit(got)
		domain.FFT(want, fft.DIT)
		equalVectors(t, "DIT", got, want)

		got, want = append([]fr.Element{}, x...), append([]fr.Element{}, x...)
		ref.dif(got, true)
		domain.FFTInverse(want, fft.DIF)
		for i := range got {
			got[i].Mul(&got[i], &domain.CardinalityInv)
		}
		equalVectors(t, "inverse DIF", got, want)
	}
}

func TestChunksCoverTheIndex(t *testing.T) {
	for logN := 1; logN <= maxLogN; logN++ {
		at := uint32(logN)
		for _, ch := range chunks(logN) {
			if ch.shift+ch.bits != at || ch.bits == 0 || ch.bits > 9 {
				t.Fatalf("2^%d: chunk %+v after bit %d", logN, ch, at)
			}
			at = ch.shift
		}
		if at != 0 {
			t.Fatalf("2^%d: %d bits are left", logN, at)
		}
	}
	if got := chunks(27); len(got) != 3 || got[1] != (chunk{9, 9}) {
		t.Errorf("2^27: %v", got)
	}
}

// plain makes an element of an integer below r.
func plain(v fr.Element) fr.Element {
	b := rawBytes([]fr.Element{v})
	be := make([]byte, len(b))
	for i := range b {
		be[len(b)-1-i] = b[i]
	}
	return *new(fr.Element).SetBytes(be)
}

// TestFusedSequenceGivesQuotient runs runFused's steps on the host with digits of
// three bits: the same tables, factors and places at 2^9 points.
func TestFusedSequenceGivesQuotient(t *testing.T) {
	const d, logN = 3, 9
	n := 1 << logN
	ref := newReference(logN)
	ref.chunks = []chunk{{2 * d, d}, {d, d}, {0, d}}
	top, mid, low := ref.chunks[0], ref.chunks[1], ref.chunks[2]
	g, _ := fft.Generator(uint64(2 * n))
	g.Inverse(&g)
	var minusInv, halfInv fr.Element
	minusInv.SetUint64(uint64(n)).Inverse(&minusInv).Neg(&minusInv)
	halfInv.SetUint64(uint64(2 * n)).Inverse(&halfInv)
	rows, lows, mids := cosetRows(g, 0, d), cosetRows(g, 2*d, d), cosetRows(g, d, d)

	a, b := randomVector(n), randomVector(n)
	want := upperHalf(a, b)
	c := make([]fr.Element, n)
	for i := range c {
		c[i] = mul(a[-i&(n-1)], b[-i&(n-1)])
	}
	coset := func(idx int) fr.Element { return mul(ref.crossFactor(mid, idx), mids[idx>>d&(1<<d-1)]) }
	ref.pass(c, c, top, true, false, nil)
	ref.pass(c, c, mid, true, false, ref.met(top))
	ref.pass(c, c, low, true, false, func(idx int) fr.Element { return mul(ref.crossFactor(mid, idx), halfInv) })
	for _, x := range [][]fr.Element{a, b} {
		ref.pass(x, x, top, true, false, nil)
		ref.pass(x, x, mid, true, false, ref.met(top))
		ref.pass(x, x, low, true, false, ref.met(mid))
		for i := range x {
			s := mul(minusInv, mul(rows[i>>(2*d)], lows[i&(1<<d-1)]))
			x[i].Mul(&x[i], &s)
		}
		x[0].Neg(&x[0])
		ref.pass(x, x, low, false, false, nil)
		ref.pass(x, x, mid, false, false, coset)
		ref.pass(x, x, top, false, false, ref.met(top))
	}
	for i := range b {
		b[i].Mul(&b[i], &a[i])
	}
	ref.pass(b, b, top, true, false, nil)
	ref.pass(b, b, mid, true, false, ref.met(top))
	ref.pass(b, b, low, true, false, coset)
	h := make([]fr.Element, n)
	for i := range h {
		s := mul(halfInv, mul(rows[i>>(2*d)], lows[i&(1<<d-1)]))
		h[reverse(uint32(i), logN)] = sub(c[i], mul(s, b[i]))
	}
	equalVectors(t, "h", h, want)
}

func TestCompanionsBoundTheProduct(t *testing.T) {
	for _, w := range randomVector(20) {
		l := withCompanion(w)
		v := new(big.Int)
		for i := 7; i >= 4; i-- {
			v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(l[i]))
		}
		want := new(big.Int).Lsh(w.BigInt(new(big.Int)), 256)
		if want.Div(want, fr.Modulus()).Cmp(v) != 0 {
			t.Fatalf("companion of %s", w.String())
		}
	}
}

func TestPlainScaleLeavesMontgomeryForm(t *testing.T) {
	s := quotientScales(64)
	var want fr.Element
	want.SetUint64(128).Inverse(&want)
	if plain(s[1]) != want {
		t.Error("the second scale is not 1/(2n) as an integer")
	}
}
