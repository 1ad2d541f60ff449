// Every formula of point.cuh and inv.cuh on arrays of points: for the self-test of
// a device and the tests against gnark-crypto.
#include "g1.cuh"
#include "g2.cuh"

// The results of one pair, in this order: p + q by a mixed addition, by a full
// one, 2p from affine, 2p from XYZZ, and three that start from coordinates with
// ZZ != 1: (p + q) + q mixed, (p + q) + (p + q), (p + q) + (-q) full.
#define CURVE_RESULTS 7

template <class F>
__device__ __forceinline__ void curve_check(const affine_t<F>* ps, const affine_t<F>* qs, uint32_t n,
                                            affine_t<F>* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    affine_t<F> p = point_load(ps + i), q = point_load(qs + i), r = q;
    r.y = fneg(r.y);
    out += i * CURVE_RESULTS;
#pragma unroll 1
    for (int k = 0; k < CURVE_RESULTS; k++) {
        xyzz_t<F> a = to_xyzz(p);
        if (k == 2) {
            a = xyzz_double(p);
        } else if (k == 3) {
            a = xyzz_double(a);
        } else if (k == 1) {
            xyzz_add(a, to_xyzz(q));
        } else {
            xyzz_add(a, q);
        }
        if (k == 4) xyzz_add(a, q);
        if (k == 5) xyzz_add(a, xyzz_t<F>(a));
        if (k == 6) xyzz_add(a, to_xyzz(r));
        point_store(out + k, to_affine(a));
    }
}

extern "C" __global__ void __launch_bounds__(64)
    g1_curve_check(const g1_affine* p, const g1_affine* q, uint32_t n, g1_affine* out) {
    curve_check(p, q, n, out);
}

extern "C" __global__ void __launch_bounds__(64)
    g2_curve_check(const g2_affine* p, const g2_affine* q, uint32_t n, g2_affine* out) {
    curve_check(p, q, n, out);
}
