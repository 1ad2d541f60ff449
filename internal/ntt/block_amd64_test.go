//go:build !purego

package ntt

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"cuzk/internal/testutil"
)

func needLanes(t testing.TB) {
	if !Available {
		t.Skip("visible skip: this processor has no AVX-512 IFMA")
	}
}

func value(b *block, j int) *big.Int {
	x := new(big.Int)
	for i := words - 1; i >= 0; i-- {
		x.Lsh(x, limbBits)
		x.Add(x, big.NewInt(int64(b[i][j])))
	}
	return x
}

// times is k·r.
func times(k int64) *big.Int { return new(big.Int).Mul(fr.Modulus(), big.NewInt(k)) }

// randomBlock has numbers up to bound, ends of the range among them. Limbs of the
// numbers are not carried if loose.
func randomBlock(rng *rand.Rand, bound *big.Int, loose bool) (b block) {
	for j := range lanes {
		x := new(big.Int)
		for range 6 {
			x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(rng.Uint64()))
		}
		x.Mod(x, bound)
		switch rng.IntN(12) {
		case 0:
			x.SetUint64(0)
		case 1:
			x.Sub(bound, big.NewInt(1))
		}
		for i, l := range split(x) {
			b[i][j] = l
		}
		for i := 0; loose && i+1 < words; i++ {
			k := uint64(rng.IntN(1000)) - 500
			b[i][j] += k << limbBits
			b[i+1][j] -= k
		}
	}
	return b
}

// check compares with a formula mod r, and bounds the result.
func check(t *testing.T, name string, z *block, bound *big.Int, want func(j int) *big.Int) {
	t.Helper()
	for j := range lanes {
		got := value(z, j)
		if got.Sign() < 0 || got.Cmp(bound) > 0 {
			t.Fatalf("%s: lane %d is %x, bound %x", name, j, got, bound)
		}
		w := want(j)
		if got.Mod(got, fr.Modulus()).Cmp(w.Mod(w, fr.Modulus())) != 0 {
			t.Fatalf("%s: lane %d is %x, want %x", name, j, got, w)
		}
	}
}

var shrink = new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), radix), fr.Modulus())

func product(x, y *big.Int) *big.Int {
	z := new(big.Int).Mul(x, y)
	return z.Mul(z, shrink)
}

func TestBlocks(t *testing.T) {
	needLanes(t)
	rng := rand.New(rand.NewPCG(1, 1))
	little := new(big.Int).Add(fr.Modulus(), new(big.Int).Rsh(fr.Modulus(), 18))
	for range 300 {
		x, y, small := randomBlock(rng, times(35), true), randomBlock(rng, fr.Modulus(), false), randomBlock(rng, times(2), true)
		var z block
		mul(&z, &x, &y, 1, blockBytes)
		check(t, "mul", &z, times(2), func(j int) *big.Int { return product(value(&x, j), value(&y, j)) })
		sub(&z, &x, &small, 1)
		check(t, "sub", &z, times(37), func(j int) *big.Int { return new(big.Int).Sub(value(&x, j), value(&small, j)) })
		z = x
		settle(&z, 1)
		check(t, "settle", &z, little, func(j int) *big.Int { return value(&x, j) })
		w := limbs{y[0][3], y[1][3], y[2][3], y[3][3], y[4][3]}
		mulSpread(&z, &x, &w, 1)
		check(t, "mulSpread", &z, times(2), func(j int) *big.Int { return product(value(&x, j), value(&y, 3)) })
	}
}

func TestStage(t *testing.T) {
	needLanes(t)
	rng := rand.New(rand.NewPCG(2, 1))
	for range 100 {
		var data, old [12]block // two groups of x x x y y y
		for i := range data {
			data[i] = randomBlock(rng, times(22), true)
		}
		old = data
		v := randomBlock(rng, fr.Modulus(), false)
		y := randomBlock(rng, fr.Modulus(), false)
		var w [4]limbs
		for k := range w {
			for i := range words {
				w[k][i] = y[i][k]
			}
		}
		own := &v
		if rng.IntN(2) == 0 {
			own = nil
		}
		stage(&data[0], 2, 6*blockBytes, 3, blockBytes, 3*blockBytes, &w[0], 2*limbsBytes, own)
		for i := range 6 {
			k := i/3*6 + i%3
			term := func(j int) *big.Int {
				f := value(&y, i/3*2)
				if own != nil {
					f = product(f, value(&v, j))
				}
				return product(value(&old[k+3], j), f)
			}
			check(t, "x", &data[k], times(24), func(j int) *big.Int { return new(big.Int).Add(value(&old[k], j), term(j)) })
			check(t, "y", &data[k+3], times(24), func(j int) *big.Int { return new(big.Int).Sub(value(&old[k], j), term(j)) })
		}
	}
}

func TestUnpackAndPack(t *testing.T) {
	needLanes(t)
	rng := rand.New(rand.NewPCG(3, 1))
	in := make(fr.Vector, 64)
	for i := range in {
		in[i].SetUint64(rng.Uint64())
		in[i].Inverse(&in[i])
	}
	for _, d := range [][2]int{{1, 8}, {3, 32}, {7, 1}} {
		lane, step := d[0]*elementBytes, d[1]*elementBytes
		var z [2]block
		unpack(&z[0], &in[1], lane, step, 2)
		for k := range 2 {
			for j := range lanes {
				e := &in[1+j*d[0]+k*d[1]]
				want := new(big.Int)
				for i := 3; i >= 0; i-- {
					want.Lsh(want, 64).Or(want, new(big.Int).SetUint64(e[i]))
				}
				if value(&z[k], j).Cmp(want) != 0 {
					t.Fatalf("distances %v: lane %d of block %d is %x, want %x", d, j, k, value(&z[k], j), want)
				}
			}
		}
		out := make(fr.Vector, len(in))
		for i := range z {
			for j := range lanes { // not canonical, limbs not carried
				for l, m := range split(times(int64(j * 4))) {
					z[i][l][j] += m
				}
			}
		}
		pack(&out[1], lane, step, &z[0], 2)
		for k := range 2 {
			for j := range lanes {
				if at := 1 + j*d[0] + k*d[1]; out[at] != in[at] {
					t.Fatalf("distances %v: element %d changed", d, at)
				}
			}
		}
	}
}

func BenchmarkStage(b *testing.B) {
	needLanes(b)
	rng := rand.New(rand.NewPCG(4, 1))
	data := make([]block, 2048)
	for i := range data {
		data[i] = randomBlock(rng, times(2), false)
	}
	w := factor(&sixteen)
	testutil.CPUTime(b, len(data)/2*lanes, func() {
		stage(&data[0], 1, 0, len(data)/2, blockBytes, len(data)/2*blockBytes, &w, 0, nil)
		settle(&data[0], len(data))
	})
}
