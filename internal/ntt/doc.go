// Package ntt computes the quotient of a Groth16 proof with number-theoretic
// transforms, eight elements at a time, with the processor's 52-bit multiply-add
// (AVX-512 IFMA). [Available] tells whether it can.
//
// Let N be the size of the domain of the powers of ω, g a 2N-th root of unity
// with g² = ω, and A, B the polynomials that take the values a and b on the
// domain. With C = A·B mod X^N - 1 and R = A·B mod X^N + 1, the quotient of
// A·B - C by X^N - 1 is H = (C - R)/2. All transforms are made of one butterfly,
// x, y to x + ty, x - ty, in two orders:
//
// From values in natural order to N times the coefficients, in bit-reversed
// order, by splitting X^N - 1 into ever smaller binomials: t depends on the
// binomial alone. Twiddle b of any level is φ(b) = ω^-e with e/N the sum of
// b_i/2^(i+2) over the bits b_i of b, lowest first.
//
// From bit-reversed coefficients to values at g·ω^j by joining even and odd
// halves: in a half of length h, place j has t = g^((2j+1)·N/2h). So the coset
// costs nothing. Going back by the first way gives the coefficients times
// N·g^k, which the last multiplication puts right.
//
// Both are done in passes over memory, each several levels at once on a piece
// that fits the cache: all rows of eight columns (the lanes are the columns), or
// in the last pass eight whole rows (the lanes are the rows). A pass over a, b
// and c does what is needed of each:
//
//  1. columns: c = a·b; a, b, c towards coefficients
//  2. rows: a, b to coefficients and on towards values on the coset
//  3. columns: a, b to values, a = a·b, a towards coefficients
//  4. rows: a, c to coefficients, c = (c - a)/2
//
// Large domains have passes in the middle.
//
// Invariants:
//
//  1. Results are canonical, so they are the same as those of any other way.
//  2. Numbers in a piece stay below 24r, products below 2r; a number has room for
//     35r (see the functions on blocks).
package ntt
