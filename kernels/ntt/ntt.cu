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

template <int STAGES, int TW, bool DIF>
__device__ __forceinline__ void pass(const pass_t& a) {
    __shared__ u128_t buf[SLOTS];
    const uint32_t cols = COLUMNS(STAGES);
    uint32_t c = tid_x() & (cols - 1), r = tid_x() / cols;
    place_t at = place_of(ctaid_x() * cols + c, a.lines, a.shift, 3 * STAGES);
    rows_t<STAGES> wide(r, 3 * (STAGES - 1)), near(r, 0);
    const rows_t<STAGES>& in = DIF ? wide : near;
    const rows_t<STAGES>& out = DIF ? near : wide;
    fr_t x[8];
#pragma unroll
    for (int k = 0; k < 8; k++) {
        uint32_t idx = at.first + ((in.base + k * in.dist) << a.shift);
        x[k] = fr_set_zero();
        if (at.inside) x[k] = fr_load(a.src + (a.negate ? (0 - idx) & a.mask : idx));
    }
    // A first pass of the small kernels has no twiddle: no table of powers.
    if (TW == TW_TABLE || (TW == TW_POWERS && a.tw.powers.low)) {
#pragma unroll
        for (int k = 0; k < 8; k++) x[k] = meet<TW>(x[k], (at.first + ((in.base + k * in.dist) << a.shift)) & a.mask, a.tw);
    }
    if (DIF) dif_line<STAGES>(x, a.roots, r, c, buf);
    else dit_line<STAGES>(x, a.roots, r, c, buf);
    if (!at.inside) return;
#pragma unroll
    for (int k = 0; k < 8; k++) fr_store(a.dst + at.first + ((out.base + k * out.dist) << a.shift), x[k]);
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
