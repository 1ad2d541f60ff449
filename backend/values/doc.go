// Package values writes the quotient of a proof in values instead of coefficients.
//
// A proof needs the point Σ h_k·H_k of the quotient h = (A·B - C)/Z, where A, B and
// C take the rows' values a, b and c = a∘b on the n roots of unity, Z = xⁿ - 1, and
// the key has H_k = x^k·Z/delta at its secret. The coefficients h_k cost two transforms
// and n large multiples, however few rows there are. If all rows from R on are
// empty, h is known from fewer numbers:
//
//	Σ h_k·H_k = Σ_s p_s·K_s + Σ_i c_i·M_i      p_s = A(x_s)·B(x_s)
//
// s runs over R - 1 points of the coset g·<ω>, i over the rows. Most c_i are bits, so
// what is left are R - 1 large multiples in place of n - 1.
//
// Derivation. Let S be the points x_s, U the last n - 1 - |S| roots of unity, on which
// the rows are empty, and
//
//	Z_S = Π (x - x_s),  Z2 = Π over U of (x - ω^u),  G = Z_S·Z2, of degree n - 1.
//
// h has degree n - 2 at most, so its values on S and U determine it. On S they are
// (p_s - C(x_s))/Z(x_s). On U, A·B vanishes twice and Z once, so they are those of
// -C/Z there. Lagrange's basis on S and U gives what p_s is multiplied by,
//
//	K_s = wK_s·[G/(x - x_s)]          wK_s = -1/(2·Z_S'(x_s)·Z2(x_s)),  Z(x_s) = -2
//
// and for one c_i, -C/Z = -1/((x - ω^i)·Z'(ω^i)), a function with a pole that a
// multiple of G takes away without changing values on S and U:
//
//	M_i = wM_i·[(G - G(ω^i))/(x - ω^i)]      wM_i = ω^i/(n·G(ω^i))
//
// where [f] is Σ f_k·H_k.
//
// Both are values of one polynomial, since G vanishes on S:
//
//	P(t) = [(G - G(t))/(x - t)]     P_k = Σ_{j>k} G_j·H_(j-k-1)     k < n - 1
//	K_s  = wK_s·P(x_s)              M_i = wM_i·P(ω^i)
//
// That is the way for a key whose secrets nobody knows. P is what has no negative
// powers in Z_S·Z2·Σ_j H_j·x^(-j-1). The product with Z2 is a correlation, by
// transforms; of it the powers from -|S| to |U| - 1 matter. A factor x^N - a of Z_S
// then makes p_t - a·p_(t+N) of p_t, t being counted from the lowest power that
// matters, which is N higher after it.
//
// S is a union of cosets of subgroups, so that Z_S has a factor of two terms for each.
package values
