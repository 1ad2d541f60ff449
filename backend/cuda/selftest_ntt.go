package cuda

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"cuzk/cuda"
)

// sample is n values: edges first, the rest random.
func sample(n int) []fr.Element {
	out := make([]fr.Element, n)
	known := edges[fr.Element](fr.Modulus(), 255, rawFr)
	for i := range out {
		if i < len(known) && n > 64 {
			out[i] = known[i]
		} else {
			out[i].MustSetRandom()
		}
	}
	return out
}

// transformCheck compares every transform of 2^logN points with gnark-crypto.
func transformCheck(logN int) check {
	return check{fmt.Sprintf("transforms 2^%d", logN), func(d *Device, c *cuda.Context) error {
		for _, keep := range []stored{storedNone, storedSmall, storedAll} {
			t, err := newTransform(c, d, logN, keep)
			if err != nil {
				return err
			}
			err = errors.Join(t.equalGnark(c), t.Close(c))
			if err != nil {
				return fmt.Errorf("stored twiddles %d: %w", keep, err)
			}
		}
		return nil
	}}
}

// equalGnark runs DIF, inverse DIF and DIT on one sample.
func (t *Transform) equalGnark(c *cuda.Context) error {
	x, domain := sample(int(t.n)), fft.NewDomain(uint64(t.n))
	var s cuda.Stream
	cases := []struct {
		name string
		run  func(dst, src cuda.Memory) error
		want func(v []fr.Element)
	}{
		{"DIF", func(dst, src cuda.Memory) error { return t.DIF(c, dst, src, s) }, func(v []fr.Element) { domain.FFT(v, fft.DIF) }},
		{"DIT", func(dst, src cuda.Memory) error { return t.DIT(c, dst, src, s) }, func(v []fr.Element) { domain.FFT(v, fft.DIT) }},
		{"inverse DIF", func(dst, src cuda.Memory) error { return t.InverseDIF(c, dst, src, s) }, func(v []fr.Element) {
			domain.FFTInverse(v, fft.DIF)
			var n fr.Element
			n.SetUint64(uint64(t.n))
			for i := range v {
				v[i].Mul(&v[i], &n)
			}
		}},
	}
	for _, cs := range cases {
		got, err := t.onDevice(c, x, cs.run)
		if err != nil {
			return fmt.Errorf("%s: %w", cs.name, err)
		}
		want := append([]fr.Element{}, x...)
		cs.want(want)
		if err := sameVector(got, want); err != nil {
			return fmt.Errorf("%s: %w", cs.name, err)
		}
	}
	return nil
}

// onDevice runs a transform out of place into poisoned memory and brings the
// result to [0, r).
func (t *Transform) onDevice(c *cuda.Context, x []fr.Element, run func(dst, src cuda.Memory) error) ([]fr.Element, error) {
	out := make([]fr.Element, len(x))
	err := scoped(c, func(m *memories) error {
		src, err := m.keep(upload(c, x))
		if err != nil {
			return err
		}
		dst, err := m.alloc(c, src.Bytes)
		if err != nil {
			return err
		}
		return inOrder([]func() error{
			func() error { return c.Memset(dst, poison, cuda.Stream{}) },
			func() error { return run(dst, src) },
			func() error { return t.Canonical(c, dst, cuda.Stream{}) },
			func() error { return c.Download(rawBytes(out), dst) },
		})
	})
	return out, err
}

func sameVector(got, want []fr.Element) error {
	for i := range want {
		if got[i] != want[i] {
			return fmt.Errorf("element %d of %d is %x, want %x (memory)", i, len(want), got[i], want[i])
		}
	}
	return nil
}

// quotientCheck compares h with polynomial multiplication on a domain of 2n
// points: the upper half of A B.
func quotientCheck(logN int) check {
	return check{fmt.Sprintf("quotient 2^%d", logN), func(d *Device, c *cuda.Context) error {
		q, err := NewQuotient(c, d, logN, false)
		if err != nil {
			return err
		}
		return errors.Join(q.equalGnark(c), q.Close(c))
	}}
}

func (q *Quotient) equalGnark(c *cuda.Context) error {
	n := int(q.n)
	a, b := sample(n), sample(n)
	got := make([]fr.Element, n)
	err := scoped(c, func(m *memories) error {
		return q.onDevice(c, m, a, b, func(h cuda.Memory) error { return c.Download(rawBytes(got), h) })
	})
	if err != nil {
		return err
	}
	want := upperHalf(a, b)
	for i := range want {
		want[i] = fr.Element(want[i].Bits())
	}
	return sameVector(got, want)
}

// onDevice uploads, runs and hands over h.
func (q *Quotient) onDevice(c *cuda.Context, m *memories, a, b []fr.Element, take func(cuda.Memory) error) error {
	x, err := m.keep(upload(c, a))
	if err != nil {
		return err
	}
	y, err := m.keep(upload(c, b))
	if err != nil {
		return err
	}
	z, err := m.alloc(c, x.Bytes)
	if err != nil {
		return err
	}
	if err := c.Memset(z, poison, cuda.Stream{}); err != nil {
		return err
	}
	h, err := q.Run(c, x, y, z, cuda.Stream{})
	if err != nil {
		return err
	}
	return take(h)
}

// upperHalf multiplies the polynomials through a and b and returns the
// coefficients from x^n on: the quotient by x^n - 1, as the rest has degree below
// n.
func upperHalf(a, b []fr.Element) []fr.Element {
	n := len(a)
	small, large := fft.NewDomain(uint64(n)), fft.NewDomain(uint64(2*n))
	values := func(v []fr.Element) []fr.Element {
		x := append(append([]fr.Element{}, v...), make([]fr.Element, n)...)
		small.FFTInverse(x[:n], fft.DIF)
		fft.BitReverse(x[:n])
		large.FFT(x, fft.DIF)
		return x
	}
	x, y := values(a), values(b)
	for i := range x {
		x[i].Mul(&x[i], &y[i])
	}
	large.FFTInverse(x, fft.DIT)
	return x[n:]
}
