// Points of the device in the form of a .params file. Callers:
// backend/cuda/setup_file.go.
//
// The inverse of key.cu: Montgomery form to big-endian coordinates, the second half
// of Fp2 first, no flags, since every point of a key is finite.
#include "../curve/g1.cuh"
#include "../curve/g2.cuh"
#include "../msm/warp.cuh"

// 48 big-endian bytes, as words of the file.
__device__ __forceinline__ void write_be(uint32_t* p, const fp_t& mont) {
    fp_t x = fp_from_mont(mont);
#pragma unroll
    for (int i = 0; i < 12; i++) {
        uint32_t w = x.v[11 - i];
        p[i] = w << 24 | (w << 8 & 0xff0000u) | (w >> 8 & 0xff00u) | w >> 24;
    }
}

__device__ __forceinline__ void write_point(uint32_t* p, const g1_affine& a) {
    write_be(p, a.x);
    write_be(p + 12, a.y);
}

__device__ __forceinline__ void write_point(uint32_t* p, const g2_affine& a) {
    write_be(p, a.x.c1);
    write_be(p + 12, a.x.c0);
    write_be(p + 24, a.y.c1);
    write_be(p + 36, a.y.c0);
}

// n points in order; infinite ones count.
template <class P>
__device__ __forceinline__ void write_all(const P* points, uint32_t n, uint32_t* raw, uint32_t* bad) {
    uint64_t i = global_id();
    if (i >= n) return;
    P a = point_load(points + i);
    if (is_infinity(a)) atomic_add(bad, 1);
    write_point(raw + i * (sizeof(P) / 4), a);
}

extern "C" __global__ void __launch_bounds__(128) file_g1(const g1_affine* points, uint32_t n, uint32_t* raw, uint32_t* bad) {
    write_all(points, n, raw, bad);
}

extern "C" __global__ void __launch_bounds__(128) file_g2(const g2_affine* points, uint32_t n, uint32_t* raw, uint32_t* bad) {
    write_all(points, n, raw, bad);
}
