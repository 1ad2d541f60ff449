// A multiple of a point by a scalar, k P.
//
// The curve's parameter is x with r = x^4 - x^2 + 1, so -x^2 is a cube root of unity
// modulo r, and x^2 (X, Y) = (beta X, -Y) for a cube root of unity beta. Every k is
// a + b x^2 with a and b of 128 bits, and k P is computed by joint doublings and
// additions of odd multiples P, 3P, 5P, 7P and of their images.
//
// The multiples are affine points of one isomorphic curve (jacobian.cuh), which
// needs no inversion: 2P is made affine by the curve that its own Z gives, three
// additions leave their factors of Z, and these bring all four to the last Z.
//
// Local memory is indexed by digits here, on purpose: lanes of a warp that have the
// same scalar read the same entry.
#pragma once
#include "../field/fr.cuh"
#include "jacobian.cuh"

// What is done at a step: doublings, then an addition of an odd multiple.
struct step_t {
    uint32_t doublings;
    bool last, add, half, negative; // half: of the image
    uint32_t index;                 // of the multiples 1, 3, 5, 7
};

struct __attribute__((aligned(16))) multiples_t {
    fp_t x[2][4], y[4];
    fp_t twice_x, twice_y;
    fp_t ratio[3], scale;
};

__device__ __forceinline__ fp_t endomorphism_beta() {
    return {{0x798a64e8u, 0x30f1361bu, 0x7ece5a2au, 0xf3b8ddabu, 0xc61577f7u, 0x16a8ca3au, 0x74fd029bu, 0xc26a2ff8u, 0x60701c6eu,
             0x3636b766u, 0x241b6160u, 0x051ba4abu}};
}

// acc is 2P for a P with Z = 1; it becomes P on the curve where 2P is affine.
__device__ __forceinline__ void multiples_begin(multiples_t& t, g1_jac& acc, const g1_jac& p) {
    fp_t zz = jac_sqr(acc.z);
    fp_store(&t.twice_x, acc.x);
    fp_store(&t.twice_y, acc.y);
    fp_store(&t.scale, jac_mul(acc.z, p.z));
    acc.x = jac_mul(p.x, zz);
    acc.y = jac_mul(p.y, jac_mul(acc.z, zz));
    acc.z = fp_set_one();
    fp_store(&t.x[0][0], acc.x);
    fp_store(&t.y[0], acc.y);
}

// Brings all multiples to the last one's Z, and adds the images.
__device__ __forceinline__ void multiples_finish(multiples_t& t) {
    fp_t z = fp_set_one(), beta = endomorphism_beta();
#pragma unroll 1
    for (int k = 3; k >= 0; k--) {
        fp_t x = fp_load(&t.x[0][k]);
        if (k < 3) {
            z = jac_mul(z, fp_load(&t.ratio[k]));
            fp_t zz = jac_sqr(z);
            x = jac_mul(x, zz);
            fp_store(&t.x[0][k], x);
            fp_store(&t.y[k], jac_mul(fp_load(&t.y[k]), jac_mul(z, zz)));
        }
        fp_store(&t.x[1][k], jac_mul(x, beta));
    }
    fp_store(&t.scale, jac_mul(fp_load(&t.scale), z));
}

// The multiple of p that the program's steps 0, 1, ... make. One loop makes the
// table as well, so that doubling and addition are in the code once.
template <class Program>
__device__ __forceinline__ g1_jac multiply(const g1_jac& p, const Program& program) {
    if (jac_infinite(p)) return p;
    multiples_t t;
    g1_jac acc = {p.x, p.y, fp_set_one()};
#pragma unroll 1
    for (int at = -4;; at++) {
        step_t s = {1, false, at > -4, false, false, 0};
        if (at >= 0) s = program.step((uint32_t)at);
        else if (at > -4) s.doublings = 0;
        if (s.last) break;
#pragma unroll 1
        for (; s.doublings > 0; s.doublings--) jac_double(acc);
        if (at == -4) multiples_begin(t, acc, p);
        if (!s.add) continue;
        fp_t x = fp_load(at < 0 ? &t.twice_x : &t.x[s.half][s.index]), y = fp_load(at < 0 ? &t.twice_y : &t.y[s.index]);
        if (s.half != s.negative) y = lazy_neg(y);
        fp_t h = jac_add_affine(acc, x, y);
        if (at >= 0) continue;
        fp_store(&t.x[0][at + 4], acc.x);
        fp_store(&t.y[at + 4], acc.y);
        fp_store(&t.ratio[at + 3], h);
        if (at < -1) continue;
        multiples_finish(t);
        acc = jac_infinity();
    }
    acc.z = jac_mul(acc.z, fp_load(&t.scale));
    return acc;
}

// A scalar below r as a + b x^2, a below x^2, four limbs each.
struct halves_t {
    uint32_t v[2][4];
};

