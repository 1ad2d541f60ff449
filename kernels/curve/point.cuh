// Points of a short Weierstrass curve y^2 = x^3 + b over a field F (fp_t for G1,
// fp2_t for G2). Formulas: Explicit-Formulas Database, XYZZ coordinates with
// a = 0 (madd-2008-s, add-2008-s, dbl-2008-s-1, mdbl-2008-s-1).
//
// Affine points are x, y in Montgomery form (96 or 192 bytes, the memory of
// gnark-crypto's G1Affine and G2Affine); infinity is (0, 0), which is on neither
// curve. An XYZZ point (X, Y, ZZ, ZZZ) is (X/ZZ, Y/ZZZ) with ZZ^3 = ZZZ^2;
// infinity has ZZ = 0. Every addition is right for all inputs: infinity, equal
// points, opposite points.
#pragma once
#include "inv.cuh"

template <class F>
struct affine_t {
    F x, y;
};

template <class F>
struct xyzz_t {
    F x, y, zz, zzz;
};

template <class F>
__device__ __forceinline__ bool is_infinity(const affine_t<F>& p) {
    return fzero(p.x) && fzero(p.y);
}

template <class F>
__device__ __forceinline__ bool is_infinity(const xyzz_t<F>& p) {
    return fzero(p.zz);
}

template <class F>
__device__ __forceinline__ affine_t<F> affine_infinity() {
    affine_t<F> p;
    fset_zero(p.x), fset_zero(p.y);
    return p;
}

template <class F>
__device__ __forceinline__ xyzz_t<F> xyzz_infinity() {
    xyzz_t<F> p;
    fset_zero(p.x), fset_zero(p.y), fset_zero(p.zz), fset_zero(p.zzz);
    return p;
}

template <class F>
__device__ __forceinline__ affine_t<F> point_load(const affine_t<F>* p) {
    return {fload(&p->x), fload(&p->y)};
}

template <class F>
__device__ __forceinline__ void point_store(affine_t<F>* p, const affine_t<F>& a) {
    fstore(&p->x, a.x);
    fstore(&p->y, a.y);
}

template <class F>
__device__ __forceinline__ xyzz_t<F> point_load(const xyzz_t<F>* p) {
    return {fload(&p->x), fload(&p->y), fload(&p->zz), fload(&p->zzz)};
}

template <class F>
__device__ __forceinline__ void point_store(xyzz_t<F>* p, const xyzz_t<F>& a) {
    fstore(&p->x, a.x);
    fstore(&p->y, a.y);
    fstore(&p->zz, a.zz);
    fstore(&p->zzz, a.zzz);
}

// From affine: (x, y, 1, 1), or infinity.
template <class F>
__device__ __forceinline__ xyzz_t<F> to_xyzz(const affine_t<F>& p) {
    if (is_infinity(p)) return xyzz_infinity<F>();
    xyzz_t<F> q;
    q.x = p.x, q.y = p.y;
    fset_one(q.zz), fset_one(q.zzz);
    return q;
}

// The factors that doubling an affine and an XYZZ point share: V and W of the
// affine case, then X3, Y3.
template <class F>
__device__ __forceinline__ void double_factors(const F& x, const F& y, F& v, F& w, F& x3, F& y3) {
    F u = fdbl(y);
    v = fsqr(u);
    w = fmul(u, v);
    F s = fmul(x, v), m = fsqr(x);
    m = fadd(fdbl(m), m);
    x3 = fsub(fsqr(m), fdbl(s));
    y3 = fsub(fmul(m, fsub(s, x3)), fmul(w, y));
}

// 2p for an affine p.
template <class F>
__device__ __forceinline__ xyzz_t<F> xyzz_double(const affine_t<F>& p) {
    if (is_infinity(p)) return xyzz_infinity<F>();
    xyzz_t<F> d;
    double_factors(p.x, p.y, d.zz, d.zzz, d.x, d.y);
    return d;
}

// 2p. Infinity stays infinity: V ZZ = 0.
template <class F>
__device__ __forceinline__ xyzz_t<F> xyzz_double(const xyzz_t<F>& p) {
    xyzz_t<F> d;
    F v, w;
    double_factors(p.x, p.y, v, w, d.x, d.y);
    d.zz = fmul(v, p.zz);
    d.zzz = fmul(w, p.zzz);
    return d;
}

// acc += q for an affine q: 8M + 2S.
template <class F>
__device__ __forceinline__ void xyzz_add(xyzz_t<F>& acc, const affine_t<F>& q) {
    if (is_infinity(q)) return;
    if (is_infinity(acc)) {
        acc = to_xyzz(q);
        return;
    }
    F p = fsub(fmul(q.x, acc.zz), acc.x), r = fsub(fmul(q.y, acc.zzz), acc.y);
    if (fzero(p)) {
        acc = fzero(r) ? xyzz_double(q) : xyzz_infinity<F>();
        return;
    }
    F pp = fsqr(p);
    p = fmul(p, pp);
    acc.zz = fmul(acc.zz, pp);
    acc.zzz = fmul(acc.zzz, p);
    pp = fmul(acc.x, pp);
    acc.x = fsub(fsub(fsqr(r), p), fdbl(pp));
    acc.y = fsub(fmul(r, fsub(pp, acc.x)), fmul(acc.y, p));
}

// acc += q: 12M + 2S.
template <class F>
__device__ __forceinline__ void xyzz_add(xyzz_t<F>& acc, const xyzz_t<F>& q) {
    if (is_infinity(q)) return;
    if (is_infinity(acc)) {
        acc = q;
        return;
    }
    F u1 = fmul(acc.x, q.zz), s1 = fmul(acc.y, q.zzz);
    F p = fsub(fmul(q.x, acc.zz), u1), r = fsub(fmul(q.y, acc.zzz), s1);
    if (fzero(p)) {
        acc = fzero(r) ? xyzz_double(acc) : xyzz_infinity<F>();
        return;
    }
    F pp = fsqr(p);
    p = fmul(p, pp);
    acc.zz = fmul(fmul(acc.zz, q.zz), pp);
    acc.zzz = fmul(fmul(acc.zzz, q.zzz), p);
    pp = fmul(u1, pp);
    acc.x = fsub(fsub(fsqr(r), p), fdbl(pp));
    acc.y = fsub(fmul(r, fsub(pp, acc.x)), fmul(s1, p));
}

// (X/ZZ, Y/ZZZ) with one inversion: 1/ZZ = (ZZ/ZZZ)^2.
template <class F>
__device__ __forceinline__ affine_t<F> to_affine(const xyzz_t<F>& p) {
    F zi = finv(p.zzz);
    F w = fsqr(fmul(p.zz, zi));
    return {fmul(p.x, w), fmul(p.y, zi)};
}
