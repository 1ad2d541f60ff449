// Kernels over points of G1; ops.cuh explains the additions.
#include "../curve/g1.cuh"
#include "ops.cuh"

// The words are followed, at 256 bytes, by a point at infinity.
extern "C" __global__ void __launch_bounds__(128, 3)
    g1_ops(const op_t* ops, uint32_t n, uint32_t k, const g1_affine* base, const g1_affine* slots, g1_affine* out,
           fp_t* prefix, op_shared* words, uint32_t exact) {
    op_list<fp_t> l = {ops, n, {base, slots, (const g1_affine*)((char*)words + 256)}, out, exact};
    run_ops(l, k, prefix, words);
}
