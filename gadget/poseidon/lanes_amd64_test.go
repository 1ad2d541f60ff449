//go:build !purego

package poseidon

import (
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils/cpu"
)

func needLanes(t *testing.T) {
	t.Helper()
	if !cpu.SupportAVX512IFMA {
		t.Skip("the processor has no AVX-512 IFMA")
	}
}

// laneElements reads all lanes through storeLanes.
func laneElements(x *lanes) (out [Lanes]fr.Element) {
	var dst [Lanes]*fr.Element
	for j := range dst {
		dst[j] = &out[j]
	}
	storeLanes(&dst, 0, x, 1)
	return out
}

func TestLanesLoadAndStore(t *testing.T) {
	needLanes(t)
	src := [Lanes]fr.Element(inputs(Lanes, 5))
	src[3] = fr.Element{r0 - 1, r1, r2, r3}
	var x lanes
	loadLanes(&x, &src)
	for j := range src {
		want := split(src[j])
		for i := range want {
			if x[i][j] != want[i] {
				t.Errorf("limb %d of lane %d is %x, want %x", i, j, x[i][j], want[i])
			}
		}
	}
	if laneElements(&x) != src {
		t.Error("store does not undo load")
	}
}

// Every length that is used, with the factors that make the largest sums, in
// every lane another case.
func TestLanesDotAgreesWithNaive(t *testing.T) {
	needLanes(t)
	for n := 1; n <= maxLaneDot; n++ {
		greatest := fr.Element{r0 - 1, r1, r2, r3}
		y := inputs(n, 9)
		if n%2 == 0 {
			for k := range y {
				// the coefficient that is greatest in radix 2^260
				y[k] = greatest
				y[k].Div(&y[k], new(fr.Element).SetUint64(16))
			}
		}
		x := make([]lanes, n)
		var want [Lanes]fr.Element
		columns := make([][Lanes]fr.Element, n)
		for j := range want {
			v := inputs(n, uint64(j))
			for k := range v {
				if j < 4 {
					v[k] = greatest
				}
				columns[k][j] = v[k]
			}
			want[j] = dotNaive(v, y)
		}
		for k := range x {
			loadLanes(&x[k], &columns[k])
		}
		var z lanes
		dotLanes(&z, &x[0], &coefficients([][]fr.Element{y})[0][0], n)
		if laneElements(&z) != want {
			t.Fatalf("inner products of length %d differ", n)
		}
	}
}

func TestLanesSboxAgreesWithOne(t *testing.T) {
	needLanes(t)
	greatest := fr.Element{r0 - 1, r1, r2, r3}
	for i, key := range []fr.Element{{}, greatest, inputs(1, 4)[0]} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			src := [Lanes]fr.Element(inputs(Lanes, 6))
			src[0], src[1] = fr.Element{}, greatest
			var v [4]lanes
			loadLanes(&v[0], &src)
			k := split(key)
			sboxLanes(&v, &k)
			for j := range src {
				w := [4]fr.Element{src[j]}
				sbox(&w, &key)
				for n := range w {
					if laneElements(&v[n])[j] != w[n] {
						t.Errorf("value %d of lane %d differs", n, j)
					}
				}
			}
		})
	}
}
