// Scalars to signed digits, and digits sorted by bucket.
//
// Digits. A scalar s is replaced by r - s when that is smaller, the point being
// negated instead: |s| < r/2 leaves 254 bits, so 255 bits are cut into windows
// of equal widths (or one bit more) without a short top window. Adding the bias
// sum of 2^(pos_w + c_w - 1) makes window w of the sum equal d_w + 2^(c_w - 1)
// with d_w in [-2^(c_w-1), 2^(c_w-1)): no carry runs from window to window.
//
// Sort. Two passes of a stable counting sort, least significant half first. A
// block owns a contiguous range of its window's elements, a tile is ranked with
// per-warp counters in shared memory, staged in bin order and written in runs.
// The order within a bucket is the order of the points: two runs give the same
// bits, and no distribution of digits is worse than another.
#include "../field/fr.cuh"
#include "scan.cuh"

// Elements of a thread: in a tile of the scatter, and in flight in the counting.
#define SORT_ITEMS 16
#define HIST_ITEMS 8
#define SORT_MAX_BINS 4096

// s < 2^256 to the words of |s| + bias; returns 1 when s was negated.
__device__ __forceinline__ uint32_t recode(fr_t& s, const uint64_t (&bias)[4]) {
    fr_t m = fr_neg(s);
    uint32_t less = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) less = m.v[i] < s.v[i] || (m.v[i] == s.v[i] && less);
    s = fr_select(less, m, s);
    uint64_t c = 0;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        c += (uint64_t)s.v[i] + (uint32_t)(bias[i / 2] >> (32 * (i & 1)));
        s.v[i] = (uint32_t)c;
        c >>= 32;
    }
    return less;
}

__device__ __forceinline__ void shift_right(fr_t& s, uint32_t c) {
#pragma unroll
    for (int i = 0; i < 7; i++) s.v[i] = (uint32_t)((((uint64_t)s.v[i + 1] << 32) | s.v[i]) >> c);
    s.v[7] >>= c;
}

__device__ __forceinline__ fr_t canonical(const fr_t* p, uint32_t mont) {
    fr_t s = fr_load(p);
    return mont ? fr_from_mont(s) : fr_reduce(fr_reduce(s));
}

// The magnitude and sign of the lowest window of width c, as in digits below.
__device__ __forceinline__ uint32_t low_digit(const fr_t& s, uint32_t c, uint32_t neg) {
    uint32_t half = 1u << (c - 1), v = s.v[0] & (2 * half - 1);
    if (v >= half) return (v - half) == 0 ? 0 : (v - half) | neg << 31;
    return (half - v) | (neg ^ 1) << 31;
}

// digits[w - first][i] for the windows first <= w < last: magnitude 0 ... 2^(c-1)
// with the sign in bit 31. The windows below narrow have width bits, the others
// one more.
extern "C" __global__ void __launch_bounds__(256)
    msm_recode(const fr_t* scalars, uint32_t n, uint32_t mont, uint32_t width, uint32_t narrow, uint32_t first,
               uint32_t last, uint64_t b0, uint64_t b1, uint64_t b2, uint64_t b3, uint32_t* digits) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_t s = canonical(scalars + i, mont);
    const uint64_t bias[4] = {b0, b1, b2, b3};
    uint32_t neg = recode(s, bias);
    for (uint32_t w = 0; w < last; w++) {
        uint32_t c = width + (w >= narrow);
        if (w >= first) digits[(uint64_t)(w - first) * n + i] = low_digit(s, c, neg);
        shift_right(s, c);
    }
}

// Fixed base: refs[i*16 + w] into a table with the multiple m of window w at
// (m-1)*16 + w; see tree.cu. Sixteen windows: fifteen of 16 bits, the first of 15.
extern "C" __global__ void __launch_bounds__(256)
    msm_fixed_refs(const fr_t* scalars, uint32_t n, uint32_t mont, uint32_t width, uint32_t narrow, uint64_t b0,
                   uint64_t b1, uint64_t b2, uint64_t b3, uint32_t* refs) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_t s = canonical(scalars + i, mont);
    const uint64_t bias[4] = {b0, b1, b2, b3};
    uint32_t neg = recode(s, bias);
    for (uint32_t w = 0; w < 16; w++) {
        uint32_t c = width + (w >= narrow), d = low_digit(s, c, neg);
        refs[i * 16 + w] = d == 0 ? 0xffffffffu : (((d & 0x7fffffffu) - 1) * 16 + w) | (d & 0x80000000u);
        shift_right(s, c);
    }
}

// An element of the sort: bucket, and the point's index with the sign on top.
struct item_t {
    uint32_t key, value;
    bool valid;
};

