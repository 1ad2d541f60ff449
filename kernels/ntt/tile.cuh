// A tile of a transform pass: 8 field elements a thread, as 2^D rows times
// TILE/2^D columns, and the steps done on it.
//
// Index algebra. A vector of n = 2^L elements is cut into digits. A pass over the
// digit of D = 3*STAGES bits at shift s transforms, for every line (choice of
// the other bits), the 2^D elements idx = hi*2^(s+D) + row*2^s + lo. Lines are
// numbered hi*2^s + lo, and a tile takes consecutive ones as its columns, so
// that a row of a tile is 128 contiguous bytes (D = 9, s >= 2).
//
// DIF takes natural rows and leaves the frequency f of a line in row rev_D(f); DIT
// takes rows in that order and leaves natural frequencies. Both use the same root
// w (the plan's); the inverse transform is the same sum with the index of one
// side negated, F(x)[-k] = sum x_i w^(-ik).
//
// A line is done in STAGES radix-8 steps. In a step with distance d a thread owns
// rows base + k d, k = 0..7. Registers hold indices and frequencies in natural
// order; where the order of rows is reversed, slot rev_3(k) is addressed.
// Between steps elements change hands in shared memory, in two halves of 16
// bytes each.
//
// Values are in [0, 2r) between all steps and in device memory between passes;
// products accept any 256-bit factor (field/fr.cuh).
#pragma once
#include "../field/fr.cuh"

#define THREADS 256
#define TILE (8 * THREADS)
// Columns of a tile, and the padding after every eight rows that keeps the
// 16-byte accesses of neighbouring threads in distinct banks.
#define COLUMNS(stages) (TILE >> (3 * (stages)))
#define PAD(stages) (COLUMNS(stages) < 8 ? COLUMNS(stages) : 0)
#define SLOTS (TILE + TILE / 8)

// Roots of the radix-8 steps with their companions, for twiddles w_512^(i f) and
// w_64^(i f): [f][part][i], parts 0-1 the root, 2-3 its companion. Made by
// backend/cuda.
struct roots_t {
    u128_t w512[8 * 4 * 64];
    u128_t w64[8 * 4 * 8];
};

// Where a thread's eight rows lie in a step.
template <int STAGES>
struct rows_t {
    uint32_t base, dist;
    __device__ __forceinline__ rows_t(uint32_t r, uint32_t lg) {
        dist = 1u << lg;
        base = ((r >> lg) << (lg + 3)) + (r & (dist - 1));
    }
    // Slot in shared memory of row base + k dist: linear in k.
    __device__ __forceinline__ uint32_t slot(uint32_t c) const {
        return base * COLUMNS(STAGES) + (base >> 3) * PAD(STAGES) + c;
    }
    __device__ __forceinline__ uint32_t step() const { return dist * COLUMNS(STAGES) + (dist >> 3) * PAD(STAGES); }
};

__device__ __forceinline__ u128_t half_of(const fr_t& a, int h) {
    return u128_t{a.v[4 * h], a.v[4 * h + 1], a.v[4 * h + 2], a.v[4 * h + 3]};
}

__device__ __forceinline__ void set_half(fr_t& a, int h, const u128_t& t) {
    a.v[4 * h] = t.x, a.v[4 * h + 1] = t.y, a.v[4 * h + 2] = t.z, a.v[4 * h + 3] = t.w;
}

// rev_3: the reversal of a slot's three bits.
__device__ __forceinline__ constexpr uint32_t rev3(uint32_t k) { return (k & 1) << 2 | (k & 2) | k >> 2; }

// Hands elements from the owners in one step to those in another. reverse says on
// which side register k means slot rev_3(k): DIF writes so, DIT reads so.
enum order_t { NATURAL, REVERSE_FROM, REVERSE_TO };

template <int STAGES, order_t ORDER>
__device__ __forceinline__ void exchange(fr_t x[8], const rows_t<STAGES>& from, const rows_t<STAGES>& to, uint32_t c, u128_t* buf) {
    // Eight neighbouring threads of a column share 64 rows, so distances 8 and 1
    // trade inside a warp.
    bool local = STAGES == 3 && from.dist < 64 && to.dist < 64;
    uint32_t a = from.slot(c), da = from.step(), b = to.slot(c), db = to.step();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (local) warp_barrier();
        else block_sync();
#pragma unroll
        for (int k = 0; k < 8; k++) buf[a + (ORDER == REVERSE_FROM ? rev3(k) : k) * da] = half_of(x[k], h);
        if (local) warp_barrier();
        else block_sync();
#pragma unroll
        for (int k = 0; k < 8; k++) set_half(x[k], h, buf[b + (ORDER == REVERSE_TO ? rev3(k) : k) * db]);
    }
}

