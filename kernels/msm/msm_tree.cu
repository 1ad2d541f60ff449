// Lists of additions: trees inside buckets, over buckets and over plain lists.
//
// A bucket holds the references of its sorted segment. Level l pairs neighbours
// of the bucket's list: s_l = ceil(s / 2^l) elements give floor(s_l / 2)
// additions, and an odd last element moves up as it is. Results of all levels
// stay where they are ("slots": level l's begin after those of the levels
// before), so an element is either the result of an addition one level down or,
// for the last one, of a lower level or a point of the caller.
//
// Once a bucket is one point, the weighted sum over buckets q of (q+1) B_q is
// reduced by plain sums too. With q = hi 2^h + lo,
//   sum (q+1) B_q = 2^h sum hi R_hi + sum (lo+1) C_lo,
// where R and C are the sums over a row and a column of the array of buckets, and
// a sum weighted by an index is a sum over the index's bits of plain sums.
#include "ops.cuh"
#include "scan.cuh"

// Levels with their totals; the last place holds the largest bucket's size.
#define TREE_LEVELS 32

__device__ __forceinline__ uint32_t level_size(uint32_t size, uint32_t level) {
    return (uint32_t)(((uint64_t)size + (1ul << level) - 1) >> level);
}

// totals[l] += additions of level l over all buckets; the largest size goes last.
extern "C" __global__ void __launch_bounds__(256)
    msm_sizes(uint32_t buckets, const uint32_t* sizes, uint32_t* totals) {
    __shared__ uint32_t sums[TREE_LEVELS];
    if (tid_x() < TREE_LEVELS) sums[tid_x()] = 0;
    block_sync();
    uint32_t largest = 0;
    for (uint64_t q = global_id(); q - lane_id() < buckets; q += global_size()) {
        uint32_t size = q < buckets ? sizes[q] : 0;
        largest = size > largest ? size : largest;
        for (uint32_t l = 0; ballot(level_size(size, l) > 1); l++) {
            uint32_t s = warp_scan(level_size(size, l) / 2);
            if (lane_id() == 31) atomic_add(&sums[l], s);
        }
    }
    atomic_max(&sums[TREE_LEVELS - 1], largest);
    block_sync();
    if (tid_x() < TREE_LEVELS - 1 && sums[tid_x()]) atomic_add(&totals[tid_x()], sums[tid_x()]);
    if (tid_x() == TREE_LEVELS - 1) atomic_max(&totals[tid_x()], sums[tid_x()]);
}

// Exclusive scans of rows of words, in three launches: sums of chunks, scan of
// the sums, scan of the chunks. With sizes set, row l is the additions of level
// l of the buckets, computed from their sizes. A row of the output is one longer
// than the input's: the total stands last, and in totals when that is given.
#define SCAN_ITEMS 16

struct scan_source {
    const uint32_t* in;
    uint32_t len, sizes;
};

__device__ __forceinline__ uint32_t scan_load(const scan_source& s, uint32_t i) {
    if (i >= s.len) return 0;
    if (s.sizes) return level_size(s.in[i], ctaid_y()) / 2;
    return s.in[(uint64_t)ctaid_y() * (s.len + 1) + i];
}

// The thread's items as exclusive sums within the chunk of its block.
__device__ __forceinline__ uint32_t scan_chunk(const scan_source& s, uint32_t (&v)[SCAN_ITEMS], uint32_t at,
                                               uint32_t* shared) {
    uint32_t sum = 0, total;
#pragma unroll
    for (int j = 0; j < SCAN_ITEMS; j++) {
        v[j] = sum;
        sum += scan_load(s, at + j);
    }
    uint32_t base = block_scan(sum, shared, total);
#pragma unroll
    for (int j = 0; j < SCAN_ITEMS; j++) v[j] += base;
    return total;
}

extern "C" __global__ void __launch_bounds__(256)
    msm_scan_sums(const uint32_t* in, uint32_t len, uint32_t sizes, uint32_t* sums) {
    __shared__ uint32_t shared[SCAN_SHARED];
    scan_source s = {in, len, sizes};
    uint32_t v[SCAN_ITEMS], at = (ctaid_x() * ntid_x() + tid_x()) * SCAN_ITEMS;
    uint32_t total = scan_chunk(s, v, at, shared);
    if (tid_x() == 0) sums[ctaid_y() * nctaid_x() + ctaid_x()] = total;
}

