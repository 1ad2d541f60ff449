package cuda

import (
	"errors"
	"fmt"
	"math/big"
	"math/bits"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	cores "github.com/consensys/gnark-crypto/parallel"

	"cuzk/cuda"
)

// large holds a domain too big to transform on the host in a test's time, and
// checks results at one random point rho instead, one pass each over the data.
type large struct {
	logN, n int
	a, b    []fr.Element
	rho     fr.Element
	minus   fr.Element   // rho^n - 1
	v       []fr.Element // w^i / (rho - w^i)
}

// LargeCheck tests transforms and quotient at 2^logN points by identities at a
// random point and by a round trip. It takes 5 * 2^logN * 32 bytes of host memory.
func (d *Device) LargeCheck(logN int, full bool) ([]Check, error) {
	l := newLarge(logN)
	with := func(fn func(*cuda.Context, *Quotient) error) func(*Device, *cuda.Context) error {
		return func(d *Device, c *cuda.Context) error {
			q, err := NewQuotient(c, d, logN, full)
			if err != nil {
				return err
			}
			return errors.Join(fn(c, q), q.Close(c))
		}
	}
	return d.runChecks([]check{
		{fmt.Sprintf("transforms 2^%d, full table %v", logN, full), with(l.transforms)},
		{fmt.Sprintf("quotient 2^%d, full table %v", logN, full), with(l.quotient)},
	})
}

func newLarge(logN int) *large {
	l := &large{logN: logN, n: 1 << logN}
	l.rho.MustSetRandom()
	l.minus.Exp(l.rho, big.NewInt(int64(l.n)))
	var one fr.Element
	one.SetOne()
	l.minus.Sub(&l.minus, &one)
	l.a, l.b, l.v = fastSample(l.n, 1), fastSample(l.n, 2), make([]fr.Element, l.n)
	w, _ := fft.Generator(uint64(l.n))
	cores.Execute(l.n, func(start, end int) {
		var x fr.Element
		x.Exp(w, big.NewInt(int64(start)))
		num := make([]fr.Element, end-start)
		for i := start; i < end; i++ {
			num[i-start] = x
			l.v[i].Sub(&l.rho, &x)
			x.Mul(&x, &w)
		}
		inv := fr.BatchInvert(l.v[start:end])
		for i := range inv {
			l.v[start+i].Mul(&inv[i], &num[i])
		}
	})
	return l
}

// fastSample is n values below 2^254 from a small generator (splitmix64): test
// data, not secrets.
func fastSample(n int, seed uint64) []fr.Element {
	out := make([]fr.Element, n)
	cores.Execute(n, func(start, end int) {
		for i := start; i < end; i++ {
			for j := range out[i] {
				z := (uint64(i)*4 + uint64(j) + seed<<40) * 0x9e3779b97f4a7c15
				z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
				z = (z ^ z>>27) * 0x94d049bb133111eb
				out[i][j] = z ^ z>>31
			}
			out[i][3] >>= 2
		}
	})
	return out
}

// total adds term(i) over 0 <= i < n on all cores.
func total(n int, term func(i int) fr.Element) (sum fr.Element) {
	var mu sync.Mutex
	cores.Execute(n, func(start, end int) {
		var part fr.Element
		for i := start; i < end; i++ {
			t := term(i)
			part.Add(&part, &t)
		}
		mu.Lock()
		sum.Add(&sum, &part)
		mu.Unlock()
	})
	return sum
}

// powerAt gives rho^i by two tables.
func (l *large) powerAt() func(i int) fr.Element {
	const half = 14
	step := l.rho
	for range half {
		step.Square(&step)
	}
	low, high := powersOf(l.rho, 1<<half), powersOf(step, l.n>>half+1)
	return func(i int) fr.Element { return *new(fr.Element).Mul(&low[i&(1<<half-1)], &high[i>>half]) }
}

