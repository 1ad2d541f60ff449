// Fp2 with coordinates modulo 2p (lazy.cuh), and one set of names for both
// fields, so that formulas are templates over the field.
#pragma once
#include "fp2.cuh"
#include "lazy.cuh"
#include "wide.cuh"

// Four words that travel in registers through a call.
typedef uint32_t word4_t __attribute__((ext_vector_type(4)));

__device__ __forceinline__ word4_t word4(const fp_t& a, int i) {
    return (word4_t){a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]};
}

__device__ __forceinline__ fp_t from_words(word4_t a, word4_t b, word4_t c) {
    return {{a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w, c.x, c.y, c.z, c.w}};
}

__device__ __forceinline__ fp2_t lazy_add(const fp2_t& a, const fp2_t& b) {
    return {lazy_add(a.c0, b.c0), lazy_add(a.c1, b.c1)};
}

__device__ __forceinline__ fp2_t lazy_sub(const fp2_t& a, const fp2_t& b) {
    return {lazy_sub(a.c0, b.c0), lazy_sub(a.c1, b.c1)};
}

// A product of Fp2 adds its factors' coordinates and has no room for wider ones.
__device__ __forceinline__ fp2_t wide_sub(const fp2_t& a, const fp2_t& b) { return lazy_sub(a, b); }

// (a0 b0 - a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) u with two reductions: of
// numbers up to 8 p^2, as coordinates are up to 2p.
__device__ __forceinline__ fp2_t lazy_mul_inline(const fp2_t& a, const fp2_t& b) {
    fp_t sa = wide_add(a.c0, a.c1), sb = wide_add(b.c0, b.c1);
    fp_wide_t v = wide_mul(a.c0, b.c0), w = wide_mul(a.c1, b.c1);
    fp_t c0 = wide_reduce(wide_minus_4pp(v, w));
    v = wide_plus(v, w);
    return {c0, wide_reduce(wide_minus(wide_mul(sa, sb), v))};
}

// Products of Fp2 are a call: a loop with five of them inlined is larger than the
// instruction cache.
__device__ __noinline__ fp2_t lazy_mul_call(word4_t a0, word4_t a1, word4_t a2, word4_t b0, word4_t b1, word4_t b2,
                                            word4_t c0, word4_t c1, word4_t c2, word4_t d0, word4_t d1, word4_t d2) {
    fp2_t a = {from_words(a0, a1, a2), from_words(b0, b1, b2)}, b = {from_words(c0, c1, c2), from_words(d0, d1, d2)};
    return lazy_mul_inline(a, b);
}

__device__ __forceinline__ fp2_t lazy_mul(const fp2_t& a, const fp2_t& b) {
    return lazy_mul_call(word4(a.c0, 0), word4(a.c0, 1), word4(a.c0, 2), word4(a.c1, 0), word4(a.c1, 1),
                         word4(a.c1, 2), word4(b.c0, 0), word4(b.c0, 1), word4(b.c0, 2), word4(b.c1, 0),
                         word4(b.c1, 1), word4(b.c1, 2));
}

__device__ __forceinline__ fp2_t lazy_sqr(const fp2_t& a) {
    fp_t t = lazy_mul(a.c0, a.c1);
    return {lazy_mul(wide_add(a.c0, a.c1), lazy_sub(a.c0, a.c1)), lazy_add(t, t)};
}

__device__ __forceinline__ fp2_t lazy_exact(const fp2_t& a) { return {lazy_exact(a.c0), lazy_exact(a.c1)}; }

__device__ __forceinline__ bool lazy_maybe_zero(const fp2_t& a) {
    return lazy_maybe_zero(a.c0) && lazy_maybe_zero(a.c1);
}

// -a, in [0, 2p).
__device__ __forceinline__ fp_t lazy_neg(const fp_t& a) { return lazy_sub(fp_set_zero(), a); }
__device__ __forceinline__ fp2_t lazy_neg(const fp2_t& a) { return {lazy_neg(a.c0), lazy_neg(a.c1)}; }

// Whether the low words are those of zero itself.
__device__ __forceinline__ bool low_zero(const fp_t& a) { return a.v[0] == 0; }
__device__ __forceinline__ bool low_zero(const fp2_t& a) { return low_zero(a.c0) && low_zero(a.c1); }
