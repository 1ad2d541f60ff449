package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// matrix is square and applied to row vectors: (v·M)[j] = Σ v[i]·M[i][j].
type matrix [][]fr.Element

func newMatrix(n int) matrix {
	m := make(matrix, n)
	for i := range m {
		m[i] = make([]fr.Element, n)
	}
	return m
}

func identity(n int) matrix {
	m := newMatrix(n)
	for i := range m {
		m[i][i].SetOne()
	}
	return m
}

// mds is the Cauchy matrix 1/(i+j+t) of size t.
func mds(t int) matrix {
	m := newMatrix(t)
	for i := range m {
		for j := range m[i] {
			m[i][j].SetUint64(uint64(i + j + t))
			m[i][j].Inverse(&m[i][j])
		}
	}
	return m
}

// row is v·m.
func (m matrix) row(v []fr.Element) []fr.Element {
	out := make([]fr.Element, len(m))
	var p fr.Element
	for i := range m {
		for j := range out {
			p.Mul(&v[i], &m[i][j])
			out[j].Add(&out[j], &p)
		}
	}
	return out
}

// mul is m·o.
func (m matrix) mul(o matrix) matrix {
	out := make(matrix, len(m))
	for i := range m {
		out[i] = o.row(m[i])
	}
	return out
}

// inverse inverts by Gauss and Jordan. The matrices of this package are
// minors of Cauchy matrices and products of such, hence invertible; a matrix
// that is not would be a mistake in this package and fails loudly.
func (m matrix) inverse() matrix {
	n := len(m)
	a, inv := newMatrix(n), identity(n)
	for i := range m {
		copy(a[i], m[i])
	}
	for c := range n {
		p := c
		for a[p][c].IsZero() {
			p++
		}
		a[c], a[p] = a[p], a[c]
		inv[c], inv[p] = inv[p], inv[c]
		var f fr.Element
		f.Inverse(&a[c][c])
		scaleRow(a[c], &f)
		scaleRow(inv[c], &f)
		for i := range n {
			if i == c || a[i][c].IsZero() {
				continue
			}
			f = a[i][c]
			subRow(a[i], a[c], &f)
			subRow(inv[i], inv[c], &f)
		}
	}
	return inv
}

func scaleRow(r []fr.Element, f *fr.Element) {
	for j := range r {
		r[j].Mul(&r[j], f)
	}
}

// subRow is r −= f·o.
func subRow(r, o []fr.Element, f *fr.Element) {
	var p fr.Element
	for j := range r {
		p.Mul(&o[j], f)
		r[j].Sub(&r[j], &p)
	}
}

// minor is m without row 0 and column 0.
func (m matrix) minor() matrix {
	out := make(matrix, len(m)-1)
	for i := range out {
		out[i] = m[i+1][1:]
	}
	return out
}