// Eight-point transform, natural in and out: 4 products, 26 sums. With z of order
// 8, i = z^2 and z = c + c i: the odd half needs c (d1 - d3) and c i (d1 + d3)
// only.
__device__ __forceinline__ void dft8(fr_t& x0, fr_t& x1, fr_t& x2, fr_t& x3, fr_t& x4, fr_t& x5, fr_t& x6, fr_t& x7) {
    fr_t s0 = fr_add_lazy(x0, x4), d0 = fr_sub_lazy(x0, x4);
    fr_t s1 = fr_add_lazy(x1, x5), d1 = fr_sub_lazy(x1, x5);
    fr_t s2 = fr_add_lazy(x2, x6), d2 = fr_sub_lazy(x2, x6);
    fr_t s3 = fr_add_lazy(x3, x7), d3 = fr_sub_lazy(x3, x7);

    fr_t t0 = fr_add_lazy(s0, s2), t1 = fr_sub_lazy(s0, s2);
    fr_t t2 = fr_add_lazy(s1, s3), t3 = fr_mul_i(fr_sub_lazy(s1, s3));
    x0 = fr_add_lazy(t0, t2), x4 = fr_sub_lazy(t0, t2);
    x2 = fr_add_lazy(t1, t3), x6 = fr_sub_lazy(t1, t3);

    fr_t p = fr_mul_c(fr_sub_lazy(d1, d3)), q = fr_mul_ci(fr_add_lazy(d1, d3));
    fr_t m = fr_mul_i(d2);
    fr_t a0 = fr_add_lazy(d0, m), a1 = fr_sub_lazy(d0, m);
    fr_t b0 = fr_add_lazy(p, q), b1 = fr_sub_lazy(q, p);
    x1 = fr_add_lazy(a0, b0), x5 = fr_sub_lazy(a0, b0);
    x3 = fr_add_lazy(a1, b1), x7 = fr_sub_lazy(a1, b1);
}

// The root and companion for entry (f, i) of a table with `width` entries a part.
__device__ __forceinline__ fr_t mul_root(const fr_t& x, const u128_t* table, uint32_t width, uint32_t f, uint32_t i) {
    const u128_t* p = table + (f * 4) * width + i;
    fr_t w, v;
    set_half(w, 0, load_const(p)), set_half(w, 1, load_const(p + width));
    set_half(v, 0, load_const(p + 2 * width)), set_half(v, 1, load_const(p + 3 * width));
    return fr_mul_shoup(x, w, v);
}

// Twiddles between two steps of a line: register k holds frequency (or index) k
// and meets index (or frequency) i.
__device__ __forceinline__ void mul_roots(fr_t x[8], const roots_t* roots, uint32_t lg, uint32_t r) {
    const u128_t* table = lg == 6 ? roots->w512 : roots->w64;
    uint32_t width = 1u << lg, i = r & (width - 1);
#pragma unroll
    for (int k = 1; k < 8; k++) x[k] = mul_root(x[k], table, width, k, i);
}

// A number that the compiler cannot know, so that it does not peel the first turn
// of a loop: one copy of a step's code must serve all of them, or a kernel leaves
// the instruction cache (128 KB on sm_90; h27_turn lost a fifth, H200, 2026-11).
__device__ __forceinline__ int opaque(int v) {
    asm volatile("" : "+r"(v));
    return v;
}

// The way of a thread's elements through one line: r is its row group, c its
// column.
template <int STAGES>
struct line_t {
    const roots_t* roots;
    u128_t* buf;
    uint32_t r, c;

