//go:build !purego

package lanes

import (
	"math/big"
	"math/rand/v2"
	"runtime"
	"syscall"
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
)

func needLanes(t testing.TB) {
	if !Available {
		t.Skip("visible skip: this processor has no AVX-512 IFMA")
	}
}

// value is number j of a block, its limbs taken as signed.
func value(b *block, j int) *big.Int {
	x := new(big.Int)
	for i := limbs - 1; i >= 0; i-- {
		x.Lsh(x, limbBits)
		x.Add(x, big.NewInt(int64(b[i][j])))
	}
	return x
}

func randomBelow(rng *rand.Rand, bound *big.Int) *big.Int {
	x := new(big.Int)
	for range 8 {
		x.Lsh(x, 64)
		x.Or(x, new(big.Int).SetUint64(rng.Uint64()))
	}
	return x.Mod(x, bound)
}

// randomBlock mixes random numbers below bound with ends of the range.
func randomBlock(rng *rand.Rand, bound *big.Int) (b block) {
	p := fp.Modulus()
	ends := []*big.Int{new(big.Int), big.NewInt(1), new(big.Int).Sub(bound, big.NewInt(1)), p, new(big.Int).Sub(p, big.NewInt(1))}
	for j := range lanes {
		x := randomBelow(rng, bound)
		if k := rng.IntN(12); k < len(ends) && ends[k].Cmp(bound) < 0 {
			x = ends[k]
		}
		for i, l := range split(x) {
			b[i][j] = l
		}
	}
	return b
}

func times(k int64) *big.Int { return new(big.Int).Mul(fp.Modulus(), big.NewInt(k)) }

// check compares with a formula mod p and bounds the result and its limbs.
func check(t *testing.T, name string, z *block, bound *big.Int, want func(j int) *big.Int) {
	t.Helper()
	for j := range lanes {
		got := value(z, j)
		for i := range z {
			if z[i][j]>>limbBits != 0 {
				t.Fatalf("%s: limb %d of lane %d is %x", name, i, j, z[i][j])
			}
		}
		if got.Cmp(bound) > 0 {
			t.Fatalf("%s: lane %d is %x, bound %x", name, j, got, bound)
		}
		w := want(j)
		w.Mod(w, fp.Modulus())
		if got.Mod(got, fp.Modulus()).Cmp(w) != 0 {
			t.Fatalf("%s: lane %d is %x, want %x", name, j, got, w)
		}
	}
}

// little is p and 2^-shift of it.
func little(shift uint) *big.Int {
	p := fp.Modulus()
	return p.Add(p, new(big.Int).Rsh(p, shift))
}

func TestFieldOperations(t *testing.T) {
	needLanes(t)
	rng := rand.New(rand.NewPCG(1, 1))
	rInv := new(big.Int).Lsh(big.NewInt(1), radix)
	rInv.ModInverse(rInv, fp.Modulus())
	for range 300 {
		x, y, w := randomBlock(rng, times(4)), randomBlock(rng, times(4)), randomBlock(rng, times(2))
		v := randomBlock(rng, times(2))
		var z block
		mulBlocks(&z, &x, &y, 1, blockBytes, blockBytes)
		check(t, "mul", &z, little(30), func(j int) *big.Int {
			a := value(&x, j)
			return a.Mul(a.Mul(a, value(&y, j)), rInv)
		})
		addBlocks(&z, &x, &y, 1, blockBytes, blockBytes)
		check(t, "add", &z, times(8), func(j int) *big.Int { return new(big.Int).Add(value(&x, j), value(&y, j)) })
		subBlocks(&z, &v, &w, 1, blockBytes, blockBytes)
		check(t, "sub", &z, times(4), func(j int) *big.Int { return new(big.Int).Sub(value(&v, j), value(&w, j)) })
		foldSub(&z, &x, &w, 1)
		check(t, "foldSub", &z, little(12), func(j int) *big.Int { return new(big.Int).Sub(value(&x, j), value(&w, j)) })
		one := randomBlock(rng, times(1))
		foldSub2(&z, &one, &v, &w, 1)
		check(t, "foldSub2", &z, little(12), func(j int) *big.Int {
			a := new(big.Int).Sub(value(&one, j), value(&w, j))
			return a.Sub(a, value(&v, j))
		})
	}
}

