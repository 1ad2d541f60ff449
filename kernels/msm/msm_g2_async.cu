// The kernel of additions in G2 for cards with asynchronous copies (8.0 and up);
// ops_async.cuh explains it.
#include "../curve/g2.cuh"
#include "ops_async.cuh"

// Arguments and the memory behind words as for g2_ops; dynamic shared
// memory: stage_t<fp2_t>::bytes a warp.
extern "C" __global__ void __launch_bounds__(128, 2)
    g2_ops_async(const op_t* ops, uint32_t n, uint32_t k, const g2_affine* base, const g2_affine* slots,
                 g2_affine* out, fp2_t* prefix, op_shared* words, uint32_t exact) {
    op_list<fp2_t> l = {ops, n, {base, slots, (const g2_affine*)((char*)words + 256)}, out, exact};
    run_ops_async(l, k, prefix, words);
}
