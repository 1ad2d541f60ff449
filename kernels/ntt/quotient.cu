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

#define COLS COLUMNS(3)

// The thread's way through its line of nine bits.
__device__ __forceinline__ line_t<3> line_of(const fused_t& f, u128_t* buf) {
    return line_t<3>{f.roots, buf, tid_x() / COLS, tid_x() & (COLS - 1)};
}

// x times the twiddle near[idx mod 2^18].
__device__ __forceinline__ fr_t meet_near(const fused_t& f, uint32_t idx, const fr_t& x) {
    return fr_mul_lazy(load_fr_const(f.near + (idx & ((1u << 18) - 1))), x);
}

// First pass of c: the product of a and b at negated places, DIF over the top
// digit, to x.
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_first(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    line_t<3> line = line_of(f, buf);
    uint32_t first = ctaid_x() * COLS + line.c;
    rows_t<3> wide(line.r, 6), near(line.r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + ((wide.base + k * wide.dist) << (2 * DIGIT));
        uint32_t j = (0 - idx) & ((1u << LG) - 1);
        x[k] = fr_mul_lazy(fr_load(f.a + j), fr_load(f.b + j));
    }
    line.dif(x);
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + first + ((near.base + rev3(k)) << (2 * DIGIT)), x[k]);
}

// The turn: last pass of the transform to coefficients, the coset's factors, first
// pass of the transform to values on the coset; all on 512 neighbours.
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_turn(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    line_t<3> line = line_of(f, buf);
    uint32_t number = ctaid_x() * COLS + line.c, first = number << DIGIT;
    rows_t<3> wide(line.r, 6), near(line.r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + wide.base + k * wide.dist;
        x[k] = meet_near(f, idx, fr_load(f.x + idx));
    }
    const fr_t* scale = f.scale + ((number >> DIGIT) << DIGIT) + near.base;
    bool constant = first + near.base == 0;
    line.dif_dit(x, [&](fr_t* x) {
#pragma unroll
        for (int k = 0; k < 8; k++) x[k] = fr_mul_lazy(load_fr_const(scale + rev3(k)), x[k]);
        // The coefficient of x^0 has the other sign (h_to_coset).
        if (constant) x[0] = fr_sub_lazy(fr_set_zero(), x[0]);
    });
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + first + wide.base + k * wide.dist, x[k]);
}

// The middle of b's path: last pass to values on the coset, times a's values,
// first pass back; all on 512 elements of the top digit.
template <int TW>
__device__ __forceinline__ void middle(const fused_t& f) {
    __shared__ u128_t buf[SLOTS];
    line_t<3> line = line_of(f, buf);
    uint32_t first = ctaid_x() * COLS + line.c;
    rows_t<3> wide(line.r, 6), near(line.r, 0);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + ((near.base + rev3(k)) << (2 * DIGIT));
        x[k] = meet<TW>(fr_load(f.x + idx), idx, f.tw);
    }
    const fr_t* other = f.a + first + (wide.base << (2 * DIGIT));
    line.dit_dif(x, [&](fr_t* x) {
#pragma unroll
        for (int k = 0; k < 8; k++) x[k] = fr_mul_lazy(fr_reduce(fr_load(other + ((k * 64u) << (2 * DIGIT)))), x[k]);
    });
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(f.x + first + ((near.base + rev3(k)) << (2 * DIGIT)), x[k]);
}

extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_middle_table(fused_t f) { middle<TW_TABLE>(f); }
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_middle_powers(fused_t f) { middle<TW_POWERS>(f); }

// Last pass of R with the subtraction: h in natural order, as integers. a holds R
// before its last pass, b holds C/(2n), plain, at the same positions; the lines of
// a tile are those of neighbouring k, so that natural places are written in
// rows. scale holds g^(-(f0 + 2^18 f2))/(2n), plain, at [top digit][row].
extern "C" __global__ void __launch_bounds__(THREADS, 2) h27_last(fused_t f) {
    __shared__ u128_t buf[SLOTS];
    line_t<3> line = line_of(f, buf);
    // Neighbouring blocks write neighbouring k.
    const uint32_t groups = 512 / COLS;
    uint32_t mid = ctaid_x() / groups, f0 = (ctaid_x() % groups) * COLS + line.c, top = reverse_bits(f0, DIGIT);
    uint32_t first = (top << 18) + (mid << 9), k0 = f0 + (reverse_bits(mid, DIGIT) << 9);
    rows_t<3> wide(line.r, 6), near(line.r, 0), eight(line.r, 3);
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = first + wide.base + k * wide.dist;
        x[k] = meet_near(f, idx, fr_load(f.a + idx));
    }
    line.dif(x);
    exchange<3, REVERSE_FROM>(x, near, eight, line.c, buf);
    const fr_t* scale = f.scale + (top << DIGIT) + eight.base;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        fr_t y = fr_mul_lazy(load_fr_const(scale + k * 8), x[k]);
        fr_t d = fr_sub_lazy(fr_load(f.b + first + eight.base + k * 8), y);
        uint32_t out = k0 + (reverse_bits(eight.base + k * 8, DIGIT) << 18);
        fr_store(f.x + out, fr_reduce(d));
    }
}
