// Operations of a warp and of memory that C++ has no words for. All warp
// operations are by all 32 lanes: callers keep their loops uniform.
#pragma once
#include "../field/base.cuh"

#define FULL_WARP 0xffffffffu

__device__ __forceinline__ uint32_t ballot(bool p) { return __nvvm_vote_ballot_sync(FULL_WARP, p); }
__device__ __forceinline__ void warp_sync() { __nvvm_bar_warp_sync(FULL_WARP); }

// The word of another lane: at a lane number, or at this lane's number XOR m.
__device__ __forceinline__ uint32_t shuffle(uint32_t v, uint32_t lane) {
    return (uint32_t)__nvvm_shfl_sync_idx_i32(FULL_WARP, (int)v, (int)lane, 31);
}

__device__ __forceinline__ uint32_t shuffle_xor(uint32_t v, uint32_t m) {
    return (uint32_t)__nvvm_shfl_sync_bfly_i32(FULL_WARP, (int)v, (int)m, 31);
}

// The word of the lane d below, or this lane's own where there is none.
__device__ __forceinline__ uint32_t shuffle_up(uint32_t v, uint32_t d) {
    return (uint32_t)__nvvm_shfl_sync_up_i32(FULL_WARP, (int)v, (int)d, 0);
}

__device__ __forceinline__ uint32_t atomic_add(uint32_t* p, uint32_t v) {
    return (uint32_t)__nvvm_atom_add_gen_i((int*)p, (int)v);
}

__device__ __forceinline__ void atomic_max(uint32_t* p, uint32_t v) { __nvvm_atom_max_gen_ui(p, v); }

__device__ __forceinline__ uint32_t popcount(uint32_t v) { return (uint32_t)__builtin_popcount(v); }

// Lanes below this one.
__device__ __forceinline__ uint32_t lanes_below() { return (1u << lane_id()) - 1; }

// The sum of v over the lanes up to and including this one.
__device__ __forceinline__ uint32_t warp_scan(uint32_t v) {
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
        uint32_t t = shuffle_up(v, d);
        if (lane_id() >= d) v += t;
    }
    return v;
}
