// Inversion in Fp and Fp2 by division steps (Bernstein and Yang, "Fast
// constant-time gcd computation and modular inversion", TCHES 2019), in variable
// time: what is inverted here are public sums of coordinates.
//
// Numbers are thirteen signed limbs of 30 bits. Thirty division steps on the low
// words give a 2x2 matrix; it is applied to (f, g) exactly and to (d, e) modulo p.
// About 27 such rounds empty g. A Fermat power would cost 460 multiplications:
// ten times as long, and on the multiplier that the other warps need.
#pragma once
#include "fp2.cuh"

#define INV_LIMBS 13
#define INV_MASK 0x3fffffff

struct inv_num {
    int32_t v[INV_LIMBS];
};

// p in 30-bit limbs and 1/p mod 2^30.
__device__ __forceinline__ int32_t inv_modulus(int i) {
    const int32_t m[INV_LIMBS] = {0x3fffaaab, 0x27fbffff, 0x153ffffb, 0x2affffac, 0x30f6241e, 0x034a83da, 0x112bf673,
                                  0x12e13ce1, 0x2cd76477, 0x1ed90d2e, 0x29a4b1ba, 0x3a8e5ff9, 0x001a0111};
    return m[i];
}
#define INV_P_INVERSE 0x00030003

// The matrix of thirty division steps, scaled by 2^30.
struct inv_matrix {
    int32_t u, v, q, r;
};

// Steps on the low 32 bits of f (odd) and g. eta is minus the paper's delta. A
// run of zero bits of g is one shift; then a multiple of f clears as many low
// bits of g as the sign of eta lets pass without another exchange.
__device__ __forceinline__ int32_t inv_steps(int32_t eta, uint32_t f, uint32_t g, inv_matrix& t) {
    uint32_t u = 1, v = 0, q = 0, r = 1;
    int32_t left = 30;
    for (;;) {
        int32_t z = __builtin_ctz(g | (0xffffffffu << left));
        g >>= z;
        u <<= z;
        v <<= z;
        eta -= z;
        left -= z;
        if (left == 0) break;
        if (eta < 0) {
            uint32_t x;
            eta = -eta;
            x = f, f = g, g = -x;
            x = u, u = q, q = -x;
            x = v, v = r, r = -x;
        }
        // f (f^2 - 2) = -1/f mod 2^6 for odd f.
        int32_t bits = eta + 1 < left ? eta + 1 : left;
        uint32_t mask = (0xffffffffu >> (32 - (bits < 6 ? bits : 6)));
        uint32_t w = (f * g * (f * f - 2)) & mask;
        g += f * w;
        q += u * w;
        r += v * w;
    }
    t.u = (int32_t)u, t.v = (int32_t)v, t.q = (int32_t)q, t.r = (int32_t)r;
    return eta;
}

// (f, g) = t (f, g) / 2^30, exact. Returns the OR of the limbs of g.
__device__ __forceinline__ uint32_t inv_update_fg(inv_num& f, inv_num& g, const inv_matrix& t) {
    int64_t cf = (int64_t)t.u * f.v[0] + (int64_t)t.v * g.v[0];
    int64_t cg = (int64_t)t.q * f.v[0] + (int64_t)t.r * g.v[0];
    cf >>= 30;
    cg >>= 30;
    uint32_t any = 0;
#pragma unroll
    for (int i = 1; i < INV_LIMBS; i++) {
        int32_t fi = f.v[i], gi = g.v[i];
        cf += (int64_t)t.u * fi + (int64_t)t.v * gi;
        cg += (int64_t)t.q * fi + (int64_t)t.r * gi;
        f.v[i - 1] = (int32_t)cf & INV_MASK;
        g.v[i - 1] = (int32_t)cg & INV_MASK;
        any |= g.v[i - 1];
        cf >>= 30;
        cg >>= 30;
    }
    f.v[INV_LIMBS - 1] = (int32_t)cf;
    g.v[INV_LIMBS - 1] = (int32_t)cg;
    return any | (uint32_t)g.v[INV_LIMBS - 1];
}

