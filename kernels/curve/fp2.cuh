// Fp2 = Fp[u]/(u^2 + 1): the field of G2. Memory of gnark-crypto's E2: c0, c1.
//
// The overloads of fadd ... fstore give fp_t and fp2_t the same names, so that
// the curve formulas are written once as templates over the field.
#pragma once
#include "../field/fp.cuh"

struct fp2_t {
    fp_t c0, c1;
};

__device__ __forceinline__ fp_t fadd(const fp_t& a, const fp_t& b) { return fp_add(a, b); }
__device__ __forceinline__ fp_t fsub(const fp_t& a, const fp_t& b) { return fp_sub(a, b); }
__device__ __forceinline__ fp_t fmul(const fp_t& a, const fp_t& b) { return fp_mul(a, b); }
__device__ __forceinline__ fp_t fsqr(const fp_t& a) { return fp_sqr(a); }
__device__ __forceinline__ fp_t fneg(const fp_t& a) { return fp_neg(a); }
__device__ __forceinline__ fp_t fdbl(const fp_t& a) { return fp_dbl(a); }
__device__ __forceinline__ bool fzero(const fp_t& a) { return fp_is_zero(a); }
__device__ __forceinline__ bool feq(const fp_t& a, const fp_t& b) { return fp_eq(a, b); }
__device__ __forceinline__ fp_t fselect(bool c, const fp_t& a, const fp_t& b) { return fp_select(c, a, b); }
__device__ __forceinline__ fp_t fload(const fp_t* p) { return fp_load(p); }
__device__ __forceinline__ void fstore(fp_t* p, const fp_t& a) { fp_store(p, a); }
__device__ __forceinline__ void fset_zero(fp_t& a) { a = fp_set_zero(); }
__device__ __forceinline__ void fset_one(fp_t& a) { a = fp_set_one(); }

__device__ __forceinline__ fp2_t fadd(const fp2_t& a, const fp2_t& b) {
    return {fp_add(a.c0, b.c0), fp_add(a.c1, b.c1)};
}

__device__ __forceinline__ fp2_t fsub(const fp2_t& a, const fp2_t& b) {
    return {fp_sub(a.c0, b.c0), fp_sub(a.c1, b.c1)};
}

// (a0 b0 - a1 b1) + ((a0 + a1)(b0 + b1) - a0 b0 - a1 b1) u: three products.
__device__ __forceinline__ fp2_t fmul(const fp2_t& a, const fp2_t& b) {
    fp_t s = fp_mul(fp_add(a.c0, a.c1), fp_add(b.c0, b.c1));
    fp_t t = fp_mul(a.c0, b.c0);
    s = fp_sub(s, t);
    fp_t w = fp_mul(a.c1, b.c1);
    return {fp_sub(t, w), fp_sub(s, w)};
}

// (a0 + a1)(a0 - a1) + 2 a0 a1 u: two products.
__device__ __forceinline__ fp2_t fsqr(const fp2_t& a) {
    fp_t t = fp_mul(a.c0, a.c1);
    return {fp_mul(fp_add(a.c0, a.c1), fp_sub(a.c0, a.c1)), fp_dbl(t)};
}

__device__ __forceinline__ fp2_t fneg(const fp2_t& a) { return {fp_neg(a.c0), fp_neg(a.c1)}; }
__device__ __forceinline__ fp2_t fdbl(const fp2_t& a) { return {fp_dbl(a.c0), fp_dbl(a.c1)}; }
__device__ __forceinline__ bool fzero(const fp2_t& a) { return fp_is_zero(a.c0) && fp_is_zero(a.c1); }

__device__ __forceinline__ bool feq(const fp2_t& a, const fp2_t& b) {
    return fp_eq(a.c0, b.c0) && fp_eq(a.c1, b.c1);
}

__device__ __forceinline__ fp2_t fselect(bool c, const fp2_t& a, const fp2_t& b) {
    return {fp_select(c, a.c0, b.c0), fp_select(c, a.c1, b.c1)};
}

__device__ __forceinline__ fp2_t fload(const fp2_t* p) { return {fp_load(&p->c0), fp_load(&p->c1)}; }

__device__ __forceinline__ void fstore(fp2_t* p, const fp2_t& a) {
    fp_store(&p->c0, a.c0);
    fp_store(&p->c1, a.c1);
}

__device__ __forceinline__ void fset_zero(fp2_t& a) { a.c0 = fp_set_zero(), a.c1 = fp_set_zero(); }
__device__ __forceinline__ void fset_one(fp2_t& a) { a.c0 = fp_set_one(), a.c1 = fp_set_zero(); }
