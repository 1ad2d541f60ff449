// Scalars to signed digits, and digits sorted by bucket.
//
// Digits. A scalar s is replaced by r - s when that is smaller, the point being
// negated instead: |s| < r/2 leaves 254 bits, so 255 bits are cut into windows
// of equal widths (or one bit more) without a short top window. Adding the bias
// sum of 2^(pos_w + c_w - 1) makes window w of the sum equal d_w + 2^(c_w - 1)
// with d_w in [-2^(c_w-1), 2^(c_w-1)): no carry runs from window to window.
//
// Sort. First the digits are partitioned by their high bits: blocks count the
// digits of their ranges, a scan gives each block its place in every bin, and
// tiles are moved there. Then a block takes a whole bin and sorts it by the low
// bits, in a part of memory that the cache holds. Tiles are ranked with per-warp
// counters in shared memory, staged in order and written in runs.
//
// Where some bin is too large for a block (scalars that are nearly all equal,
// say), the whole row is sorted by two passes over all blocks instead, least
// significant half first; row flags, set from the counts, choose.
//
// Both ways are stable: the order within a bucket is the order of the points, so
// two runs give the same bits.
#include "../field/fr.cuh"
#include "scan.cuh"

// Elements of a thread: in a tile of the scatter, and in flight in the counting.
#ifndef SORT_ITEMS
#define SORT_ITEMS 16
#endif
#define HIST_ITEMS 8
#define SORT_MAX_BITS 12
#define SORT_MAX_BINS 4096
#define SORT_MAX_WARPS 16

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

// An element of the sort: the bucket above, the point's index with its sign below.
#define NO_ITEM 0xffffffffffffffffull

__device__ __forceinline__ uint32_t item_bin(uint64_t e, uint32_t shift, uint32_t bits) {
    return ((uint32_t)(e >> 32) >> shift) & ((1u << bits) - 1);
}

// Elements come from digits, where zeros are none, or from pairs. Loading is
// apart from decoding, so that many loads are under way at once.
struct from_digits {
    typedef uint32_t word;
    const uint32_t* in;
    __device__ __forceinline__ uint64_t decode(uint32_t d, uint32_t i) const {
        return d == 0 ? NO_ITEM : (uint64_t)((d & 0x7fffffffu) - 1) << 32 | i | (d & 0x80000000u);
    }
    static const uint32_t none = 0;
};

struct from_pairs {
    typedef uint64_t word;
    const uint64_t* in;
    __device__ __forceinline__ uint64_t decode(uint64_t e, uint32_t) const { return e; }
    static const uint64_t none = NO_ITEM;
};

// Elements first, first + step, ... below end.
template <int N, class IN>
__device__ __forceinline__ void sort_load(const IN& in, uint32_t first, uint32_t step, uint32_t end, uint64_t (&e)[N]) {
    typename IN::word w[N];
#pragma unroll
    for (int j = 0; j < N; j++) {
        uint32_t i = first + j * step;
        w[j] = i < end ? in.in[i] : IN::none;
    }
#pragma unroll
    for (int j = 0; j < N; j++) e[j] = in.decode(w[j], first + j * step);
}

// A range of elements: of a block, whole tiles in the order of blocks.
struct range_t {
    uint32_t from, to;
};

__device__ __forceinline__ range_t block_range(uint32_t count, uint32_t tile) {
    uint32_t tiles = (count + tile - 1) / tile, per = (tiles + nctaid_x() - 1) / nctaid_x();
    uint64_t a = (uint64_t)ctaid_x() * per * tile, b = a + (uint64_t)per * tile;
    range_t r = {a < count ? (uint32_t)a : count, b < count ? (uint32_t)b : count};
    return r;
}

// bins[b] += elements of the range in bin b. Zeroed and complete for the block.
template <class IN>
__device__ __forceinline__ void sort_count(const IN& in, range_t r, uint32_t shift, uint32_t bits,
                                           uint32_t* bins) {
    for (uint32_t b = tid_x(); b < 1u << bits; b += ntid_x()) bins[b] = 0;
    block_sync();
    for (uint32_t at = r.from; at < r.to; at += ntid_x() * HIST_ITEMS) {
        uint64_t e[HIST_ITEMS];
        sort_load(in, at + tid_x(), ntid_x(), r.to, e);
#pragma unroll
        for (int j = 0; j < HIST_ITEMS; j++)
            if (e[j] != NO_ITEM) atomic_add(&bins[item_bin(e[j], shift, bits)], 1);
    }
    block_sync();
}

