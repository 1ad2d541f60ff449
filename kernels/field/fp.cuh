// Fp of BLS12-381: 381 bits in twelve 32-bit limbs.
// Values are in Montgomery form, reduced to [0, p), limbs little endian: the
// memory of gnark-crypto's bls12-381/fp.Element. Functions ending in _lazy leave
// [0, 2p).
//
// Carry chains live in fp_ops.cuh, one asm statement a function, written by
// kernels/gen (its comments derive them).
#pragma once
#include "fp_ops.cuh"

__device__ __forceinline__ fp_t fp_set_zero() {
    fp_t d;
#pragma unroll
    for (int i = 0; i < 12; i++) d.v[i] = 0;
    return d;
}

// One in Montgomery form: R mod p.
__device__ __forceinline__ fp_t fp_set_one() {
    fp_t d = {FP_one_limbs};
    return d;
}

__device__ __forceinline__ bool fp_is_zero(const fp_t& a) {
    uint32_t o = 0;
#pragma unroll
    for (int i = 0; i < 12; i++) o |= a.v[i];
    return o == 0;
}

__device__ __forceinline__ bool fp_eq(const fp_t& a, const fp_t& b) {
    uint32_t o = 0;
#pragma unroll
    for (int i = 0; i < 12; i++) o |= a.v[i] ^ b.v[i];
    return o == 0;
}

// c ? a : b, without a branch.
__device__ __forceinline__ fp_t fp_select(bool c, const fp_t& a, const fp_t& b) {
    fp_t d;
#pragma unroll
    for (int i = 0; i < 12; i++) d.v[i] = c ? a.v[i] : b.v[i];
    return d;
}

// a = b when c holds.
__device__ __forceinline__ void fp_cmov(fp_t& a, bool c, const fp_t& b) { a = fp_select(c, b, a); }

// -a; zero stays zero.
__device__ __forceinline__ fp_t fp_neg(const fp_t& a) { return fp_sub(fp_set_zero(), a); }

__device__ __forceinline__ fp_t fp_dbl(const fp_t& a) { return fp_add(a, a); }

// From Montgomery form to the integer: a product by 1.
__device__ __forceinline__ fp_t fp_from_mont(const fp_t& a) {
    fp_t one = {{1}};
    return fp_mul(a, one);
}

// From the integer below 2^384 to Montgomery form: a product by R^2. The
// constant goes first, because only the second factor may exceed p.
__device__ __forceinline__ fp_t fp_to_mont(const fp_t& a) {
    fp_t r2 = {FP_r2_limbs};
    return fp_mul(r2, a);
}

// 16-byte loads and stores; p must be 16-byte aligned.
__device__ __forceinline__ fp_t fp_load(const fp_t* p) {
    fp_t d;
    const u128_t* q = (const u128_t*)p;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        u128_t t = q[i];
        d.v[4 * i] = t.x, d.v[4 * i + 1] = t.y, d.v[4 * i + 2] = t.z, d.v[4 * i + 3] = t.w;
    }
    return d;
}

__device__ __forceinline__ void fp_store(fp_t* p, const fp_t& a) {
    u128_t* q = (u128_t*)p;
#pragma unroll
    for (int i = 0; i < 3; i++) {
        u128_t t = {a.v[4 * i], a.v[4 * i + 1], a.v[4 * i + 2], a.v[4 * i + 3]};
        q[i] = t;
    }
}
