//go:build !purego

package poseidon

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/utils/cpu"
)

// dot is the inner product of x and y, at most maxDot long and as long as each
// other.
func dot(z *fr.Element, x, y []fr.Element) {
	if !cpu.SupportADX || len(x) == 0 {
		dotGeneric(z, x, y)
		return
	}
	dotADX(z, &x[0], &y[:len(x)][0], len(x), &multiples)
}

// dotADX is dotGeneric with two carry chains (MULX, ADCX, ADOX); n > 0.
//
//go:noescape
func dotADX(z, x, y *fr.Element, n int, multiples *[128][4]uint64)
