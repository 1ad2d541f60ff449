package cuda

import (
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"

	"cuzk/cuda"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// element is a field element of gnark-crypto by pointer.
type element[T any] interface {
	*T
	Add(a, b *T) *T
	Sub(a, b *T) *T
	Mul(a, b *T) *T
	Square(a *T) *T
	Neg(a *T) *T
	SetBigInt(v *big.Int) *T
	MustSetRandom() *T
}

// operation is a case of fp_apply or fr_apply: its number and its meaning.
type operation[T any] struct {
	code uint32
	name string
	want func(a, b T) T
}

// operations lists the cases that both fields have, in the kernels' order.
func operations[T any, P element[T]](raw func(T) T, mont func(T) T) []operation[T] {
	two := func(f func(z P, a, b *T) *T) func(a, b T) T {
		return func(a, b T) T { var z T; f(&z, &a, &b); return z }
	}
	product := two(func(z P, a, b *T) *T { return z.Mul(a, b) })
	return []operation[T]{
		{0, "add", two(func(z P, a, b *T) *T { return z.Add(a, b) })},
		{1, "sub", two(func(z P, a, b *T) *T { return z.Sub(a, b) })},
		{2, "mul", product},
		{3, "sqr", two(func(z P, a, _ *T) *T { return z.Square(a) })},
		{4, "neg", two(func(z P, a, _ *T) *T { return z.Neg(a) })},
		{5, "mul_lazy", product},
		{6, "to_mont", func(a, _ T) T { return mont(a) }},
		{7, "from_mont", func(a, _ T) T { return raw(a) }},
	}
}

func fpOperations() []operation[fp.Element] {
	return operations[fp.Element](
		func(a fp.Element) fp.Element { return fp.Element(a.Bits()) },
		func(a fp.Element) fp.Element { return *new(fp.Element).SetBigInt(limbsToInt(a[:])) })
}

func frOperations() []operation[fr.Element] {
	ops := operations[fr.Element](
		func(a fr.Element) fr.Element { return fr.Element(a.Bits()) },
		func(a fr.Element) fr.Element { return *new(fr.Element).SetBigInt(limbsToInt(a[:])) })
	by := func(w fr.Element) func(a, b fr.Element) fr.Element {
		return func(a, _ fr.Element) fr.Element { return *new(fr.Element).Mul(&a, &w) }
	}
	i, c, ci := eighthRoots()
	return append(ops,
		operation[fr.Element]{8, "add_lazy", ops[0].want}, operation[fr.Element]{9, "sub_lazy", ops[1].want},
		operation[fr.Element]{10, "mul_i", by(i)}, operation[fr.Element]{11, "mul_c", by(c)}, operation[fr.Element]{12, "mul_ci", by(ci)})
}

// eighthRoots are the constants of the eight-point transform: with z of order 8,
// z^2, (z - z^3)/2 and their product.
func eighthRoots() (i, c, ci fr.Element) {
	z, _ := fft.Generator(8) // 8 divides the group's order
	var half, cube fr.Element
	half.SetUint64(2).Inverse(&half)
	i.Square(&z)
	cube.Mul(&i, &z)
	c.Sub(&z, &cube).Mul(&c, &half)
	ci.Mul(&c, &i)
	return i, c, ci
}

// limbsToInt is the integer of 64-bit limbs, least significant first.
func limbsToInt(l []uint64) *big.Int {
	v := new(big.Int)
	for i := len(l) - 1; i >= 0; i-- {
		v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(l[i]))
	}
	return v
}

// edges lists values at which carries and reductions turn: 0, 1, 2, p-1, p-2, 1
// and 2 in memory form, powers of two around every limb, then random ones. As
// memory (not value), so that limbs of ones and zeros occur.
func edges[T any, P element[T]](modulus *big.Int, bits int, set func(*big.Int) T) []T {
	var ints []*big.Int
	for _, d := range []int64{0, 1, 2} {
		ints = append(ints, big.NewInt(d))
		if d > 0 {
			ints = append(ints, new(big.Int).Sub(modulus, big.NewInt(d)))
		}
	}
	for k := 31; k < bits; k += 32 {
		one := new(big.Int).Lsh(big.NewInt(1), uint(k))
		ints = append(ints, one, new(big.Int).Lsh(one, 1), new(big.Int).Sub(one, big.NewInt(1)))
	}
	var out []T
	for _, v := range ints {
		if v.Cmp(modulus) < 0 {
			out = append(out, set(v))
			out = append(out, *P(new(T)).SetBigInt(v))
		}
	}
	for range 16 {
		out = append(out, *P(new(T)).MustSetRandom())
	}
	return out
}

