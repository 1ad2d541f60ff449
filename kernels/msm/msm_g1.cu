// Kernels over points of G1; ops.cuh explains the additions.
#include "../curve/g1.cuh"
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128, 3)
    g1_ops(const op_t* ops, uint32_t n, uint32_t k, const g1_affine* base, const g1_affine* slots, g1_affine* out,
           fp_t* prefix, uint32_t* exceptions) {
    op_source<fp_t> s = {base, slots};
    run_ops(ops, n, k, s, out, prefix, exceptions);
}