// (d, e) = t (d, e) / 2^30 mod p; both stay in (-2p, p).
__device__ __forceinline__ void inv_update_de(inv_num& d, inv_num& e, const inv_matrix& t) {
    int32_t sd = d.v[INV_LIMBS - 1] >> 31, se = e.v[INV_LIMBS - 1] >> 31;
    // Start as if p were added to a negative d or e, then the multiple of p that
    // makes the low limb vanish.
    int32_t md = (t.u & sd) + (t.v & se), me = (t.q & sd) + (t.r & se);
    int64_t cd = (int64_t)t.u * d.v[0] + (int64_t)t.v * e.v[0];
    int64_t ce = (int64_t)t.q * d.v[0] + (int64_t)t.r * e.v[0];
    md -= (int32_t)(((uint32_t)INV_P_INVERSE * (uint32_t)cd + (uint32_t)md) & INV_MASK);
    me -= (int32_t)(((uint32_t)INV_P_INVERSE * (uint32_t)ce + (uint32_t)me) & INV_MASK);
    cd += (int64_t)inv_modulus(0) * md;
    ce += (int64_t)inv_modulus(0) * me;
    cd >>= 30;
    ce >>= 30;
#pragma unroll
    for (int i = 1; i < INV_LIMBS; i++) {
        int32_t di = d.v[i], ei = e.v[i];
        cd += (int64_t)t.u * di + (int64_t)t.v * ei + (int64_t)inv_modulus(i) * md;
        ce += (int64_t)t.q * di + (int64_t)t.r * ei + (int64_t)inv_modulus(i) * me;
        d.v[i - 1] = (int32_t)cd & INV_MASK;
        e.v[i - 1] = (int32_t)ce & INV_MASK;
        cd >>= 30;
        ce >>= 30;
    }
    d.v[INV_LIMBS - 1] = (int32_t)cd;
    e.v[INV_LIMBS - 1] = (int32_t)ce;
}

// Limbs of 30 bits from 32-bit words.
__device__ __forceinline__ inv_num inv_unpack(const fp_t& a) {
    inv_num n;
#pragma unroll
    for (int i = 0; i < INV_LIMBS; i++) {
        int bit = 30 * i, w = bit / 32, s = bit % 32;
        uint32_t x = a.v[w] >> s;
        if (s > 2 && w + 1 < 12) x |= a.v[w + 1] << (32 - s);
        n.v[i] = (int32_t)(x & INV_MASK);
    }
    return n;
}

// The value of n plus k p, carried to limbs in [0, 2^30) but for the top one.
__device__ __forceinline__ inv_num inv_add_modulus(const inv_num& n, int32_t k) {
    inv_num m;
    int32_t c = 0;
#pragma unroll
    for (int i = 0; i < INV_LIMBS; i++) {
        c += n.v[i] + k * inv_modulus(i);
        m.v[i] = i < INV_LIMBS - 1 ? c & INV_MASK : c;
        c >>= 30;
    }
    return m;
}

__device__ __forceinline__ fp_t inv_pack(const inv_num& n) {
    fp_t a;
#pragma unroll
    for (int w = 0; w < 12; w++) {
        int i = 32 * w / 30, s = 32 * w % 30;
        uint32_t x = (uint32_t)n.v[i] >> s;
        x |= (uint32_t)n.v[i + 1] << (30 - s);
        if (s > 28 && i + 2 < INV_LIMBS) x |= (uint32_t)n.v[i + 2] << (60 - s);
        a.v[w] = x;
    }
    return a;
}

// 1/a in Montgomery form; 0 for 0. The inverse of aR is 1/(aR), and two
// products bring back the factor R^2: R^3 = R2*R2/R.
__device__ __noinline__ fp_t fp_inv(const fp_t& a) {
    inv_num f, g, d, e;
    g = inv_unpack(a);
#pragma unroll
    for (int i = 0; i < INV_LIMBS; i++) f.v[i] = inv_modulus(i), d.v[i] = 0, e.v[i] = i == 0;
    int32_t eta = -1;
    // 1101 steps always suffice for 381 bits: 37 rounds.
    for (int round = 0; round < 37; round++) {
        inv_matrix t;
        uint32_t f0 = (uint32_t)f.v[0] | (uint32_t)f.v[1] << 30, g0 = (uint32_t)g.v[0] | (uint32_t)g.v[1] << 30;
        eta = inv_steps(eta, f0, g0, t);
        inv_update_de(d, e, t);
        if (inv_update_fg(f, g, t) == 0) break;
    }
    // f is 1 or -1; d f is the inverse, in (-2p, 2p) before two corrections.
    int32_t s = f.v[INV_LIMBS - 1] >> 31;
    d = inv_add_modulus(d, (d.v[INV_LIMBS - 1] >> 31) & 1);
    if (s) {
#pragma unroll
        for (int i = 0; i < INV_LIMBS; i++) d.v[i] = -d.v[i];
    }
    d = inv_add_modulus(d, 0);
    d = inv_add_modulus(d, (d.v[INV_LIMBS - 1] >> 31) & 1);
    fp_t r2 = {FP_r2_limbs};
    return fp_mul(inv_pack(d), fp_mul(r2, r2));
}

__device__ __forceinline__ fp_t finv(const fp_t& a) { return fp_inv(a); }

// 1/(a0 + a1 u) = (a0 - a1 u) / (a0^2 + a1^2).
__device__ __forceinline__ fp2_t finv(const fp2_t& a) {
    fp_t n = fp_inv(fp_add(fp_sqr(a.c0), fp_sqr(a.c1)));
    return {fp_mul(a.c0, n), fp_neg(fp_mul(a.c1, n))};
}