// Quotient by x^2 with the reciprocal floor(2^256 / x^2): one too small at most.
__device__ __forceinline__ halves_t split(const fr_t& k) {
    const uint32_t mu[5] = {0xf6cfee2eu, 0x63f6e522u, 0xe01faaddu, 0x7c6becf1u, 1}, x2[4] = {0, 1, 0x1a402u, 0xac45a401u};
    uint32_t q[13] = {0};
    for (int i = 0; i < 8; i++) {
        uint64_t c = 0;
        for (int j = 0; j < 5; j++) {
            c += (uint64_t)k.v[i] * mu[j] + q[i + j];
            q[i + j] = (uint32_t)c;
            c >>= 32;
        }
        q[i + 5] = (uint32_t)c;
    }
    halves_t h;
    uint32_t a[5];
    for (int i = 0; i < 5; i++) a[i] = k.v[i];
    for (int i = 0; i < 4; i++) h.v[1][i] = q[8 + i];
    // a = k - q x^2, below 2 x^2: five limbs hold it.
    for (int i = 0; i < 4; i++) {
        uint64_t c = 0, borrow = 0;
        for (int j = 0; i + j < 5; j++) {
            c += j < 4 ? (uint64_t)h.v[1][i] * x2[j] : 0;
            uint64_t d = (uint64_t)a[i + j] - (uint32_t)c - borrow;
            a[i + j] = (uint32_t)d;
            borrow = d >> 63;
            c >>= 32;
        }
    }
    uint32_t less[5];
    uint64_t borrow = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t d = (uint64_t)a[i] - (i < 4 ? x2[i] : 0) - borrow;
        less[i] = (uint32_t)d;
        borrow = d >> 63;
    }
    uint64_t carry = borrow ? 0 : 1;
    for (int i = 0; i < 4; i++) {
        h.v[0][i] = borrow ? a[i] : less[i];
        carry += h.v[1][i];
        h.v[1][i] = (uint32_t)carry;
        carry >>= 32;
    }
    return h;
}

// Steps by a scalar of the lane's own, the same for all scalars but in their digits:
// 43 windows of three bits with odd digits for each half, and a correction where a
// half is even. With v = floor(a/2) + 2^128, a or a + 1 is the sum of
// (2 v_i - 1) 2^i over its 129 bits.
struct own_program {
    uint32_t v[2][6];
    bool even[2];

    __device__ __forceinline__ own_program(const fr_t& k) {
        halves_t h = split(k);
        for (int i = 0; i < 2; i++) {
            even[i] = !(h.v[i][0] & 1);
            for (int j = 0; j < 4; j++) v[i][j] = h.v[i][j] >> 1 | (j < 3 ? h.v[i][j + 1] << 31 : 0);
            v[i][4] = 1, v[i][5] = 0;
        }
    }

    __device__ __forceinline__ step_t step(uint32_t at) const {
        bool half = at & 1;
        if (at >= 86) return {0, at >= 88, even[half], half, true, 0};
        uint32_t bit = 3 * (42 - at / 2), w = bit / 32, s = bit % 32;
        uint64_t two = v[half][w] | (uint64_t)v[half][w + 1] << 32;
        int32_t d = 2 * (int32_t)(two >> s & 7) - 7;
        return {at > 0 && !half ? 3u : 0u, false, true, half, d < 0, (uint32_t)(d < 0 ? -d : d) / 2};
    }
};

// Steps that were written down, for lanes with the same scalar.
#define PROGRAM_STEPS 72

struct shared_program {
    const uint16_t* steps;

    __device__ __forceinline__ step_t step(uint32_t at) const {
        uint32_t w = steps[at];
        return {w >> 5 & 255, (w >> 15) != 0, (w >> 4 & 1) != 0, (w >> 3 & 1) != 0, (w >> 2 & 1) != 0, w & 3};
    }
};

// Signed digits 0, 1, 3, 5, 7 of a number of 128 bits, at least three zeros behind
// each other digit. Returns what the steps cost in units of a doubling's sixth.
__device__ __forceinline__ uint32_t digits_of(const uint32_t a[4], signed char d[130]) {
    uint64_t lo = a[0] | (uint64_t)a[1] << 32, hi = a[2] | (uint64_t)a[3] << 32, top = 0;
    uint32_t cost = 0;
    for (int i = 0; i < 130; i++) {
        int32_t v = 0;
        if (lo & 1) {
            v = (int32_t)(lo & 15);
            if (v > 8) v -= 16;
            uint64_t before = lo;
            lo -= (int64_t)v;
            if (v < 0 && lo < before) top += ++hi == 0;
            cost += 10;
        }
        d[i] = (signed char)v;
        lo = lo >> 1 | hi << 63;
        hi = hi >> 1 | top << 63;
        top >>= 1;
        if (lo | hi | top) cost += 3; // both halves share the doublings
    }
    return cost;
}

// Writes the steps of k: at most 66 additions, doublings after the last, the end.
__device__ __forceinline__ void write_steps(const signed char (*d)[130], bool flip, uint16_t* out) {
    uint32_t doublings = 0, n = 0;
    for (int i = 129; i >= 0; i--) {
        for (uint32_t half = 0; half < 2; half++) {
            int32_t v = d[half][i];
            if (v == 0) continue;
            uint32_t negative = (v < 0) != flip;
            out[n++] = (uint16_t)(doublings << 5 | 1 << 4 | half << 3 | negative << 2 | (uint32_t)(v < 0 ? -v : v) / 2);
            doublings = 0;
        }
        if (n > 0 && i > 0) doublings++;
    }
    if (doublings > 0) out[n++] = (uint16_t)(doublings << 5);
    out[n] = 1 << 15;
}

// The steps of a scalar in Montgomery form, those of its negative where they cost less.
__device__ __noinline__ void encode(const fr_t& scalar, uint16_t* out) {
    signed char d[2][2][130];
    uint32_t cost[2];
    for (int i = 0; i < 2; i++) {
        halves_t h = split(fr_from_mont(i ? fr_neg(scalar) : scalar));
        cost[i] = digits_of(h.v[0], d[i][0]) + digits_of(h.v[1], d[i][1]);
    }
    bool flip = cost[1] < cost[0];
    write_steps(d[flip], flip, out);
}
