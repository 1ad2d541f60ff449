// Kernels over points of G2; ops.cuh explains the additions.
#include "../curve/g2.cuh"
#include "ops.cuh"

// The words are followed, at 256 bytes, by a point at infinity.
extern "C" __global__ void __launch_bounds__(128, 2)
    g2_ops(const op_t* ops, uint32_t n, uint32_t k, const g2_affine* base, const g2_affine* slots, g2_affine* out,
           fp2_t* prefix, op_shared* words, uint32_t exact) {
    op_list<fp2_t> l = {ops, n, {base, slots, (const g2_affine*)((char*)words + 256)}, out, exact};
    run_ops(l, k, prefix, words);
}
