// A tile of a transform pass: 2048 field elements in a block of 256 threads, 8 a
// thread, as 2^D rows times 2048/2^D columns, and the steps done on it.
//
// Index algebra. A vector of n = 2^L elements is cut into digits. A pass over the
// digit of D = 3*STAGES bits at shift s transforms, for every line (choice of
// the other bits), the 2^D elements idx = hi*2^(s+D) + row*2^s + lo. Lines are
// numbered hi*2^s + lo, and a tile takes consecutive ones as its columns, so
// that a row of a tile is 128 contiguous bytes (D = 9, s >= 2).
//
// dif_* take natural rows and leave the frequency f of a line in row rev_D(f);
// dit_* take rows in that order and leave natural frequencies. Both use the same
// root w (the plan's); the inverse transform is the same sum with the index of
// one side negated, F(x)[-k] = sum x_i w^(-ik).
//
// A line is done in STAGES radix-8 steps. In a step with distance d a thread owns
// rows base + k d, k = 0..7; between steps the elements change hands in shared
// memory, in two halves of 16 bytes, so that a block needs 36 KiB.
//
// Values are in [0, 2r) between all steps and in device memory between passes;
// products accept any 256-bit factor (field/fr.cuh).
#pragma once
#include "../field/fr.cuh"

#define TILE 2048
#define THREADS 256
// Columns of a tile and the padding that keeps 16-byte accesses of a row pair in
// distinct banks: four columns need four slots after every eight rows.
#define COLUMNS(stages) (TILE >> (3 * (stages)))
#define PAD(stages) ((stages) == 3 ? 4 : 0)
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

// Hands elements from the owners in step `from` to those in step `to`. Steps 3
// and 0 of a 512-row line exchange inside a warp, so a barrier of the warp does.
template <int STAGES>
__device__ __forceinline__ void exchange(fr_t x[8], const rows_t<STAGES>& from, const rows_t<STAGES>& to, uint32_t c, u128_t* buf) {
    bool local = STAGES == 3 && from.dist * to.dist == 8;
    uint32_t a = from.slot(c), da = from.step(), b = to.slot(c), db = to.step();
#pragma unroll
    for (int h = 0; h < 2; h++) {
        if (local) warp_barrier();
        else block_sync();
#pragma unroll
        for (int k = 0; k < 8; k++) buf[a + k * da] = half_of(x[k], h);
        if (local) warp_barrier();
        else block_sync();
#pragma unroll
        for (int k = 0; k < 8; k++) set_half(x[k], h, buf[b + k * db]);
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

__device__ __forceinline__ void swap(fr_t& a, fr_t& b) {
    fr_t t = a;
    a = b, b = t;
}

// Bit reversal of the eight slots.
__device__ __forceinline__ void reverse8(fr_t x[8]) {
    swap(x[1], x[4]);
    swap(x[3], x[6]);
}

// The root and companion for entry (f, i) of a table with `width` entries a part.
__device__ __forceinline__ fr_t mul_root(const fr_t& x, const u128_t* table, uint32_t width, uint32_t f, uint32_t i) {
    const u128_t* p = table + (f * 4) * width + i;
    fr_t w, v;
    set_half(w, 0, load_const(p)), set_half(w, 1, load_const(p + width));
    set_half(v, 0, load_const(p + 2 * width)), set_half(v, 1, load_const(p + 3 * width));
    return fr_mul_shoup(x, w, v);
}

// Twiddles between two steps of a line: slot k holds frequency (or index)
// rev_3(k) and meets index (or frequency) i.
__device__ __forceinline__ void mul_roots(fr_t x[8], const roots_t* roots, uint32_t lg, uint32_t r) {
    const u128_t* table = lg == 6 ? roots->w512 : roots->w64;
    uint32_t width = 1u << lg, i = r & (width - 1);
    x[4] = mul_root(x[4], table, width, 1, i);
    x[2] = mul_root(x[2], table, width, 2, i);
    x[6] = mul_root(x[6], table, width, 3, i);
    x[1] = mul_root(x[1], table, width, 4, i);
    x[5] = mul_root(x[5], table, width, 5, i);
    x[3] = mul_root(x[3], table, width, 6, i);
    x[7] = mul_root(x[7], table, width, 7, i);
}

// A line's transform from natural rows (step with the largest distance) to
// reversed rows (distance 1). r is the thread's row group, c its column.
template <int STAGES>
__device__ __forceinline__ void dif_line(fr_t x[8], const roots_t* roots, uint32_t r, uint32_t c, u128_t* buf) {
#pragma unroll 1
    for (int lg = 3 * (STAGES - 1);; lg -= 3) {
        dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        reverse8(x);
        if (lg == 0) break;
        mul_roots(x, roots, lg, r);
        exchange<STAGES>(x, rows_t<STAGES>(r, lg), rows_t<STAGES>(r, lg - 3), c, buf);
    }
}

// The mirror image: reversed rows (distance 1) to natural rows.
template <int STAGES>
__device__ __forceinline__ void dit_line(fr_t x[8], const roots_t* roots, uint32_t r, uint32_t c, u128_t* buf) {
#pragma unroll 1
    for (int lg = 0;; lg += 3) {
        reverse8(x);
        dft8(x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]);
        if (lg == 3 * (STAGES - 1)) break;
        exchange<STAGES>(x, rows_t<STAGES>(r, lg), rows_t<STAGES>(r, lg + 3), c, buf);
        mul_roots(x, roots, lg + 3, r);
    }
}

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
