// Points of G1 in Jacobian coordinates: (X, Y, Z) is (X/Z^2, Y/Z^3), infinity has
// all limbs zero. Formulas: Explicit-Formulas Database, Jacobian coordinates
// with a = 0 (dbl-2009-l; madd and add without factors of two).
//
// Coordinates are in Montgomery form in [0, 2p), as curve/lazy.cuh wants them. Z is
// no multiple of p but for infinity: it is made of products alone, whose factors
// are zero in no place that the rare branches do not take.
//
// No formula has the curve's constant, so a point may be treated as if its Z were
// one: the numbers then mean a point of an isomorphic curve, and its Z is
// multiplied in at the end.
#pragma once
#include "../curve/g1.cuh"
#include "../curve/lazy2.cuh"

// Products are calls. Warps are at different steps of their programs, and with all
// products inline the code of doubling and addition, 130 KB, does not stay in the
// instruction cache: a multiple then takes half as long again.
__device__ __noinline__ fp_t jac_mul(fp_t a, fp_t b) { return lazy_mul(a, b); }

__device__ __noinline__ fp_t jac_sqr(fp_t a) { return lazy_sqr(a); }

struct g1_jac {
    fp_t x, y, z;
};
static_assert(sizeof(g1_jac) == 144, "layout shared with the host");

__device__ __forceinline__ g1_jac jac_load(const g1_jac* p) { return {fp_load(&p->x), fp_load(&p->y), fp_load(&p->z)}; }

__device__ __forceinline__ void jac_store(g1_jac* p, const g1_jac& a) {
    fp_store(&p->x, a.x);
    fp_store(&p->y, a.y);
    fp_store(&p->z, a.z);
}

__device__ __forceinline__ bool jac_infinite(const g1_jac& p) { return fp_is_zero(p.z); }

__device__ __forceinline__ g1_jac jac_infinity() { return {fp_set_zero(), fp_set_zero(), fp_set_zero()}; }

__device__ __forceinline__ bool lazy_zero(const fp_t& a) { return fp_is_zero(lazy_exact(a)); }

// p = 2p: 2M + 5S. Infinity stays infinity.
__device__ __forceinline__ void jac_double(g1_jac& p) {
    fp_t a = jac_sqr(p.x), b = jac_sqr(p.y), c = jac_sqr(b);
    fp_t d = lazy_sub(jac_sqr(lazy_add(p.x, b)), lazy_add(a, c));
    p.z = jac_mul(wide_add(p.y, p.y), p.z);
    d = lazy_add(d, d);
    fp_t e = lazy_add(lazy_add(a, a), a);
    p.x = lazy_sub(jac_sqr(e), lazy_add(d, d));
    c = lazy_add(c, c);
    c = lazy_add(c, c);
    c = lazy_add(c, c);
    p.y = lazy_sub(jac_mul(wide_sub(d, p.x), e), c);
}

// p + (x, y) where the sum's formula fails: p is infinite, or the points are equal
// or opposite.
__device__ __noinline__ g1_jac jac_add_rare(g1_jac p, fp_t x, fp_t y, fp_t r) {
    if (jac_infinite(p)) return {x, y, fp_set_one()};
    if (!lazy_zero(r)) return jac_infinity();
    jac_double(p);
    return p;
}

// p += (x, y): 8M + 3S. Returns the factor by which Z grew, where it is defined. An
// infinite p has x = 0, and so h = 0.
__device__ __forceinline__ fp_t jac_add_affine(g1_jac& p, const fp_t& x, const fp_t& y) {
    fp_t zz = jac_sqr(p.z);
    fp_t r = lazy_sub(jac_mul(y, jac_mul(p.z, zz)), p.y);
    fp_t h = lazy_sub(jac_mul(x, zz), p.x);
    if (lazy_maybe_zero(h) && lazy_zero(h)) {
        p = jac_add_rare(p, x, y, r);
        return h;
    }
    fp_t hh = jac_sqr(h), hhh = jac_mul(h, hh), v = jac_mul(p.x, hh);
    p.z = jac_mul(p.z, h);
    p.x = lazy_sub(lazy_sub(jac_sqr(r), hhh), lazy_add(v, v));
    p.y = lazy_sub(jac_mul(wide_sub(v, p.x), r), jac_mul(p.y, hhh));
    return h;
}

// What a sum and a difference share.
struct jac_pair {
    fp_t u, s; // of the first point, with the common denominator
    fp_t h, r; // differences to the second
    fp_t t;    // s of the second
};

__device__ __forceinline__ jac_pair jac_align(const g1_jac& p, const g1_jac& q) {
    fp_t pp = jac_sqr(p.z), qq = jac_sqr(q.z);
    jac_pair a;
    a.u = jac_mul(p.x, qq);
    a.s = jac_mul(p.y, jac_mul(q.z, qq));
    a.h = lazy_sub(jac_mul(q.x, pp), a.u);
    a.t = jac_mul(q.y, jac_mul(p.z, pp));
    a.r = lazy_sub(a.t, a.s);
    return a;
}

// p + q for all inputs: 12M + 4S.
__device__ __noinline__ g1_jac jac_add(g1_jac p, g1_jac q) {
    if (jac_infinite(p)) return q;
    if (jac_infinite(q)) return p;
    jac_pair a = jac_align(p, q);
    if (lazy_zero(a.h)) {
        if (!lazy_zero(a.r)) return jac_infinity();
        jac_double(p);
        return p;
    }
    fp_t hh = jac_sqr(a.h), hhh = jac_mul(a.h, hh), v = jac_mul(a.u, hh);
    p.z = jac_mul(jac_mul(p.z, q.z), a.h);
    p.x = lazy_sub(lazy_sub(jac_sqr(a.r), hhh), lazy_add(v, v));
    p.y = lazy_sub(jac_mul(wide_sub(v, p.x), a.r), jac_mul(a.s, hhh));
    return p;
}

__device__ __forceinline__ void jac_sum_difference_rare(g1_jac& p, g1_jac& q) {
    g1_jac m = {q.x, lazy_neg(q.y), q.z}, s = jac_add(p, q);
    q = jac_add(p, m);
    p = s;
}

// (p, q) = (p + q, p - q): 15M + 5S.
__device__ __forceinline__ void jac_sum_difference(g1_jac& p, g1_jac& q) {
    jac_pair a = jac_align(p, q);
    if ((lazy_maybe_zero(a.h) && lazy_zero(a.h)) || jac_infinite(p) || jac_infinite(q)) {
        jac_sum_difference_rare(p, q);
        return;
    }
    fp_t hh = jac_sqr(a.h), hhh = jac_mul(a.h, hh), v = jac_mul(a.u, hh), m = lazy_add(a.t, a.s);
    p.z = q.z = jac_mul(jac_mul(p.z, q.z), a.h);
    fp_t sh = jac_mul(a.s, hhh), vv = lazy_add(hhh, lazy_add(v, v));
    p.x = lazy_sub(jac_sqr(a.r), vv);
    p.y = lazy_sub(jac_mul(wide_sub(v, p.x), a.r), sh);
    // For -q, r is -(s + t).
    q.x = lazy_sub(jac_sqr(m), vv);
    q.y = lazy_neg(lazy_add(jac_mul(wide_sub(v, q.x), m), sh));
}