// Pass 0 reads digits and drops zeros, pass 1 reads the pairs of pass 0.
template <int PASS>
__device__ __forceinline__ item_t sort_load(const void* in, uint64_t row, uint32_t i, uint32_t count) {
    item_t e = {0, 0, i < count};
    if (!e.valid) return e;
    if (PASS == 0) {
        uint32_t d = ((const uint32_t*)in)[row + i];
        e.valid = d != 0;
        e.key = (d & 0x7fffffffu) - 1;
        e.value = i | (d & 0x80000000u);
        return e;
    }
    uint64_t p = ((const uint64_t*)in)[row + i];
    e.key = (uint32_t)(p >> 32);
    e.value = (uint32_t)p;
    return e;
}

// The range of elements of this block: whole tiles, in the order of blocks.
__device__ __forceinline__ void sort_range(uint32_t count, uint32_t tile, uint32_t& from, uint32_t& to) {
    uint32_t tiles = (count + tile - 1) / tile, per = (tiles + nctaid_x() - 1) / nctaid_x();
    uint64_t a = (uint64_t)ctaid_x() * per * tile, b = a + (uint64_t)per * tile;
    from = a < count ? (uint32_t)a : count;
    to = b < count ? (uint32_t)b : count;
}

// table[row][bin * blocks + block] = elements of the block's range in the bin.
// counts[row] is the number of elements in pass 1; in pass 0 it is n for all.
template <int PASS>
__device__ __forceinline__ void sort_hist(const void* in, uint32_t stride, const uint32_t* counts, uint32_t tile,
                                          uint32_t shift, uint32_t bits, uint32_t* table, uint32_t* bins) {
    uint32_t nb = 1u << bits, row = ctaid_y(), from, to;
    for (uint32_t b = tid_x(); b < nb; b += ntid_x()) bins[b] = 0;
    block_sync();
    sort_range(PASS == 0 ? stride : counts[row], tile, from, to);
    for (uint32_t at = from; at < to; at += ntid_x() * HIST_ITEMS) {
        item_t e[HIST_ITEMS];
#pragma unroll
        for (int j = 0; j < HIST_ITEMS; j++)
            e[j] = sort_load<PASS>(in, (uint64_t)row * stride, at + j * ntid_x() + tid_x(), to);
#pragma unroll
        for (int j = 0; j < HIST_ITEMS; j++)
            if (e[j].valid) atomic_add(&bins[(e[j].key >> shift) & (nb - 1)], 1);
    }
    block_sync();
    table += (uint64_t)row * (nb * nctaid_x() + 1);
    for (uint32_t b = tid_x(); b < nb; b += ntid_x()) table[b * nctaid_x() + ctaid_x()] = bins[b];
}

// Lanes of the warp with the same bin; 0 where no lane has an element.
__device__ __forceinline__ uint32_t match_bin(uint32_t bin, bool valid, uint32_t bits) {
    uint32_t same = ballot(valid);
    if (same == 0) return 0;
    for (uint32_t b = 0; b < bits; b++) {
        bool set = (bin >> b) & 1;
        uint32_t v = ballot(set);
        same &= set ? v : ~v;
    }
    return same;
}

// Shared memory of the scatter, cut from one allocation.
struct sort_shared {
    uint64_t* stage;     // tile
    uint32_t* counters;  // [warps][bins / 2], two 16-bit counters a word
    uint32_t *start, *delta, *head, *warp_sums;
};

__device__ __forceinline__ sort_shared sort_layout(void* mem, uint32_t bins) {
    sort_shared s;
    s.stage = (uint64_t*)mem;
    s.counters = (uint32_t*)(s.stage + ntid_x() * SORT_ITEMS);
    s.start = s.counters + ntid_x() / 32 * bins / 2;
    s.delta = s.start + bins;
    s.head = s.delta + bins;
    s.warp_sums = s.head + bins;
    return s;
}

// Ranks of the warp's elements among those of their bin, in order; counts stay in
// the warp's counters.
__device__ __forceinline__ void sort_rank(const item_t (&e)[SORT_ITEMS], uint32_t (&rank)[SORT_ITEMS],
                                          uint16_t* counters, uint32_t shift, uint32_t bits) {
#pragma unroll
    for (int j = 0; j < SORT_ITEMS; j++) {
        uint32_t bin = (e[j].key >> shift) & ((1u << bits) - 1);
        uint32_t peers = match_bin(bin, e[j].valid, bits), before = peers & lanes_below();
        uint32_t old = e[j].valid ? counters[bin] : 0;
        rank[j] = old + popcount(before);
        warp_sync();
        if (e[j].valid && before == 0) counters[bin] = (uint16_t)(old + popcount(peers));
        warp_sync();
    }
}

