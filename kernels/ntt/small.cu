// The steps of a transform that are not the tuned pass: the one or two bits left
// when 3 does not divide log2 n, changes of representation, tables of twiddles
// and products of vectors. Callers: backend/cuda/ntt.go.
#include "tile.cuh"

// The lowest `bits` (1 or 2) bits of the index, one thread a line of 2 or 4
// neighbours; has_tw says that the twiddle of the previous pass is due (DIF: on
// load, the last pass; DIT: this is the first pass and none is).
struct tail_t {
    const fr_t* src;
    fr_t* dst;
    uint32_t lines;
    uint32_t mask;
    uint32_t negate;
    uint32_t has_tw;
    twiddle_t tw;
};

template <int BITS>
__device__ __forceinline__ void tail_load(fr_t* x, const tail_t& a, uint32_t first) {
#pragma unroll
    for (int k = 0; k < 1 << BITS; k++) {
        uint32_t idx = first + k;
        x[k] = fr_load(a.src + (a.negate ? (0 - idx) & a.mask : idx));
        if (a.has_tw) x[k] = meet<TW_POWERS>(x[k], idx, a.tw);
    }
}

__device__ __forceinline__ void dft2(fr_t& a, fr_t& b) {
    fr_t t = fr_sub_lazy(a, b);
    a = fr_add_lazy(a, b), b = t;
}

__device__ __forceinline__ void swap(fr_t& a, fr_t& b) {
    fr_t t = a;
    a = b, b = t;
}

// Slots 1 and 2 change places: the two-bit reversal of either side.
__device__ __forceinline__ void dft4(fr_t& x0, fr_t& x1, fr_t& x2, fr_t& x3) {
    dft2(x0, x2);
    dft2(x1, x3);
    x3 = fr_mul_i(x3);
    dft2(x0, x1);
    dft2(x2, x3);
}

template <int BITS, bool DIF>
__device__ __forceinline__ void tail(const tail_t& a) {
    uint64_t line = global_id();
    if (line >= a.lines) return;
    fr_t x[1 << BITS];
    tail_load<BITS>(x, a, line << BITS);
    if constexpr (BITS == 1) {
        dft2(x[0], x[1]);
    } else if constexpr (DIF) {
        // Outputs come out in the order 0, 2, 1, 3, which is reversed.
        dft4(x[0], x[1], x[2], x[3]);
    } else {
        swap(x[1], x[2]);
        dft4(x[0], x[1], x[2], x[3]);
        swap(x[1], x[2]);
    }
#pragma unroll
    for (int k = 0; k < 1 << BITS; k++) fr_store(a.dst + (line << BITS) + k, x[k]);
}

#define TAIL(name, bits, dif) \
    extern "C" __global__ void __launch_bounds__(THREADS) name(tail_t a) { tail<bits, dif>(a); }

TAIL(ntt_tail1_dif, 1, true)
TAIL(ntt_tail2_dif, 2, true)
TAIL(ntt_tail1_dit, 1, false)
TAIL(ntt_tail2_dit, 2, false)

// table[idx] = w^cross(idx) row[rev?(digit)]: the twiddles between two passes,
// times a factor that depends on the digit alone (row null: none).
extern "C" __global__ void __launch_bounds__(THREADS) ntt_table(fr_t* table, uint32_t n, cross_t cross, powers_t powers, const fr_t* row) {
    uint64_t idx = global_id();
    if (idx >= n) return;
    fr_t t = power(powers, cross_exponent(cross, (uint32_t)idx));
    if (row) t = fr_mul(t, load_fr_const(row + (idx >> cross.shift)));
    fr_store(table + idx, t);
}

// table[i 2^bits + j] = high[i] low[j].
extern "C" __global__ void __launch_bounds__(THREADS) ntt_outer(fr_t* table, uint32_t n, uint32_t bits, const fr_t* high, const fr_t* low) {
    uint64_t idx = global_id();
    if (idx >= n) return;
    fr_store(table + idx, fr_mul(load_fr_const(high + (idx >> bits)), load_fr_const(low + (idx & ((1u << bits) - 1)))));
}

// [0, 2r) to [0, r), in place.
extern "C" __global__ void __launch_bounds__(THREADS) ntt_canonical(fr_t* x, uint32_t n) {
    uint64_t idx = global_id();
    if (idx < n) fr_store(x + idx, fr_reduce(fr_load(x + idx)));
}
