// The values of the rows of a circuit for a compact assignment: a = A w, b = B w.
// c = a b is formed by the quotient. Callers: backend/cuda/rows.go.
//
// Nearly all terms are bits with small coefficients, so a row is first a sum of
// machine integers, and becomes a field element once, from a table of the multiples
// of one.
#include "program.cuh"

// What a row's terms have given so far: small + wide.
struct sum_t {
    fr_t wide;
    int32_t small;
    bool any; // wide is in use
};

struct witness_t {
    const uint32_t* bits;
    const fr_t *elements, *inputs;
};

__device__ __forceinline__ sum_t sum_zero() {
    sum_t s;
    s.wide = fr_set_zero();
    s.small = 0;
    s.any = false;
    return s;
}

__device__ __forceinline__ void sum_add(sum_t& s, const program_t* p, const witness_t& w, const instance_t& at, const term_t& t) {
    uint32_t ref = resolve(p, at, t.ref), i = ref & CLASS_INDEX;
    int32_t small = small_of(t);
    fr_t x;
    if (ref == REF_ONE || REF_CLASS(ref) == CLASS_BIT) {
        if (ref != REF_ONE && !(w.bits[i >> 5] >> (i & 31) & 1)) return;
        if (small != COEF_LARGE) {
            s.small += small;
            return;
        }
        x = fr_load(p->coefs + (t.coef & COEF_INDEX));
    } else {
        x = fr_load((REF_CLASS(ref) == CLASS_ELEMENT ? w.elements : w.inputs) + i);
        if (small == -1) x = fr_neg(x);
        else if (small != 1) x = fr_mul(fr_load(p->coefs + (t.coef & COEF_INDEX)), x);
    }
    s.wide = fr_add(s.wide, x);
    s.any = true;
}

__device__ __forceinline__ fr_t sum_value(const program_t* p, const sum_t& s) {
    fr_t x = fr_of_int(p, s.small);
    return s.any ? fr_add(x, s.wide) : x;
}

// One matrix of a slice: n terms a row, from terms on.
__device__ __forceinline__ fr_t slice_value(const program_t* p, const witness_t& w, const instance_t& at, const term_t* terms, uint32_t n) {
    sum_t s = sum_zero();
#pragma unroll 1
    for (uint32_t j = 0; j < n; j++) sum_add(s, p, w, at, terms[32 * j + lane_id()]);
    return sum_value(p, s);
}

// Lane i writes x to to[i], for the lanes below n. Two neighbours write one element
// together, so that every store fills whole sectors of 32 bytes.
__device__ __forceinline__ void store_lanes(fr_t* to, const fr_t& x, uint32_t n) {
    uint32_t odd = lane_id() & 1, first = lane_id() & ~1u;
    uint32_t even_row[4], odd_row[4]; // this lane's half of the two rows
#pragma unroll
    for (int i = 0; i < 4; i++) {
        uint32_t low = x.v[i], high = x.v[i + 4];
        uint32_t other = shuffle_xor(odd ? low : high, 1);
        even_row[i] = odd ? other : low;
        odd_row[i] = odd ? high : other;
    }
    u128_t* half = (u128_t*)(to + first) + odd;
    if (first < n) half[0] = u128_t{even_row[0], even_row[1], even_row[2], even_row[3]};
    if (first + 1 < n) half[2] = u128_t{odd_row[0], odd_row[1], odd_row[2], odd_row[3]};
}

// a and b of all rows in slices, one warp a slice of an instance. Rows whose
// combination is long get a zero here.
extern "C" __global__ void __launch_bounds__(256)
    rows_slices(const program_t* p, const uint32_t* bits, const fr_t* elements, const fr_t* inputs, fr_t* a, fr_t* b) {
    uint32_t unit = (uint32_t)(global_id() / 32);
    if (unit >= p->units) return;
    const template_t* t = template_of<&template_t::first_unit>(p, unit);
    uint32_t k = unit - t->first_unit, nth = k / t->slices;
    instance_t at = p->instances[t->instance + nth];
    slice_t s = p->slices[t->slice + (k - nth * t->slices)];
    witness_t w = {bits, elements, inputs};
    uint32_t rows = s.shape & 255, in_a = s.shape >> 8 & 255, in_b = s.shape >> 16 & 255;
    const term_t* terms = p->terms + s.first;
    uint64_t row = (uint64_t)at.row + s.row;
    store_lanes(a + row, slice_value(p, w, at, terms, in_a), rows);
    store_lanes(b + row, slice_value(p, w, at, terms + 32 * in_a, in_b), rows);
}

// The long combinations of A and B, after rows_slices.
extern "C" __global__ void __launch_bounds__(256)
    rows_longs(const program_t* p, const uint32_t* bits, const fr_t* elements, const fr_t* inputs, fr_t* a, fr_t* b) {
    uint32_t unit = (uint32_t)(global_id() / 32);
    if (unit >= p->long_units) return;
    const template_t* t = template_of<&template_t::first_long>(p, unit);
    uint32_t k = unit - t->first_long, nth = k / t->longs;
    instance_t at = p->instances[t->instance + nth];
    long_t l = p->longs[t->combination + (k - nth * t->longs)];
    if (l.matrix > 1) return;
    witness_t w = {bits, elements, inputs};
    sum_t s = sum_zero();
#pragma unroll 1
    for (uint32_t j = lane_id(); j < l.count; j += 32) sum_add(s, p, w, at, p->terms[l.first + j]);
    fr_t x = warp_sum(sum_value(p, s));
    if (lane_id() == 0) fr_store((l.matrix == 0 ? a : b) + (uint64_t)at.row + l.row, x);
}

// The rows after the circuit's: input i times zero, and zeros up to m.
extern "C" __global__ void __launch_bounds__(256)
    rows_tail(const fr_t* inputs, uint32_t count, uint64_t rows, uint64_t m, fr_t* a, fr_t* b) {
    for (uint64_t i = rows + global_id(); i < m; i += global_size()) {
        fr_store(a + i, i - rows < count ? fr_load(inputs + (i - rows)) : fr_set_zero());
        fr_store(b + i, fr_set_zero());
    }
}