// From counters of (warp, bin) to the offset of each within the tile's bin; then
// bins to their start in the tile, and delta from there to the output.
__device__ __forceinline__ uint32_t sort_offsets(const sort_shared& s, uint32_t bins) {
    for (uint32_t c = tid_x(); c < bins / 2; c += ntid_x()) {
        uint32_t run = 0;
        for (uint32_t k = 0; k < ntid_x() / 32; k++) {
            uint32_t v = s.counters[k * (bins / 2) + c];
            s.counters[k * (bins / 2) + c] = run;
            run += v;
        }
        s.start[2 * c] = run & 0xffff;
        s.start[2 * c + 1] = run >> 16;
    }
    block_sync();
    uint32_t per = (bins + ntid_x() - 1) / ntid_x(), b0 = tid_x() * per, sum = 0;
    for (uint32_t b = b0; b < b0 + per && b < bins; b++) sum += s.start[b];
    uint32_t total, at = block_scan(sum, s.warp_sums, total);
    for (uint32_t b = b0; b < b0 + per && b < bins; b++) {
        uint32_t v = s.start[b];
        s.start[b] = at;
        s.delta[b] = s.head[b] - at;
        s.head[b] += v;
        at += v;
    }
    block_sync();
    return total;
}

template <int PASS>
__device__ __forceinline__ void sort_write(const sort_shared& s, uint32_t m, uint32_t shift, uint32_t bits,
                                           uint64_t row, void* out, uint32_t* keys) {
    for (uint32_t p = tid_x(); p < m; p += ntid_x()) {
        uint64_t e = s.stage[p];
        uint32_t key = (uint32_t)(e >> 32);
        uint64_t at = row + s.delta[(key >> shift) & ((1u << bits) - 1)] + p;
        if (PASS == 0) {
            ((uint64_t*)out)[at] = e;
        } else {
            ((uint32_t*)out)[at] = (uint32_t)e;
            keys[at] = key;
        }
    }
}

// Moves the elements of the block's range to their places; table is scanned.
template <int PASS>
__device__ __forceinline__ void sort_scatter(const void* in, uint32_t stride, const uint32_t* counts, uint32_t shift,
                                             uint32_t bits, const uint32_t* table, void* out, uint32_t* keys,
                                             void* mem) {
    uint32_t bins = 1u << bits, warps = ntid_x() / 32, warp = tid_x() / 32, tile = ntid_x() * SORT_ITEMS;
    uint32_t cells = bins * nctaid_x(), from, to;
    uint64_t row = (uint64_t)ctaid_y() * stride;
    sort_shared s = sort_layout(mem, bins);
    table += (uint64_t)ctaid_y() * (cells + 1);
    uint32_t count = PASS == 0 ? stride : counts[ctaid_y()];
    sort_range(count, tile, from, to);
    for (uint32_t b = tid_x(); b < bins; b += ntid_x()) s.head[b] = table[b * nctaid_x() + ctaid_x()];
    for (uint32_t at = from; at < to; at += tile) {
        for (uint32_t c = tid_x(); c < warps * bins / 2; c += ntid_x()) s.counters[c] = 0;
        item_t e[SORT_ITEMS];
        uint32_t rank[SORT_ITEMS];
#pragma unroll
        for (int j = 0; j < SORT_ITEMS; j++)
            e[j] = sort_load<PASS>(in, row, at + warp * 32 * SORT_ITEMS + 32 * j + lane_id(), count);
        block_sync();
        uint16_t* mine = (uint16_t*)(s.counters + warp * bins / 2);
        sort_rank(e, rank, mine, shift, bits);
        block_sync();
        uint32_t m = sort_offsets(s, bins);
#pragma unroll
        for (int j = 0; j < SORT_ITEMS; j++) {
            uint32_t bin = (e[j].key >> shift) & (bins - 1);
            if (e[j].valid) s.stage[s.start[bin] + mine[bin] + rank[j]] = (uint64_t)e[j].key << 32 | e[j].value;
        }
        block_sync();
        sort_write<PASS>(s, m, shift, bits, row, out, keys);
        block_sync();
    }
}

// tile is the scatter's: its threads times 16.
extern "C" __global__ void __launch_bounds__(1024)
    msm_hist0(const uint32_t* digits, uint32_t n, uint32_t tile, uint32_t shift, uint32_t bits, uint32_t* table) {
    __shared__ uint32_t bins[SORT_MAX_BINS];
    sort_hist<0>(digits, n, 0, tile, shift, bits, table, bins);
}

extern "C" __global__ void __launch_bounds__(1024)
    msm_hist1(const uint64_t* pairs, uint32_t n, const uint32_t* counts, uint32_t tile, uint32_t shift, uint32_t bits,
              uint32_t* table) {
    __shared__ uint32_t bins[SORT_MAX_BINS];
    sort_hist<1>(pairs, n, counts, tile, shift, bits, table, bins);
}

extern "C" __global__ void __launch_bounds__(512)
    msm_scatter0(const uint32_t* digits, uint32_t n, uint32_t shift, uint32_t bits, const uint32_t* table,
                 uint64_t* pairs) {
    sort_scatter<0>(digits, n, 0, shift, bits, table, pairs, 0, dynamic_shared());
}

extern "C" __global__ void __launch_bounds__(512)
    msm_scatter1(const uint64_t* pairs, uint32_t n, const uint32_t* counts, uint32_t shift, uint32_t bits,
                 const uint32_t* table, uint32_t* values, uint32_t* keys) {
    sort_scatter<1>(pairs, n, counts, shift, bits, table, values, keys, dynamic_shared());
}