// One block a row: sums of chunks to exclusive sums.
extern "C" __global__ void __launch_bounds__(1024) msm_scan_top(uint32_t* sums, uint32_t chunks) {
    __shared__ uint32_t shared[SCAN_SHARED];
    uint32_t run = 0, total;
    sums += (uint64_t)ctaid_y() * chunks;
    for (uint32_t at = 0; at < chunks; at += ntid_x()) {
        uint32_t i = at + tid_x(), v = i < chunks ? sums[i] : 0;
        uint32_t x = block_scan(v, shared, total);
        if (i < chunks) sums[i] = run + x;
        run += total;
    }
}

extern "C" __global__ void __launch_bounds__(256)
    msm_scan_apply(const uint32_t* in, uint32_t len, uint32_t sizes, const uint32_t* sums, uint32_t* out,
                   uint32_t* totals) {
    __shared__ uint32_t shared[SCAN_SHARED];
    scan_source s = {in, len, sizes};
    uint32_t v[SCAN_ITEMS], at = (ctaid_x() * ntid_x() + tid_x()) * SCAN_ITEMS;
    uint32_t base = sums[ctaid_y() * nctaid_x() + ctaid_x()], total = scan_chunk(s, v, at, shared);
    uint64_t row = (uint64_t)ctaid_y() * (len + 1);
#pragma unroll
    for (int j = 0; j < SCAN_ITEMS; j++)
        if (at + j < len) out[row + at + j] = base + v[j];
    if (tid_x() == 0 && ctaid_x() == nctaid_x() - 1) {
        out[row + len] = base + total;
        if (totals) totals[ctaid_y()] = base + total;
    }
}

// What the buckets of a group of windows look like.
struct tree_t {
    const uint32_t *values, *begins, *sizes;
    const uint32_t* offsets;  // [level][buckets + 1]: first addition of the bucket
    const uint32_t* totals;   // [level] additions, then [level] first slot
    uint32_t buckets;
};

// The first slot of each level, behind the totals.
extern "C" __global__ void __launch_bounds__(32) msm_tree_bases(uint32_t* totals) {
    uint32_t v = lane_id() < TREE_LEVELS - 1 ? totals[lane_id()] : 0;
    totals[TREE_LEVELS + lane_id()] = warp_scan(v) - v;
}

// Element j of bucket q's list at a level.
__device__ __forceinline__ uint32_t tree_element(const tree_t& t, uint32_t level, uint32_t q, uint32_t j) {
    uint32_t size = t.sizes[q];
    for (; level > 0; level--) {
        uint32_t s = level_size(size, level - 1);
        if (j < s / 2)
            return REF_SLOT | (t.totals[TREE_LEVELS + level - 1] + t.offsets[(uint64_t)(level - 1) * (t.buckets + 1) + q] + j);
        j = s - 1;
    }
    return t.values[t.begins[q] + j];
}

// The last q in [lo, hi] with offsets[q] <= p.
__device__ __forceinline__ uint32_t last_not_above(const uint32_t* offsets, uint32_t lo, uint32_t hi, uint32_t p) {
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo + 1) / 2;
        if (offsets[mid] <= p) {
            lo = mid;
        } else {
            hi = mid - 1;
        }
    }
    return lo;
}

#define TREE_OPS 1024
#define TREE_WINDOW 2048

// The additions of one level where buckets are of a size: 2^lanes lanes do
// TREE_EACH buckets side by side, so that loads of several are under way.
#define TREE_EACH 4

