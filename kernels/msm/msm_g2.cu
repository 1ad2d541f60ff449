// Kernels over points of G2; ops.cuh explains the additions.
#include "../curve/g2.cuh"
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128, 2)
    g2_ops(const op_t* ops, uint32_t n, uint32_t k, const g2_affine* base, const g2_affine* slots, g2_affine* out,
           fp2_t* prefix, uint32_t* exceptions) {
    op_source<fp2_t> s = {base, slots};
    run_ops(ops, n, k, s, out, prefix, exceptions);
}