func TestPairs(t *testing.T) {
	needLanes(t)
	rng := rand.New(rand.NewPCG(2, 1))
	rInv := new(big.Int).Lsh(big.NewInt(1), radix)
	rInv.ModInverse(rInv, fp.Modulus())
	for range 300 {
		x := pair{randomBlock(rng, times(4)), randomBlock(rng, times(4))}
		y := pair{randomBlock(rng, times(4)), randomBlock(rng, times(4))}
		var z, s pair
		product := func(a, b *block, j int) *big.Int { return new(big.Int).Mul(value(a, j), value(b, j)) }
		for _, to := range []*pair{&z, &x} {
			u := x
			mulPairs(to, &x, &y, &s, 1, pairBytes, pairBytes)
			check(t, "A0", &to[0], little(30), func(j int) *big.Int {
				a := product(&u[0], &y[0], j)
				return a.Mul(a.Sub(a, product(&u[1], &y[1], j)), rInv)
			})
			check(t, "A1", &to[1], little(30), func(j int) *big.Int {
				a := product(&u[0], &y[1], j)
				return a.Mul(a.Add(a, product(&u[1], &y[0], j)), rInv)
			})
			x = u
		}
		x = pair{randomBlock(rng, times(2)), randomBlock(rng, times(2))}
		squarePairs(&z, &x, &s, 1)
		check(t, "square A0", &z[0], little(30), func(j int) *big.Int {
			a := product(&x[0], &x[0], j)
			return a.Mul(a.Sub(a, product(&x[1], &x[1], j)), rInv)
		})
		check(t, "square A1", &z[1], little(30), func(j int) *big.Int {
			a := product(&x[0], &x[1], j)
			return a.Mul(a.Lsh(a, 1), rInv)
		})
	}
}

func threadTime() int64 {
	var ts syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 3, uintptr(unsafe.Pointer(&ts)), 0)
	return ts.Nano()
}

// cpuTime measures a function by the thread's processor time.
func cpuTime(b *testing.B, per int, f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	best := int64(1 << 62)
	for b.Loop() {
		s := threadTime()
		f()
		best = min(best, threadTime()-s)
	}
	b.ReportMetric(float64(best)/float64(per), "cpu-ns/number")
}

func BenchmarkField(b *testing.B) {
	needLanes(b)
	rng := rand.New(rand.NewPCG(1, 1))
	const n = 16
	var x, y, z [2 * n]block
	for i := range x {
		x[i], y[i] = randomBlock(rng, times(2)), randomBlock(rng, times(2))
	}
	var s pair
	for _, c := range []struct {
		name string
		f    func()
	}{
		{"mul", func() { mulBlocks(&z[0], &x[0], &y[0], n, blockBytes, blockBytes) }},
		{"chain", func() { mulBlocks(&z[1], &z[0], &y[0], n, blockBytes, blockBytes) }},
		{"chain2", func() { mulBlocks(&z[2], &z[0], &y[0], n, blockBytes, blockBytes) }},
		{"sub", func() { subBlocks(&z[0], &x[0], &y[0], n, blockBytes, blockBytes) }},
		{"foldSub", func() { foldSub(&z[0], &x[0], &y[0], n) }},
		{"mulPairs", func() { mulPairs((*pair)(z[0:2]), (*pair)(x[0:2]), (*pair)(y[0:2]), &s, n, pairBytes, pairBytes) }},
	} {
		b.Run(c.name, func(b *testing.B) { cpuTime(b, 8*n, c.f) })
	}
}
