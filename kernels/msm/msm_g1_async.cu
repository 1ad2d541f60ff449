// The kernel of additions in G1 for cards with asynchronous copies (8.0 and up);
// ops_async.cuh explains it.
#include "../curve/g1.cuh"
#include "ops_async.cuh"

// Arguments and the memory behind words as for g1_ops; dynamic shared
// memory: stage_t<fp_t>::bytes a warp.
extern "C" __global__ void __launch_bounds__(128, 3)
    g1_ops_async(const op_t* ops, uint32_t n, uint32_t k, const g1_affine* base, const g1_affine* slots,
                 g1_affine* out, fp_t* prefix, op_shared* words, uint32_t exact) {
    op_list<fp_t> l = {ops, n, {base, slots, (const g1_affine*)((char*)words + 256)}, out, exact};
    run_ops_async(l, k, prefix, words);
}