    __device__ __forceinline__ void dif_between(fr_t x[8], uint32_t lg) const {
        mul_roots(x, roots, lg, r);
        exchange<STAGES, REVERSE_FROM>(x, rows_t<STAGES>(r, lg), rows_t<STAGES>(r, lg - 3), c, buf);
    }
    __device__ __forceinline__ void dit_between(fr_t x[8], uint32_t lg) const {
        exchange<STAGES, REVERSE_TO>(x, rows_t<STAGES>(r, lg - 3), rows_t<STAGES>(r, lg), c, buf);
        mul_roots(x, roots, lg, r);
    }
    // From natural rows at the widest distance to frequencies at distance 1:
    // register k is row base + rev_3(k).
    __device__ __forceinline__ void dif(fr_t x[8]) const {
#pragma unroll 1
        for (int s = opaque(0); s < STAGES; s++) {
            if (s > 0) dif_between(x, 3 * (STAGES - s));
            dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        }
    }
    // The mirror image.
    __device__ __forceinline__ void dit(fr_t x[8]) const {
#pragma unroll 1
        for (int s = opaque(0); s < STAGES; s++) {
            if (s > 0) dit_between(x, 3 * s);
            dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        }
    }
    // DIF, fn on the frequencies at distance 1, DIT.
    template <typename F>
    __device__ __forceinline__ void dif_dit(fr_t x[8], F fn) const {
#pragma unroll 1
        for (int s = opaque(0); s < 2 * STAGES; s++) {
            if (s == STAGES) fn(x);
            else if (s > STAGES) exchange<STAGES, REVERSE_TO>(x, rows_t<STAGES>(r, 3 * (s - STAGES - 1)), rows_t<STAGES>(r, 3 * (s - STAGES)), c, buf);
            if (s != STAGES && s > 0) mul_roots(x, roots, s < STAGES ? 3 * (STAGES - s) : 3 * (s - STAGES), r);
            if (s > 0 && s < STAGES) exchange<STAGES, REVERSE_FROM>(x, rows_t<STAGES>(r, 3 * (STAGES - s)), rows_t<STAGES>(r, 3 * (STAGES - s) - 3), c, buf);
            dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        }
    }
    // DIT, fn on the frequencies at the widest distance, DIF.
    template <typename F>
    __device__ __forceinline__ void dit_dif(fr_t x[8], F fn) const {
#pragma unroll 1
        for (int s = opaque(0); s < 2 * STAGES; s++) {
            if (s == STAGES) fn(x);
            else if (s > 0 && s < STAGES) exchange<STAGES, REVERSE_TO>(x, rows_t<STAGES>(r, 3 * (s - 1)), rows_t<STAGES>(r, 3 * s), c, buf);
            if (s != STAGES && s > 0) mul_roots(x, roots, s < STAGES ? 3 * s : 3 * (2 * STAGES - s), r);
            if (s > STAGES) exchange<STAGES, REVERSE_FROM>(x, rows_t<STAGES>(r, 3 * (2 * STAGES - s)), rows_t<STAGES>(r, 3 * (2 * STAGES - s) - 3), c, buf);
            dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        }
    }
};

// Powers of one element by two tables: base^e = low[e mod 2^lgLow] *
// high[e >> lgLow], in Montgomery form.
struct powers_t {
    const fr_t* low;
    const fr_t* high;
    uint32_t lg_low;
};

__device__ __forceinline__ fr_t load_fr_const(const fr_t* p) {
    fr_t d;
    set_half(d, 0, load_const((const u128_t*)p)), set_half(d, 1, load_const((const u128_t*)p + 1));
    return d;
}

__device__ __forceinline__ fr_t power(const powers_t& t, uint32_t e) {
    fr_t lo = load_fr_const(t.low + (e & ((1u << t.lg_low) - 1)));
    fr_t hi = load_fr_const(t.high + (e >> t.lg_low));
    return fr_mul(lo, hi);
}

// rev_bits of the low bits of v.
__device__ __forceinline__ uint32_t reverse_bits(uint32_t v, uint32_t bits) { return bits ? __builtin_bitreverse32(v) >> (32 - bits) : 0; }

// The twiddle between two passes. The pass over `bits` bits at `shift` left
// frequency rev(digit) beside the lower index l: w^(rev(digit) l 2^lift), where w
// is the plan's root and 2^(shift + bits + lift) its order.
struct cross_t {
    uint32_t shift, bits, lift;
};

__device__ __forceinline__ uint32_t cross_exponent(const cross_t& t, uint32_t idx) {
    uint32_t digit = (idx >> t.shift) & ((1u << t.bits) - 1);
    uint32_t l = idx & ((1u << t.shift) - 1);
    return (reverse_bits(digit, t.bits) * l) << t.lift;
}

// A tile's place: the element index of the thread's column, without the row.
struct place_t {
    uint32_t first; // index of row 0
    bool inside;
};

__device__ __forceinline__ place_t place_of(uint32_t line, uint32_t lines, uint32_t shift, uint32_t bits) {
    place_t p;
    p.inside = line < lines;
    p.first = ((line >> shift) << (shift + bits)) + (line & ((1u << shift) - 1));
    return p;
}

// How twiddles of the previous pass are met on load.
#define TW_NONE 0
#define TW_TABLE 1  // table[idx & mask]
#define TW_POWERS 2 // two-level powers

struct twiddle_t {
    const fr_t* table;
    uint32_t mask;
    cross_t cross;
    powers_t powers;
};

// x times the twiddle of element idx; the twiddle goes first, because only the
// second factor may exceed r.
template <int TW>
__device__ __forceinline__ fr_t meet(const fr_t& x, uint32_t idx, const twiddle_t& tw) {
    if (TW == TW_TABLE) return fr_mul_lazy(load_fr_const(tw.table + (idx & tw.mask)), x);
    if (TW == TW_POWERS) return fr_mul_lazy(power(tw.powers, cross_exponent(tw.cross, idx)), x);
    return x;
}
