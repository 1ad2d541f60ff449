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
// For a key whose secrets nobody knows, let y_k = [Z2·x^k] for k < |S|, and
//
//	r_k = Σ_{j>k} (Z_S)_j·y_{j-k-1}   k < |S|      Z_S has few terms
//	q_k = Σ_{j>k} (Z2)_j·H_{j-k-1}    k < |U|
//
// Since (f(x) - f(t))/(x - t) = Σ_k t^k·Σ_{j>k} f_j·x^(j-k-1),
//
//	K_s = wK_s·r(x_s)       M_i = wM_i·(r(ω^i) + Z_S(ω^i)·q(ω^i))
//
// y and q are correlations that a cyclic one of n terms holds undisturbed: six
// transforms of n points of the curve and some single multiples.
//
// S is a union of cosets of subgroups, so that Z_S has a factor of two terms for
// each.
package values