extern "C" __global__ void __launch_bounds__(256)
    msm_tree_even(const uint32_t* values, const uint32_t* begins, const uint32_t* sizes, const uint32_t* offsets,
                  const uint32_t* totals, uint32_t buckets, uint32_t level, uint32_t lanes, op_t* ops) {
    tree_t t = {values, begins, sizes, offsets, totals, buckets};
    uint64_t i = global_id(), q0 = (i >> lanes) * TREE_EACH;
    uint32_t first = (uint32_t)i & ((1u << lanes) - 1), count[TREE_EACH], at[TREE_EACH], most = 0;
#pragma unroll
    for (int u = 0; u < TREE_EACH; u++) {
        count[u] = q0 + u < buckets ? level_size(sizes[q0 + u], level) / 2 : 0;
        at[u] = q0 + u < buckets ? offsets[(uint64_t)level * (buckets + 1) + q0 + u] : 0;
        most = count[u] > most ? count[u] : most;
    }
    for (uint32_t j = first; j < most; j += 1u << lanes) {
        op_t op[TREE_EACH];
#pragma unroll
        for (int u = 0; u < TREE_EACH; u++)
            if (j < count[u]) {
                op[u].a = tree_element(t, level, (uint32_t)q0 + u, 2 * j);
                op[u].b = tree_element(t, level, (uint32_t)q0 + u, 2 * j + 1);
            }
#pragma unroll
        for (int u = 0; u < TREE_EACH; u++)
            if (j < count[u]) ops[at[u] + j] = op[u];
    }
}

// The additions of one level, in order of buckets. A block makes 1024; it finds
// the buckets of its first and last by search and, as long as they are not too
// far apart, keeps the offsets between in shared memory.
extern "C" __global__ void __launch_bounds__(256)
    msm_tree_ops(const uint32_t* values, const uint32_t* begins, const uint32_t* sizes, const uint32_t* offsets,
                 const uint32_t* totals, uint32_t buckets, uint32_t level, op_t* ops) {
    __shared__ uint32_t ends[2], window[TREE_WINDOW];
    tree_t t = {values, begins, sizes, offsets, totals, buckets};
    const uint32_t* row = offsets + (uint64_t)level * (buckets + 1);
    uint32_t n = totals[level], first = ctaid_x() * TREE_OPS;
    if (first >= n) return;
    uint32_t last = first + TREE_OPS < n ? first + TREE_OPS - 1 : n - 1;
    if (tid_x() < 2) ends[tid_x()] = last_not_above(row, 0, buckets - 1, tid_x() ? last : first);
    block_sync();
    uint32_t lo = ends[0], hi = ends[1];
    bool near = hi - lo < TREE_WINDOW;
    if (near)
        for (uint32_t i = tid_x(); i <= hi - lo; i += ntid_x()) window[i] = row[lo + i];
    block_sync();
    for (uint32_t p = first + tid_x(); p <= last; p += ntid_x()) {
        uint32_t q = near ? lo + last_not_above(window, 0, hi - lo, p) : last_not_above(row, lo, hi, p);
        uint32_t j = 2 * (p - (near ? window[q - lo] : row[q]));
        op_t op = {tree_element(t, level, q, j), tree_element(t, level, q, j + 1)};
        ops[p] = op;
    }
}

// refs[q] = the one point that bucket q has become after all levels.
extern "C" __global__ void __launch_bounds__(256)
    msm_tree_refs(const uint32_t* values, const uint32_t* begins, const uint32_t* sizes, const uint32_t* offsets,
                  const uint32_t* totals, uint32_t buckets, uint32_t levels, uint32_t* refs) {
    tree_t t = {values, begins, sizes, offsets, totals, buckets};
    for (uint64_t q = global_id(); q < buckets; q += global_size())
        refs[q] = sizes[q] ? tree_element(t, levels, (uint32_t)q, 0) : REF_NONE;
}

// Rows and columns of the arrays of 2^log buckets of several windows, one halving
// each: additions 0 ... m-1 join neighbours (rows), m ... 2m-1 join the halves of
// each array (columns), m = windows 2^(log-1). Inputs are refs, or slots from
// base on: first those of the rows, then those of the columns.
extern "C" __global__ void __launch_bounds__(256)
    msm_reduce_ops(const uint32_t* refs, uint32_t base, uint32_t m, uint32_t log, op_t* ops) {
    uint32_t p = (uint32_t)global_id();
    if (p >= 2 * m) return;
    uint32_t c = p - m, half = 1u << (log - 1), at = (c & ~(half - 1)) + c;
    uint32_t a = p < m ? 2 * p : at, b = p < m ? 2 * p + 1 : at + half;
    if (refs == 0 && p >= m) a += 2 * m, b += 2 * m;
    op_t op = {refs ? refs[a] : REF_SLOT | (base + a), refs ? refs[b] : REF_SLOT | (base + b)};
    ops[p] = op;
}

