// The quotient of a proof in values: what is summed over the products at points of
// the coset and over c = a b on the rows (backend/values derives it). Callers:
// backend/cuda/values_prove.go.
//
// Most c are 0, 1, -1 or 2: a row of a bit, a step of SHA-256. For those of the
// three that are not zero there is a mask each, a bit a row; the others are listed.
#include "../msm/warp.cuh"
#include "form.cuh"

enum kind_t { KIND_ZERO, KIND_ONE, KIND_MINUS, KIND_TWO, KIND_OTHER };

__device__ __forceinline__ kind_t kind_of(const fr_t& c) {
    fr_t one = fr_set_one();
    if (fr_is_zero(c)) return KIND_ZERO;
    if (fr_eq(c, one)) return KIND_ONE;
    if (fr_eq(c, fr_dbl(one))) return KIND_TWO;
    if (fr_eq(c, fr_neg(one))) return KIND_MINUS;
    return KIND_OTHER;
}

// c of row i, zero beyond the rows.
__device__ __forceinline__ fr_t product_of(const fr_t* a, const fr_t* b, uint32_t rows, uint64_t i) {
    return i < rows ? fr_mul(fr_load(a + i), fr_load(b + i)) : fr_set_zero();
}

// The masks of 1, -1 and 2, of words each, and the first capacity of the other rows
// in any order: their numbers and c as integers. *count, zero before, is how many
// others there are, listed or not. Whole warps.
extern "C" __global__ void __launch_bounds__(256)
    values_split(const fr_t* a, const fr_t* b, uint32_t rows, uint32_t words, uint32_t* masks, uint32_t capacity, uint32_t* count,
                 uint32_t* others, fr_t* scalars) {
    uint64_t i = global_id(), word = i / 32;
    fr_t c = product_of(a, b, rows, i);
    kind_t kind = kind_of(c);
    uint32_t one = ballot(kind == KIND_ONE), minus = ballot(kind == KIND_MINUS), two = ballot(kind == KIND_TWO);
    uint32_t other = ballot(kind == KIND_OTHER), at = 0;
    if (lane_id() == 0 && word < words) {
        masks[word] = one, masks[words + word] = minus, masks[2ul * words + word] = two;
        if (other) at = atomic_add(count, popcount(other));
    }
    at = shuffle(at, 0) + popcount(other & lanes_below());
    if (kind == KIND_OTHER && at < capacity) {
        others[at] = (uint32_t)i;
        fr_store(scalars + at, fr_from_mont(c));
    }
}

// The others in place, zero for the rows that are in a mask: for more of them than
// a list has room for.
extern "C" __global__ void __launch_bounds__(256) values_rest(const fr_t* a, const fr_t* b, uint32_t rows, fr_t* scalars) {
    uint64_t i = global_id();
    if (i >= rows) return;
    fr_t c = product_of(a, b, rows, i);
    fr_store(scalars + i, kind_of(c) == KIND_OTHER ? fr_from_mont(c) : fr_set_zero());
}

// The products at the points of the list, as integers. a and b are values on the
// coset, at negated places, in [0, 2r).
extern "C" __global__ void __launch_bounds__(256)
    values_products(const form_t* f, const fr_t* a, const fr_t* b, uint32_t points, fr_t* out) {
    uint64_t s = global_id();
    if (s >= points) return;
    uint32_t j = (0 - index_of(f, (uint32_t)s)) & ((1u << f->lg) - 1);
    fr_store(out + s, fr_from_mont(fr_mul(fr_reduce(fr_load(a + j)), fr_reduce(fr_load(b + j)))));
}

// Points of G1 by number, moved together; a thread 16 bytes.
extern "C" __global__ void __launch_bounds__(256)
    values_gather(const u128_t* points, const uint32_t* numbers, uint32_t count, u128_t* out) {
    const uint32_t pieces = 6;
    uint64_t i = global_id(), k = i / pieces;
    if (k < count) out[i] = points[(uint64_t)numbers[k] * pieces + i % pieces];
}
