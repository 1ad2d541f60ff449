// Kernels over points of G1; ops.cuh explains the additions.
#include "../curve/g1.cuh"
#include "ops.cuh"

// The counter of exceptions is followed, at 256 bytes, by a point at infinity.
extern "C" __global__ void __launch_bounds__(128, 3)
    g1_ops(const op_t* ops, uint32_t n, uint32_t k, const g1_affine* base, const g1_affine* slots, g1_affine* out,
           fp_t* prefix, uint32_t* exceptions) {
    op_list<fp_t> l = {ops, n, {base, slots, (const g1_affine*)(exceptions + 64)}, out};
    run_ops(l, k, prefix, exceptions);
}
