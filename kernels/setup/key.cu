// The points of a .params file in the order and form of the device. Callers:
// backend/cuda/key.go.
//
// The file has big-endian coordinates, the second half of Fp2 first. The device
// has gnark-crypto's memory, with the points of bits and of elements apart.
#include "../curve/g1.cuh"
#include "../curve/g2.cuh"
#include "../msm/warp.cuh"

// 48 big-endian bytes, as words from the file, to an integer. The flags of a finite
// uncompressed point are zero, so what is not below the modulus is refused.
__device__ __forceinline__ fp_t read_be(const uint32_t* p, uint32_t* bad) {
    fp_t x;
#pragma unroll
    for (int i = 0; i < 12; i++) {
        uint32_t w = p[11 - i];
        x.v[i] = w << 24 | (w << 8 & 0xff0000u) | (w >> 8 & 0xff00u) | w >> 24;
    }
    if (!fp_eq(fp_reduce(x), x)) *bad = 1;
    return fp_to_mont(x);
}

__device__ __forceinline__ void read_point(const uint32_t* p, g1_affine& a, uint32_t* bad) {
    a.x = read_be(p, bad);
    a.y = read_be(p + 12, bad);
}

__device__ __forceinline__ void read_point(const uint32_t* p, g2_affine& a, uint32_t* bad) {
    a.x.c1 = read_be(p, bad);
    a.x.c0 = read_be(p + 12, bad);
    a.y.c1 = read_be(p + 24, bad);
    a.y.c0 = read_be(p + 36, bad);
}

// A point of the file to its place; a bad one, or the pair 0, 0, counts.
template <class P>
__device__ __forceinline__ void convert(const uint32_t* raw, uint64_t from, P* to, uint32_t* bad) {
    P a;
    uint32_t wrong = 0;
    read_point(raw + from * (sizeof(P) / 4), a, &wrong);
    if (wrong || is_infinity(a)) atomic_add(bad, 1);
    point_store(to, a);
}

// n points in order.
template <class P>
__device__ __forceinline__ void convert_all(const uint32_t* raw, uint32_t n, P* out, uint32_t* bad) {
    uint64_t i = global_id();
    if (i < n) convert(raw, i, out + i, bad);
}

extern "C" __global__ void __launch_bounds__(128) key_g1(const uint32_t* raw, uint32_t n, g1_affine* out, uint32_t* bad) {
    convert_all(raw, n, out, bad);
}

extern "C" __global__ void __launch_bounds__(128) key_g2(const uint32_t* raw, uint32_t n, g2_affine* out, uint32_t* bad) {
    convert_all(raw, n, out, bad);
}

// The points of the aux variables 32 first ... 32 (first + words) - 1 that are in
// the set: member has them, before how many there are in the words before, and
// bits, bits_before the same for the members that are bits. raw begins with the
// first of them, which is number skip of the query's aux points.
template <class P>
__device__ __forceinline__ void place_aux(const uint32_t* raw, uint32_t skip, uint32_t first, uint32_t words, const uint32_t* member,
                                      const uint32_t* before, const uint32_t* bits, const uint32_t* bits_before, P* to_bits,
                                      P* to_elements, uint32_t* bad) {
    uint64_t i = global_id();
    if (i >= 32ul * words) return;
    uint64_t w = first + i / 32;
    uint32_t bit = 1u << (i & 31), below = bit - 1, m = member[w], k = bits[w];
    if (!(m & bit)) return;
    uint32_t nth = before[w] + popcount(m & below), nth_bit = bits_before[w] + popcount(k & below);
    convert(raw, nth - skip, k & bit ? to_bits + nth_bit : to_elements + (nth - nth_bit), bad);
}

extern "C" __global__ void __launch_bounds__(128)
    key_place_g1(const uint32_t* raw, uint32_t skip, uint32_t first, uint32_t words, const uint32_t* member, const uint32_t* before,
                 const uint32_t* bits, const uint32_t* bits_before, g1_affine* to_bits, g1_affine* to_elements, uint32_t* bad) {
    place_aux(raw, skip, first, words, member, before, bits, bits_before, to_bits, to_elements, bad);
}

extern "C" __global__ void __launch_bounds__(128)
    key_place_g2(const uint32_t* raw, uint32_t skip, uint32_t first, uint32_t words, const uint32_t* member, const uint32_t* before,
                 const uint32_t* bits, const uint32_t* bits_before, g2_affine* to_bits, g2_affine* to_elements, uint32_t* bad) {
    place_aux(raw, skip, first, words, member, before, bits, bits_before, to_bits, to_elements, bad);
}
