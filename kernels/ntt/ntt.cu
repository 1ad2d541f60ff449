// Transforms over Fr: one kernel launch is one pass over a digit of the index
// (tile.cuh). Callers: backend/cuda/ntt.go.
#include "tile.cuh"

// Arguments of a pass. src and dst may be the same vector when negate is 0.
struct pass_t {
    const fr_t* src;
    fr_t* dst;
    const roots_t* roots;
    uint32_t lines;  // n / 2^bits
    uint32_t shift;  // of the digit
    uint32_t mask;   // n - 1
    uint32_t negate; // read index -idx mod n
    twiddle_t tw;
};

// Neighbouring lines of a digit at shift 0 are far apart, so threads with one row
// each from eight neighbouring rows (distance 8) reach memory in longer runs than
// those with eight rows of their own (distance 1): elements change hands once
// more there.
template <int STAGES>
__device__ __forceinline__ bool regroup(uint32_t shift) { return STAGES == 3 && shift == 0; }

template <int STAGES>
__device__ __forceinline__ uint32_t row_of(const rows_t<STAGES>& rows, int k, bool reversed) {
    return rows.base + (reversed ? rev3(k) : k) * rows.dist;
}

template <int STAGES, int TW>
__device__ __forceinline__ void load_rows(fr_t x[8], const pass_t& a, const place_t& at, const rows_t<STAGES>& rows, bool reversed) {
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = at.first + (row_of(rows, k, reversed) << a.shift);
        x[k] = fr_set_zero();
        if (at.inside) x[k] = fr_load(a.src + (a.negate ? (0 - idx) & a.mask : idx));
    }
    // A first pass of the small kernels has no twiddle: no table of powers.
    if (TW == TW_TABLE || (TW == TW_POWERS && a.tw.powers.low)) {
#pragma unroll
        for (int k = 0; k < 8; k++) x[k] = meet<TW>(x[k], (at.first + (row_of(rows, k, reversed) << a.shift)) & a.mask, a.tw);
    }
}

template <int STAGES>
__device__ __forceinline__ void store_rows(const fr_t x[8], const pass_t& a, const place_t& at, const rows_t<STAGES>& rows, bool reversed) {
    if (!at.inside) return;
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(a.dst + at.first + (row_of(rows, k, reversed) << a.shift), x[k]);
}

template <int STAGES, int TW, bool DIF>
__device__ __forceinline__ void pass(const pass_t& a) {
    __shared__ u128_t buf[SLOTS];
    const uint32_t cols = COLUMNS(STAGES);
    line_t<STAGES> line = {a.roots, buf, tid_x() / cols, tid_x() & (cols - 1)};
    place_t at = place_of(ctaid_x() * cols + line.c, a.lines, a.shift, 3 * STAGES);
    rows_t<STAGES> wide(line.r, 3 * (STAGES - 1)), near(line.r, 0);
    fr_t x[8];
    if constexpr (DIF) {
        load_rows<STAGES, TW>(x, a, at, wide, false);
        line.dif(x);
        if (regroup<STAGES>(a.shift)) {
            rows_t<STAGES> eight(line.r, 3);
            exchange<STAGES, REVERSE_FROM>(x, near, eight, line.c, buf);
            store_rows<STAGES>(x, a, at, eight, false);
        } else {
            store_rows<STAGES>(x, a, at, near, true);
        }
    } else {
        if (TW == TW_NONE && regroup<STAGES>(a.shift)) {
            rows_t<STAGES> eight(line.r, 3);
            load_rows<STAGES, TW>(x, a, at, eight, false);
            exchange<STAGES, REVERSE_TO>(x, eight, near, line.c, buf);
        } else {
            load_rows<STAGES, TW>(x, a, at, near, true);
        }
        line.dit(x);
        store_rows<STAGES>(x, a, at, wide, false);
    }
}

#define PASS(name, stages, tw, dif) \
    extern "C" __global__ void __launch_bounds__(THREADS, 2) name(pass_t a) { pass<stages, tw, dif>(a); }

PASS(ntt_dif9, 3, TW_NONE, true)
PASS(ntt_dif9_table, 3, TW_TABLE, true)
PASS(ntt_dif9_powers, 3, TW_POWERS, true)
PASS(ntt_dif6, 2, TW_POWERS, true)
PASS(ntt_dif3, 1, TW_POWERS, true)
PASS(ntt_dit9, 3, TW_NONE, false)
PASS(ntt_dit9_table, 3, TW_TABLE, false)
PASS(ntt_dit9_powers, 3, TW_POWERS, false)
PASS(ntt_dit6, 2, TW_POWERS, false)
PASS(ntt_dit3, 1, TW_POWERS, false)