// Lanes of the warp with the same bin as this one's element; 0 where no lane has
// an element.
__device__ __forceinline__ uint32_t match_bin(uint32_t bin, bool valid) {
    uint32_t same = ballot(valid);
    if (same == 0) return 0;
#pragma unroll
    for (int b = 0; b < SORT_MAX_BITS; b++) {
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
// the warp's counters. Two ranks a word.
__device__ __forceinline__ void sort_rank(const uint64_t (&e)[SORT_ITEMS], uint32_t (&rank)[SORT_ITEMS / 2],
                                          uint16_t* counters, uint32_t shift, uint32_t bits) {
#pragma unroll
    for (int j = 0; j < SORT_ITEMS; j++) {
        bool valid = e[j] != NO_ITEM;
        uint32_t bin = item_bin(e[j], shift, bits), peers = match_bin(bin, valid), before = peers & lanes_below();
        uint32_t old = valid ? counters[bin] : 0;
        uint32_t r = old + popcount(before);
        rank[j / 2] = j % 2 ? rank[j / 2] | r << 16 : r;
        warp_sync();
        if (valid && before == 0) counters[bin] = (uint16_t)(old + popcount(peers));
        warp_sync();
    }
}

// From counters of (warp, bin) to the offset of each within the tile's bin; then
// bins to their start in the tile, and delta from there to the output. Returns
// the elements of the tile.
__device__ __forceinline__ uint32_t sort_offsets(const sort_shared& s, uint32_t bins) {
    uint32_t warps = ntid_x() / 32;
    for (uint32_t c = tid_x(); c < bins / 2; c += ntid_x()) {
        uint32_t run = 0, v[SORT_MAX_WARPS];
#pragma unroll
        for (uint32_t k = 0; k < SORT_MAX_WARPS; k++) v[k] = k < warps ? s.counters[k * (bins / 2) + c] : 0;
#pragma unroll
        for (uint32_t k = 0; k < SORT_MAX_WARPS; k++) {
            if (k < warps) s.counters[k * (bins / 2) + c] = run;
            run += v[k];
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

// Where elements go: as pairs, as values alone, or as values and keys.
struct to_pairs {
    uint64_t* pairs;
    __device__ __forceinline__ void put(uint32_t at, uint64_t e) const { pairs[at] = e; }
};

struct to_values {
    uint32_t* values;
    __device__ __forceinline__ void put(uint32_t at, uint64_t e) const { values[at] = (uint32_t)e; }
};

struct to_both {
    uint32_t *values, *keys;
    __device__ __forceinline__ void put(uint32_t at, uint64_t e) const {
        values[at] = (uint32_t)e;
        keys[at] = (uint32_t)(e >> 32);
    }
};

template <class OUT>
__device__ __forceinline__ void sort_write(const sort_shared& s, uint32_t m, uint32_t shift, uint32_t bits,
                                           const OUT& out) {
#pragma unroll 4
    for (uint32_t p = tid_x(); p < m; p += ntid_x()) {
        uint64_t e = s.stage[p];
        out.put(s.delta[item_bin(e, shift, bits)] + p, e);
    }
}

// Moves the elements of a range to the places that head gives, tile by tile.
template <class IN, class OUT>
__device__ __forceinline__ void sort_move(const IN& in, range_t r, uint32_t shift, uint32_t bits,
                                          const sort_shared& s, const OUT& out) {
    uint32_t bins = 1u << bits, warps = ntid_x() / 32, tile = ntid_x() * SORT_ITEMS;
    uint32_t* words = s.counters + tid_x() / 32 * bins / 2;
    uint16_t* mine = (uint16_t*)words;
    for (uint32_t at = r.from; at < r.to; at += tile) {
        uint64_t e[SORT_ITEMS];
        uint32_t rank[SORT_ITEMS / 2];
        sort_load(in, at + tid_x() / 32 * 32 * SORT_ITEMS + lane_id(), 32, r.to, e);
        for (uint32_t c = tid_x(); c < warps * bins / 2; c += ntid_x()) s.counters[c] = 0;
        block_sync();
        sort_rank(e, rank, mine, shift, bits);
        block_sync();
        uint32_t m = sort_offsets(s, bins);
#pragma unroll
        for (int j = 0; j < SORT_ITEMS; j++) {
            uint32_t bin = item_bin(e[j], shift, bits);
            if (e[j] != NO_ITEM) s.stage[s.start[bin] + mine[bin] + (rank[j / 2] >> 16 * (j % 2) & 0xffff)] = e[j];
        }
        block_sync();
        sort_write(s, m, shift, bits, out);
        block_sync();
    }
}

// The tables of counts: table[row][bin * blocks + block], and the total last.
__device__ __forceinline__ uint64_t table_row(uint32_t bits) {
    return (uint64_t)ctaid_y() * (((uint64_t)nctaid_x() << bits) + 1);
}

template <class IN>
__device__ __forceinline__ void count_to_table(const IN& in, uint32_t count, uint32_t tile, uint32_t shift,
                                               uint32_t bits, uint32_t* table, uint32_t* bins) {
    sort_count(in, block_range(count, tile), shift, bits, bins);
    table += table_row(bits);
    for (uint32_t b = tid_x(); b < 1u << bits; b += ntid_x()) table[b * nctaid_x() + ctaid_x()] = bins[b];
}

template <class IN, class OUT>
__device__ __forceinline__ void move_by_table(const IN& in, uint32_t count, uint32_t shift, uint32_t bits,
                                              const uint32_t* table, const OUT& out) {
    sort_shared s = sort_layout(dynamic_shared(), 1u << bits);
    table += table_row(bits);
    for (uint32_t b = tid_x(); b < 1u << bits; b += ntid_x()) s.head[b] = table[b * nctaid_x() + ctaid_x()];
    sort_move(in, block_range(count, ntid_x() * SORT_ITEMS), shift, bits, s, out);
}

// Counts of digits. tile is the scatter's: its threads times 16. With flags, only
// the rows whose flag is set.
extern "C" __global__ void __launch_bounds__(1024)
    msm_count_digits(const uint32_t* digits, uint32_t n, uint32_t tile, uint32_t shift, uint32_t bits,
                     const uint32_t* flags, uint32_t* table) {
    __shared__ uint32_t bins[SORT_MAX_BINS];
    if (flags && !flags[ctaid_y()]) return;
    from_digits in = {digits + (uint64_t)ctaid_y() * n};
    count_to_table(in, n, tile, shift, bits, table, bins);
}

// flags[row] = whether some bin of the row's scanned table exceeds the limit.
extern "C" __global__ void __launch_bounds__(1024)
    msm_sort_flags(const uint32_t* table, uint32_t blocks, uint32_t bits, uint32_t limit, uint32_t* flags) {
    table += (uint64_t)ctaid_y() * (((uint64_t)blocks << bits) + 1);
    bool large = false;
    for (uint32_t b = tid_x(); b < 1u << bits; b += ntid_x())
        large = large || table[(b + 1) * blocks] - table[b * blocks] > limit;
    if (large) flags[ctaid_y()] = 1;
}

// Digits to pairs by a scanned table, for the rows whose flag equals when.
extern "C" __global__ void __launch_bounds__(512)
    msm_move_digits(const uint32_t* digits, uint32_t n, uint32_t shift, uint32_t bits, const uint32_t* flags,
                    uint32_t when, const uint32_t* table, uint64_t* pairs) {
    if (flags[ctaid_y()] != when) return;
    uint64_t row = (uint64_t)ctaid_y() * n;
    from_digits in = {digits + row};
    to_pairs out = {pairs + row};
    move_by_table(in, n, shift, bits, table, out);
}

// Bins to sorted values, and the range of every bucket: a block a bin at a time.
// blocks and high are those of the table.
extern "C" __global__ void __launch_bounds__(512)
    msm_sort_bins(const uint64_t* pairs, uint32_t n, uint32_t blocks, uint32_t high, uint32_t low,
                  const uint32_t* flags, const uint32_t* table, uint32_t buckets, uint32_t* values, uint32_t* begins,
                  uint32_t* sizes) {
    if (flags[ctaid_y()]) return;
    uint64_t row = (uint64_t)ctaid_y() * n;
    sort_shared s = sort_layout(dynamic_shared(), 1u << low);
    from_pairs in = {pairs + row};
    to_values out = {values + row};
    table += (uint64_t)ctaid_y() * (((uint64_t)blocks << high) + 1);
    for (uint32_t bin = ctaid_x(); bin < 1u << high; bin += nctaid_x()) {
        range_t r = {table[bin * blocks], table[(bin + 1) * blocks]};
        sort_count(in, r, 0, low, s.head);
        uint32_t per = ((1u << low) + ntid_x() - 1) / ntid_x(), b0 = tid_x() * per, sum = 0;
        for (uint32_t b = b0; b < b0 + per && b < 1u << low; b++) sum += s.head[b];
        uint32_t total, at = r.from + block_scan(sum, s.warp_sums, total);
        uint64_t q = (uint64_t)ctaid_y() * buckets + ((uint64_t)bin << low);
        for (uint32_t b = b0; b < b0 + per && b < 1u << low; b++) {
            uint32_t v = s.head[b];
            s.head[b] = at;
            begins[q + b] = (uint32_t)row + at;
            sizes[q + b] = v;
            at += v;
        }
        block_sync();
        sort_move(in, r, 0, low, s, out);
    }
}

// The slow way, for flagged rows: counts and moves of pairs over all blocks.
extern "C" __global__ void __launch_bounds__(1024)
    msm_count_pairs(const uint64_t* pairs, uint32_t n, const uint32_t* counts, uint32_t tile, uint32_t shift,
                    uint32_t bits, const uint32_t* flags, uint32_t* table) {
    __shared__ uint32_t bins[SORT_MAX_BINS];
    if (!flags[ctaid_y()]) return;
    from_pairs in = {pairs + (uint64_t)ctaid_y() * n};
    count_to_table(in, counts[ctaid_y()], tile, shift, bits, table, bins);
}

extern "C" __global__ void __launch_bounds__(512)
    msm_move_pairs(const uint64_t* pairs, uint32_t n, const uint32_t* counts, uint32_t shift, uint32_t bits,
                   const uint32_t* flags, const uint32_t* table, uint32_t* values, uint32_t* keys) {
    if (!flags[ctaid_y()]) return;
    uint64_t row = (uint64_t)ctaid_y() * n;
    from_pairs in = {pairs + row};
    to_both out = {values + row, keys + row};
    move_by_table(in, counts[ctaid_y()], shift, bits, table, out);
}

// Empty ranges for the buckets of flagged rows.
extern "C" __global__ void __launch_bounds__(256)
    msm_clear_ranges(const uint32_t* flags, uint32_t buckets, uint32_t* begins, uint32_t* ends) {
    if (!flags[ctaid_y()]) return;
    begins += (uint64_t)ctaid_y() * buckets, ends += (uint64_t)ctaid_y() * buckets;
    for (uint64_t q = global_id(); q < buckets; q += global_size()) begins[q] = ends[q] = 0;
}

// The range of every bucket of flagged rows, from sorted keys, after
// msm_clear_ranges.
extern "C" __global__ void __launch_bounds__(256)
    msm_bounds(const uint32_t* keys, uint32_t n, const uint32_t* counts, const uint32_t* flags, uint32_t buckets,
               uint32_t* begins, uint32_t* ends) {
    uint64_t row = ctaid_y();
    if (!flags[row]) return;
    uint32_t count = counts[row];
    keys += row * n;
    for (uint64_t i = global_id(); i < count; i += global_size()) {
        uint32_t k = keys[i], at = (uint32_t)(row * n + i);
        if (i == 0 || keys[i - 1] != k) begins[row * buckets + k] = at;
        if (i + 1 == count || keys[i + 1] != k) ends[row * buckets + k] = at + 1;
    }
}

// Ends to sizes, after msm_bounds.
extern "C" __global__ void __launch_bounds__(256)
    msm_ends_to_sizes(const uint32_t* flags, uint32_t buckets, const uint32_t* begins, uint32_t* ends) {
    if (!flags[ctaid_y()]) return;
    begins += (uint64_t)ctaid_y() * buckets, ends += (uint64_t)ctaid_y() * buckets;
    for (uint64_t q = global_id(); q < buckets; q += global_size()) ends[q] -= begins[q];
}