// transforms checks X = DIF(a) by sum_f rho^f X_f = (rho^n - 1) sum_i a_i v_(-i),
// and DIT(X) by the round trip: n a at negated places.
func (l *large) transforms(c *cuda.Context, q *Quotient) error {
	return scoped(c, func(m *memories) error {
		x, err := m.keep(upload(c, l.a))
		if err != nil {
			return err
		}
		out := make([]fr.Element, l.n)
		if err := l.fetch(c, q, x, out, q.DIF); err != nil {
			return err
		}
		power := l.powerAt()
		got := total(l.n, func(p int) fr.Element {
			t := power(int(bits.Reverse32(uint32(p)) >> (32 - l.logN)))
			return *t.Mul(&t, &out[p])
		})
		want := total(l.n, func(i int) fr.Element { return *new(fr.Element).Mul(&l.a[i], &l.v[-i&(l.n-1)]) })
		if want.Mul(&want, &l.minus); got != want {
			return fmt.Errorf("DIF: the transform's polynomial at a random point is %s, want %s", got.String(), want.String())
		}
		if err := l.fetch(c, q, x, out, q.DIT); err != nil {
			return err
		}
		return l.roundTrip(out)
	})
}

// fetch transforms x in place and downloads it in [0, r).
func (l *large) fetch(c *cuda.Context, q *Quotient, x cuda.Memory, out []fr.Element, run func(*cuda.Context, cuda.Memory, cuda.Memory, cuda.Stream) error) error {
	if err := run(c, x, x, cuda.Stream{}); err != nil {
		return err
	}
	if err := q.Canonical(c, x, cuda.Stream{}); err != nil {
		return err
	}
	return c.Download(rawBytes(out), x)
}

func (l *large) roundTrip(out []fr.Element) error {
	var n fr.Element
	n.SetUint64(uint64(l.n))
	var mu sync.Mutex
	wrong := -1
	cores.Execute(l.n, func(start, end int) {
		for i := start; i < end; i++ {
			var want fr.Element
			if want.Mul(&l.a[-i&(l.n-1)], &n); out[i] != want {
				mu.Lock()
				wrong = i
				mu.Unlock()
				return
			}
		}
	})
	if wrong >= 0 {
		return fmt.Errorf("DIT of DIF: element %d is not n times the input at the negated place", wrong)
	}
	return nil
}

// quotient checks h(rho) (rho^n - 1) = A(rho) B(rho) - C(rho), the values at rho by
// the barycentric formula.
func (l *large) quotient(c *cuda.Context, q *Quotient) error {
	h := make([]fr.Element, l.n)
	err := scoped(c, func(m *memories) error {
		return q.onDevice(c, m, l.a, l.b, func(x cuda.Memory) error { return c.Download(rawBytes(h), x) })
	})
	if err != nil {
		return err
	}
	if !h[l.n-1].IsZero() {
		return fmt.Errorf("the top coefficient of h is not zero")
	}
	at := func(value func(i int) fr.Element) fr.Element {
		s := total(l.n, func(i int) fr.Element { v := value(i); return *v.Mul(&v, &l.v[i]) })
		var n fr.Element
		n.SetUint64(uint64(l.n)).Inverse(&n)
		return *s.Mul(&s, &l.minus).Mul(&s, &n)
	}
	a := at(func(i int) fr.Element { return l.a[i] })
	b := at(func(i int) fr.Element { return l.b[i] })
	cc := at(func(i int) fr.Element { return *new(fr.Element).Mul(&l.a[i], &l.b[i]) })
	want := *a.Mul(&a, &b).Sub(&a, &cc)
	power := l.powerAt()
	// Coefficients are integers: a product with a Montgomery power leaves the
	// form of the power times 1/R, which one factor R mends at the end.
	got := total(l.n, func(k int) fr.Element { p := power(k); return *p.Mul(&p, &h[k]) })
	var r fr.Element
	r.SetBigInt(new(big.Int).Lsh(big.NewInt(1), 256))
	if got.Mul(&got, &r).Mul(&got, &l.minus); got != want {
		return fmt.Errorf("h at a random point gives %s, want %s", got.String(), want.String())
	}
	return nil
}
