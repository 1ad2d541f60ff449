// The quotient polynomial of Groth16 on the device (backend/cuda/quotient.go):
// from the values a, b of two polynomials on the domain of n roots to the
// coefficients of h = (A B - C)/(x^n - 1), C being their product's values.
//
// With R = A B mod (x^n + 1) and C = A B mod (x^n - 1), h = (C - R)/2. R comes
// from the values on the coset g w^j, g^n = -1. All six transforms use the root w:
// three in a row give an inverse, one gives negated indices, so c is read at
// negated places and the values on the coset lie at negated places in between.
//
// The fused kernels serve n = 2^27 as three digits of nine bits; the others serve
// every size.
#include "tile.cuh"

// c[i] = a[-i] b[-i], in place of a first pass over c.
extern "C" __global__ void __launch_bounds__(THREADS) h_product_negated(fr_t* c, const fr_t* a, const fr_t* b, uint32_t n) {
    uint64_t i = global_id();
    if (i >= n) return;
    uint64_t j = (n - i) & (n - 1);
    fr_store(c + i, fr_mul(fr_load(a + j), fr_load(b + j)));
}

// x[i] y[i] into x, lazy. Both in [0, 2r): one is reduced.
extern "C" __global__ void __launch_bounds__(THREADS) h_product(fr_t* x, const fr_t* y, uint32_t n) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_store(x + i, fr_mul_lazy(fr_reduce(fr_load(y + i)), fr_load(x + i)));
}

// To the coset: position p holds n A_(-f), f = rev(p); the factor is -g^(-f)/n,
// but +1/n for f = 0, since A_(-f) belongs to x^(n-f) = -x^(-f) there.
// ginv: powers of 1/g; scale: -1/n.
extern "C" __global__ void __launch_bounds__(THREADS) h_to_coset(fr_t* x, uint32_t n, uint32_t lg, powers_t ginv, const fr_t* scale) {
    uint64_t p = global_id();
    if (p >= n) return;
    fr_t s = load_fr_const(scale);
    if (p == 0) s = fr_neg(s);
    s = fr_mul(s, power(ginv, reverse_bits((uint32_t)p, lg)));
    fr_store(x + p, fr_mul_lazy(s, fr_load(x + p)));
}

// h_k = (C_k - R_k g^(-k))/(2n) for the transforms c, u at positions rev(k), as
// integers in natural order. scale: 1/(2n), plain (not Montgomery), so that the
// product leaves the Montgomery form.
extern "C" __global__ void __launch_bounds__(THREADS) h_combine(fr_t* h, const fr_t* c, const fr_t* u, uint32_t n, uint32_t lg, powers_t ginv, const fr_t* scale) {
    uint64_t p = global_id();
    if (p >= n) return;
    uint32_t k = reverse_bits((uint32_t)p, lg);
    fr_t s = load_fr_const(scale);
    fr_t x = fr_mul(s, fr_load(c + p));
    fr_t y = fr_mul(fr_mul(s, power(ginv, k)), fr_load(u + p));
    fr_store(h + k, fr_sub(x, y));
}

// Arguments of the fused kernels; every pointer to n elements unless said.
struct fused_t {
    const fr_t* a;
    const fr_t* b;
    fr_t* x;           // the vector transformed in place, or the output
    const roots_t* roots;
    const fr_t* near;  // 2^18 twiddles on load, by idx mod 2^18
    const fr_t* scale; // 2^18 factors, [top digit][lowest digit]
    twiddle_t tw;
};

#define LG 27
#define DIGIT 9
#define LINES (1u << (LG - DIGIT))

// First pass of c: the product of a and b at negated places, DIF over the top
// digit, to x.
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_first(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    uint32_t c = tid_x() & 3, r = tid_x() >> 2;
    place_t at = place_of(ctaid_x() * 4 + c, LINES, 2 * DIGIT, DIGIT);
    rows_t<3> wide(r, 6), near(r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = at.first + ((wide.base + k * wide.dist) << (2 * DIGIT));
        uint32_t j = (0 - idx) & ((1u << LG) - 1);
        x[k] = fr_mul_lazy(fr_load(f.a + j), fr_load(f.b + j));
    }
    dif_line<3>(x, f.roots, r, c, buf);
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + at.first + ((near.base + k) << (2 * DIGIT)), x[k]);
}

