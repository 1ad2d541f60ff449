package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// recurrence is the linear part of the partial rounds as seen from element 0.
//
// Let z be the state after the S-boxes and keys of full round 3, x_p the input
// of the S-box of partial round p and y_p its output plus key, d_p = y_p − x_p.
// With u_0 = z·M and u_{p+1} = (u_p + d_p·e_0)·M the input is x_p = u_p[0], so
//
//	x_p = z·M^{p+1}·e_0 + Σ_{q<p} d_q·g_{p−q},   g_i = (M^i)[0][0].
//
// M^t·e_0 is a combination Σ a_i·M^{t−i}·e_0 (Cayley and Hamilton), and so
//
//	x_p = Σ_{i=1..t} a_i·x_{p−i} + b_i·d_{p−i},   b_i = g_i − Σ_{k<i} a_k·g_{i−k}
//
// for p >= t: one inner product of length 2t with fixed coefficients, where the
// sparse form takes one of length t and t−1 single products. The state after the
// last partial round follows from the last t pairs (x, y).
type recurrence struct {
	// first[p], p < t: coefficients of z_0…z_{t−1}, x_0, y_0, …, x_{p−1}, y_{p−1}
	// for x_p.
	first [][]fr.Element
	// step: coefficients of x_{p−t}, y_{p−t}, …, x_{p−1}, y_{p−1} for x_p.
	step []fr.Element
	// last[j]: coefficients of the last t pairs for element j of the state.
	last [][]fr.Element
}

func newRecurrence(m matrix, rp int) recurrence {
	t := len(m)
	pow := make([]matrix, t+1) // pow[k] = M^k
	pow[0] = identity(t)
	for k := range t {
		pow[k+1] = pow[k].mul(m)
	}
	g := make([]fr.Element, t+1)
	for i := range g {
		g[i] = pow[i][0][0]
	}
	var r recurrence
	r.first = firstRounds(pow, g)
	krylov := newMatrix(t) // row k is M^k·e_0
	for k := range t {
		copy(krylov[k], column0(pow[k]))
	}
	inv := krylov.inverse()
	r.step = stepCoefficients(inv.row(column0(pow[t])), g)
	r.last = lastRounds(inv, pow, g)
	return r
}

func column0(m matrix) []fr.Element {
	out := make([]fr.Element, len(m))
	for i := range m {
		out[i] = m[i][0]
	}
	return out
}

func firstRounds(pow []matrix, g []fr.Element) [][]fr.Element {
	t := len(pow) - 1
	out := make([][]fr.Element, t)
	for p := range out {
		out[p] = column0(pow[p+1])
		var minus fr.Element
		for q := range p {
			minus.Neg(&g[p-q])
			out[p] = append(out[p], minus, g[p-q])
		}
	}
	return out
}

// stepCoefficients takes c with M^t·e_0 = Σ c_k·M^k·e_0, that is a_i = c_{t−i}.
func stepCoefficients(c, g []fr.Element) []fr.Element {
	t := len(c)
	b := make([]fr.Element, t+1)
	var p fr.Element
	for i := 1; i <= t; i++ {
		b[i] = g[i]
		for k := 1; k < i; k++ {
			p.Mul(&c[t-k], &g[i-k])
			b[i].Sub(&b[i], &p)
		}
	}
	out := make([]fr.Element, 2*t)
	for i := 1; i <= t; i++ {
		out[2*(t-i)].Sub(&c[t-i], &b[i])
		out[2*(t-i)+1] = b[i]
	}
	return out
}

// lastRounds solves for the state t rounds before the end, from which the last
// t inputs came, and runs it on to the end. inv is the inverse of the matrix
// with rows M^k·e_0.
func lastRounds(inv matrix, pow []matrix, g []fr.Element) [][]fr.Element {
	t := len(inv)
	// x_k alone, all d zero: u = e_k·(columns M^k·e_0)⁻¹, then t rounds on.
	byX := make(matrix, t)
	for k := range byX {
		byX[k] = pow[t].row(column(inv, k))
	}
	out := newRectangle(t, 2*t)
	var p fr.Element
	for q := range t {
		byD := append([]fr.Element(nil), pow[t-q][0]...)
		for k := q + 1; k < t; k++ {
			for j := range byD {
				p.Mul(&g[k-q], &byX[k][j])
				byD[j].Sub(&byD[j], &p)
			}
		}
		for j := range t {
			out[j][2*q].Sub(&byX[q][j], &byD[j])
			out[j][2*q+1] = byD[j]
		}
	}
	return out
}

func column(m matrix, j int) []fr.Element {
	out := make([]fr.Element, len(m))
	for i := range m {
		out[i] = m[i][j]
	}
	return out
}

func newRectangle(rows, columns int) [][]fr.Element {
	out := make([][]fr.Element, rows)
	for i := range out {
		out[i] = make([]fr.Element, columns)
	}
	return out
}
