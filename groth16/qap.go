package groth16

import (
	"crypto/sha256"
	"errors"
	"math/big"
	"runtime"
	"slices"
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Secrets are the five numbers behind a key. Whoever knows them can prove
// anything under it.
type Secrets struct {
	Alpha, Beta, Gamma, Delta, Tau fr.Element
}

// InsecureSecrets are the published secrets of the keys that this program
// makes: for each name, SHA-256 of "cuzk insecure key NAME", the two top bits of
// the last byte cleared, read as a little-endian integer.
func InsecureSecrets() *Secrets {
	return &Secrets{
		Alpha: insecure("alpha"), Beta: insecure("beta"), Gamma: insecure("gamma"),
		Delta: insecure("delta"), Tau: insecure("tau"),
	}
}

func insecure(name string) (x fr.Element) {
	h := sha256.Sum256([]byte("cuzk insecure key " + name))
	h[len(h)-1] &= 0x3f
	slices.Reverse(h[:])
	x.SetBytes(h[:])
	return x
}

// lagrange evaluates the Lagrange basis of the domain of m points at tau:
//
//	L_j(tau) = (tau^m - 1)/m · ω^j/(tau - ω^j)
type lagrange struct {
	tau, omega fr.Element
	vanish     fr.Element // tau^m - 1
	scale      fr.Element // (tau^m - 1)/m
}

var errTau = errors.New("tau lies on the domain: choose other secrets")

func newLagrange(tau fr.Element, m int) (*lagrange, error) {
	l := &lagrange{tau: tau}
	var err error
	if l.omega, err = fr.Generator(uint64(m)); err != nil {
		return nil, err
	}
	var one, size fr.Element
	one.SetOne()
	l.vanish.Exp(tau, big.NewInt(int64(m)))
	l.vanish.Sub(&l.vanish, &one)
	if l.vanish.IsZero() {
		return nil, errTau
	}
	size.SetUint64(uint64(m))
	l.scale.Div(&l.vanish, &size)
	return l, nil
}

// fill sets dst[k] to L_{from+k}(tau).
func (l *lagrange) fill(dst []fr.Element, from int) {
	const block = 1 << 10
	var power fr.Element // ω^j
	power.Exp(l.omega, big.NewInt(int64(from)))
	var below, before [block]fr.Element // tau - ω^j, and their products
	for len(dst) > 0 {
		part := dst[:min(block, len(dst))]
		product := fr.One()
		for k := range part {
			part[k].Mul(&power, &l.scale)
			below[k].Sub(&l.tau, &power)
			before[k] = product
			product.Mul(&product, &below[k])
			power.Mul(&power, &l.omega)
		}
		product.Inverse(&product) // one for the block
		for k := len(part) - 1; k >= 0; k-- {
			part[k].Mul(&part[k], before[k].Mul(&before[k], &product))
			product.Mul(&product, &below[k])
		}
		dst = dst[len(part):]
	}
}

// all is the values for rows 0 to n-1, made on all cores.
func (l *lagrange) all(n int) []fr.Element {
	out := make([]fr.Element, n)
	cut := (n + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for from := 0; from < n; from += cut {
		wg.Go(func() { l.fill(out[from:min(from+cut, n)], from) })
	}
	wg.Wait()
	return out
}