// The turn: last pass of the transform to coefficients, the coset's factors, first
// pass of the transform to values on the coset; all on 512 neighbours.
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_turn(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    uint32_t c = tid_x() & 3, r = tid_x() >> 2;
    uint32_t line = ctaid_x() * 4 + c, first = line << DIGIT;
    rows_t<3> wide(r, 6), near(r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + wide.base + k * wide.dist;
        x[k] = fr_mul_lazy(load_fr_const(f.near + (idx & ((1u << 18) - 1))), fr_load(f.x + idx));
    }
    dif_line<3>(x, f.roots, r, c, buf);
    const fr_t* scale = f.scale + ((line >> DIGIT) << DIGIT) + near.base;
#pragma unroll
    for (int k = 0; k < 8; k++) x[k] = fr_mul_lazy(load_fr_const(scale + k), x[k]);
    // The coefficient of x^0 has the other sign (h_to_coset).
    if (first + near.base == 0) x[0] = fr_sub_lazy(fr_set_zero(), x[0]);
    dit_line<3>(x, f.roots, r, c, buf);
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + first + wide.base + k * wide.dist, x[k]);
}

// The middle of b's path: last pass to values on the coset, times a's values,
// first pass back; all on 512 elements of the top digit.
template <int TW>
__device__ __forceinline__ void middle(const fused_t& f) {
    __shared__ u128_t buf[SLOTS];
    uint32_t c = tid_x() & 3, r = tid_x() >> 2;
    uint32_t first = ctaid_x() * 4 + c;
    rows_t<3> wide(r, 6), near(r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + ((near.base + k) << (2 * DIGIT));
        x[k] = meet<TW>(fr_load(f.x + idx), idx, f.tw);
    }
    dit_line<3>(x, f.roots, r, c, buf);
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + ((wide.base + k * wide.dist) << (2 * DIGIT));
        x[k] = fr_mul_lazy(fr_reduce(fr_load(f.a + idx)), x[k]);
    }
    dif_line<3>(x, f.roots, r, c, buf);
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + first + ((near.base + k) << (2 * DIGIT)), x[k]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_middle_table(fused_t f) { middle<TW_TABLE>(f); }
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_middle_powers(fused_t f) { middle<TW_POWERS>(f); }

// Last pass of R with the subtraction: h in natural order, as integers. b holds
// C/(2n), plain, at the same positions as R; the four lines of a tile are
// those of four neighbouring k, so that natural places are written 128 bytes at
// a time. scale holds g^(-(f0 + 2^18 f2))/(2n), plain, at [top digit][row].
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_last(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    uint32_t c = tid_x() & 3, r = tid_x() >> 2;
    // Neighbouring blocks write neighbouring k.
    uint32_t mid = ctaid_x() >> 7, f0 = (ctaid_x() & 127) * 4 + c, top = reverse_bits(f0, DIGIT);
    uint32_t first = (top << 18) + (mid << 9), k0 = f0 + (reverse_bits(mid, DIGIT) << 9);
    rows_t<3> wide(r, 6), near(r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + wide.base + k * wide.dist;
        x[k] = fr_mul_lazy(load_fr_const(f.near + (idx & ((1u << 18) - 1))), fr_load(f.a + idx));
    }
    dif_line<3>(x, f.roots, r, c, buf);
    const fr_t* scale = f.scale + (top << DIGIT) + near.base;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        fr_t y = fr_mul_lazy(load_fr_const(scale + k), x[k]);
        fr_t d = fr_sub_lazy(fr_load(f.b + first + near.base + k), y);
        uint32_t out = k0 + (reverse_bits(near.base + k, DIGIT) << 18);
        fr_store(f.x + out, fr_reduce(d));
    }
}