// Copies: additions of infinity.
extern "C" __global__ void __launch_bounds__(256) msm_copy_ops(const uint32_t* refs, uint32_t n, op_t* ops) {
    uint32_t p = (uint32_t)global_id();
    if (p >= n) return;
    op_t op = {refs[p], REF_NONE};
    ops[p] = op;
}

// The first halving of sums over the points of an array of 2^log whose index has
// bit k set, or clear: sums[2i] = first slot of the array, sums[2i+1] = 2k + set.
extern "C" __global__ void __launch_bounds__(256)
    msm_bit_ops(const uint32_t* sums, uint32_t count, uint32_t log, op_t* ops) {
    uint32_t p = (uint32_t)global_id(), half = log - 2;
    if (p >= count << half) return;
    const uint32_t* s = sums + 2 * (p >> half);
    uint32_t e = 2 * (p & ((1u << half) - 1)), k = s[1] / 2, bit = (s[1] & 1) << k, low = (1u << k) - 1;
    uint32_t a = ((e & ~low) << 1) | bit | (e & low);
    e++;
    uint32_t b = ((e & ~low) << 1) | bit | (e & low);
    op_t op = {REF_SLOT | (s[0] + a), REF_SLOT | (s[0] + b)};
    ops[p] = op;
}

// Neighbours of n slots from base on, or of a list of references; an odd last one
// is copied.
extern "C" __global__ void __launch_bounds__(256)
    msm_pair_ops(const uint32_t* refs, uint32_t base, uint32_t n, op_t* ops) {
    uint32_t p = (uint32_t)global_id(), i = 2 * p;
    if (i >= n) return;
    op_t op = {refs ? refs[i] : REF_SLOT | (base + i), REF_NONE};
    if (i + 1 < n) op.b = refs ? refs[i + 1] : REF_SLOT | (base + i + 1);
    ops[p] = op;
}

// The table of a fixed base, [multiple - 1][16 windows] slots: rows m ... 2m-1
// are the rows 0 ... m-1 plus row m-1.
extern "C" __global__ void __launch_bounds__(256) msm_table_ops(uint32_t m, op_t* ops) {
    uint32_t p = (uint32_t)global_id();
    if (p >= 16 * m) return;
    op_t op = {REF_SLOT | p, REF_SLOT | (16 * (m - 1) + (p & 15))};
    ops[p] = op;
}

// Bits to the list of set positions: words of 32 bits, lowest first, in chunks of
// 256; counts[chunk], scanned between the launches.
__device__ __forceinline__ uint32_t bits_word(const uint32_t* words, uint64_t n, uint64_t w) {
    if (32 * w >= n) return 0;
    uint32_t v = words[w];
    return n - 32 * w < 32 ? v & ((1u << (n - 32 * w)) - 1) : v;
}

extern "C" __global__ void __launch_bounds__(256) msm_bits_count(const uint32_t* words, uint32_t n, uint32_t* counts) {
    __shared__ uint32_t shared[SCAN_SHARED];
    uint32_t total;
    block_scan(popcount(bits_word(words, n, global_id())), shared, total);
    if (tid_x() == 0) counts[ctaid_x()] = total;
}

extern "C" __global__ void __launch_bounds__(256)
    msm_bits_list(const uint32_t* words, uint32_t n, const uint32_t* offsets, uint32_t* refs) {
    __shared__ uint32_t shared[SCAN_SHARED];
    uint32_t total, v = bits_word(words, n, global_id());
    uint32_t at = offsets[ctaid_x()] + block_scan(popcount(v), shared, total);
    for (; v; v &= v - 1) refs[at++] = (uint32_t)global_id() * 32 + (uint32_t)__builtin_ctz(v);
}
