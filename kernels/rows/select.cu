// Members of a set moved together: the bits, or the elements, of the variables
// that have a point in a query. Callers: backend/cuda/rows_select.go.
//
// A set is a list of 32-bit masks with, for each, the number of members before it.
#include "../field/fr.cuh"
#include "../msm/warp.cuh"

// The bits of x at the places of m, moved to the low end.
__device__ __forceinline__ uint32_t compress(uint32_t x, uint32_t m) {
    if (m == 0xffffffffu) return x;
    x &= m;
    // Five rounds move every bit down by the number of gaps below it: in round i
    // those whose number has bit i (Hacker's Delight, 7-4).
    uint32_t k = ~m << 1;
#pragma unroll
    for (int i = 0; i < 5; i++) {
        uint32_t p = k ^ (k << 1);
        p ^= p << 2;
        p ^= p << 4;
        p ^= p << 8;
        p ^= p << 16;
        uint32_t v = p & m;
        m = (m ^ v) | (v >> (1 << i));
        uint32_t t = x & v;
        x = (x ^ t) | (t >> (1 << i));
        k &= ~p;
    }
    return x;
}

// The bits of the set's members; out must be zero.
extern "C" __global__ void __launch_bounds__(256)
    select_bits(const uint32_t* bits, const uint32_t* mask, const uint32_t* before, uint32_t words, uint32_t* out) {
    uint64_t i = global_id();
    if (i >= words) return;
    uint32_t x = compress(bits[i], mask[i]), at = before[i], shift = at & 31;
    if (x == 0) return;
    // Words of neighbours meet in one; their bits are distinct, so sums join them.
    atomic_add(out + (at >> 5), x << shift);
    if (shift && x >> (32 - shift)) atomic_add(out + (at >> 5) + 1, x >> (32 - shift));
}

// The elements of the set's members.
extern "C" __global__ void __launch_bounds__(256)
    select_elements(const fr_t* in, const uint32_t* mask, const uint32_t* before, uint32_t n, fr_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    uint32_t m = mask[i >> 5], b = i & 31;
    if (!(m >> b & 1)) return;
    fr_store(out + before[i >> 5] + popcount(m & ((1u << b) - 1)), fr_load(in + i));
}
