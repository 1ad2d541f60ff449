// Fr of BLS12-381: the scalar field, 255 bits in eight 32-bit limbs.
// Values are in Montgomery form, reduced to [0, p), limbs little endian: the
// memory of gnark-crypto's bls12-381/fr.Element. Functions ending in _lazy leave
// [0, 2p).
//
// Carry chains live in fr_ops.cuh, one asm statement a function, written by
// kernels/gen (its comments derive them).
#pragma once
#include "fr_ops.cuh"

__device__ __forceinline__ fr_t fr_set_zero() {
    fr_t d;
#pragma unroll
    for (int i = 0; i < 8; i++) d.v[i] = 0;
    return d;
}

// One in Montgomery form: R mod p.
__device__ __forceinline__ fr_t fr_set_one() {
    fr_t d = {FR_one_limbs};
    return d;
}

__device__ __forceinline__ bool fr_is_zero(const fr_t& a) {
    uint32_t o = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) o |= a.v[i];
    return o == 0;
}

__device__ __forceinline__ bool fr_eq(const fr_t& a, const fr_t& b) {
    uint32_t o = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) o |= a.v[i] ^ b.v[i];
    return o == 0;
}

// c ? a : b, without a branch.
__device__ __forceinline__ fr_t fr_select(bool c, const fr_t& a, const fr_t& b) {
    fr_t d;
#pragma unroll
    for (int i = 0; i < 8; i++) d.v[i] = c ? a.v[i] : b.v[i];
    return d;
}

// a = b when c holds.
__device__ __forceinline__ void fr_cmov(fr_t& a, bool c, const fr_t& b) { a = fr_select(c, b, a); }

// -a; zero stays zero.
__device__ __forceinline__ fr_t fr_neg(const fr_t& a) { return fr_sub(fr_set_zero(), a); }

__device__ __forceinline__ fr_t fr_dbl(const fr_t& a) { return fr_add(a, a); }

__device__ __forceinline__ fr_t fr_sqr(const fr_t& a) { return fr_mul(a, a); }

// From Montgomery form to the integer: a product by 1.
__device__ __forceinline__ fr_t fr_from_mont(const fr_t& a) {
    fr_t one = {{1}};
    return fr_mul(a, one);
}

// From the integer below 2^256 to Montgomery form: a product by R^2. The
// constant goes first, because only the second factor may exceed p.
__device__ __forceinline__ fr_t fr_to_mont(const fr_t& a) {
    fr_t r2 = {FR_r2_limbs};
    return fr_mul(r2, a);
}

// 16-byte loads and stores; p must be 16-byte aligned.
__device__ __forceinline__ fr_t fr_load(const fr_t* p) {
    fr_t d;
    const u128_t* q = (const u128_t*)p;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u128_t t = q[i];
        d.v[4 * i] = t.x, d.v[4 * i + 1] = t.y, d.v[4 * i + 2] = t.z, d.v[4 * i + 3] = t.w;
    }
    return d;
}

__device__ __forceinline__ void fr_store(fr_t* p, const fr_t& a) {
    u128_t* q = (u128_t*)p;
#pragma unroll
    for (int i = 0; i < 2; i++) {
        u128_t t = {a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]};
        q[i] = t;
    }
}