// pairs is every value beside every value.
func pairs[T any](v []T) (a, b []T) {
	for _, x := range v {
		for _, y := range v {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b
}

func rawFp(v *big.Int) (e fp.Element) {
	copy(e[:], rawLimbs(v, len(e)))
	return e
}

func rawFr(v *big.Int) (e fr.Element) {
	copy(e[:], rawLimbs(v, len(e)))
	return e
}

func rawLimbs(v *big.Int, n int) []uint64 {
	out, t, mask := make([]uint64, n), new(big.Int).Set(v), new(big.Int).SetUint64(^uint64(0))
	for i := range out {
		out[i] = new(big.Int).And(t, mask).Uint64()
		t.Rsh(t, 64)
	}
	return out
}

func fieldChecks() []check {
	out := []check{{"fr_apply shoup", checkShoup}}
	for _, op := range fpOperations() {
		out = append(out, check{"fp_apply " + op.name, func(d *Device, c *cuda.Context) error {
			a, b := pairs(edges[fp.Element](fp.Modulus(), 381, rawFp))
			return applyEqual(d, c, "fp_apply", op, a, b)
		}})
	}
	for _, op := range frOperations() {
		out = append(out, check{"fr_apply " + op.name, func(d *Device, c *cuda.Context) error {
			a, b := pairs(edges[fr.Element](fr.Modulus(), 255, rawFr))
			return applyEqual(d, c, "fr_apply", op, a, b)
		}})
	}
	return out
}

// applyEqual runs one operation over the pairs on the device and compares.
func applyEqual[T comparable](d *Device, c *cuda.Context, kernel string, op operation[T], a, b []T) error {
	got, err := apply(d, c, kernel, op.code, a, b)
	if err != nil {
		return err
	}
	for i := range got {
		if want := op.want(a[i], b[i]); got[i] != want {
			return fmt.Errorf("pair %d: %x and %x give %x, want %x (memory)", i, any(a[i]), any(b[i]), any(got[i]), any(want))
		}
	}
	return nil
}

// poison fills memory that kernels must overwrite.
const poison = 0xa5

func apply[T any](d *Device, c *cuda.Context, kernel string, code uint32, a, b []T) ([]T, error) {
	out := make([]T, len(a))
	err := scoped(c, func(m *memories) error {
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
		if err := d.launch(c, kernel, over(len(a), 128, cuda.Stream{}), code, uint32(len(a)), x, y, z); err != nil {
			return err
		}
		return c.Download(rawBytes(out), z)
	})
	return out, err
}

// checkShoup compares the product by a constant with companion, on factors beyond
// r too: any 256-bit number is allowed.
func checkShoup(d *Device, c *cuda.Context) error {
	values := edges[fr.Element](fr.Modulus(), 255, rawFr)
	var ones fr.Element
	for i := range ones {
		ones[i] = ^uint64(0)
	}
	var a, b, want []fr.Element
	for _, w := range values {
		l := withCompanion(w)
		for _, x := range append(values, ones) {
			// Two entries of a share the pair of b.
			a, b = append(a, x, x), append(b, fr.Element(l[:4]), fr.Element(l[4:]))
			v := new(big.Int).Mul(limbsToInt(x[:]), limbsToInt(l[:4]))
			p := rawFr(v.Mod(v, fr.Modulus()))
			want = append(want, p, p)
		}
	}
	got, err := apply(d, c, "fr_apply", 13, a, b)
	if err != nil {
		return err
	}
	for i := range got {
		if got[i] != want[i] {
			return fmt.Errorf("entry %d: %x times %x gives %x, want %x (memory)", i, a[i], b[i&^1], got[i], want[i])
		}
	}
	return nil
}
