// Operations of a warp and of memory that C++ has no words for. All warp
// operations are by all 32 lanes: callers keep their loops uniform.
#pragma once
#include "../field/base.cuh"

// Written as asm, because the compiler ties its builtins to a newer PTX version
// than the target's default.
__device__ __forceinline__ uint32_t ballot(bool p) {
    uint32_t r;
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; vote.sync.ballot.b32 %0, q, 0xffffffff; }"
                 : "=r"(r)
                 : "r"((uint32_t)p));
    return r;
}

__device__ __forceinline__ void warp_sync() { asm volatile("bar.warp.sync 0xffffffff;" ::: "memory"); }

// The word of the lane whose number is this lane's XOR m.
__device__ __forceinline__ uint32_t shuffle_xor(uint32_t v, uint32_t m) {
    uint32_t r;
    asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(m));
    return r;
}

// The word of a lane.
__device__ __forceinline__ uint32_t shuffle(uint32_t v, uint32_t lane) {
    uint32_t r;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, 0xffffffff;" : "=r"(r) : "r"(v), "r"(lane));
    return r;
}

// The word of the lane d below, or this lane's own where there is none.
__device__ __forceinline__ uint32_t shuffle_up(uint32_t v, uint32_t d) {
    uint32_t r;
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;" : "=r"(r) : "r"(v), "r"(d));
    return r;
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

// The block's dynamic shared memory.
extern __shared__ uint64_t dynamic_shared_words[];
__device__ __forceinline__ void* dynamic_shared() { return dynamic_shared_words; }
