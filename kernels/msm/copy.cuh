// Copies from global to shared memory that pass no registers and are waited for by
// groups (cp.async). They need compute capability 8.0: modules that include this
// are loaded with their target raised (backend/cuda).
#pragma once
#include "warp.cuh"

// An address in shared memory.
typedef uint32_t shared_at;

__device__ __forceinline__ shared_at shared_address(const void* p) {
    shared_at a;
    asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(a) : "l"(p));
    return a;
}

__device__ __forceinline__ void copy16(shared_at to, const void* global) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}

// Makes this lane's stores to global memory come before copies that follow.
__device__ __forceinline__ void copy_fence() { asm volatile("membar.cta;" ::: "memory"); }

// Ends a group of copies. All but the last group have arrived after
// copy_wait_previous, for this lane; a warp_sync makes them visible to others.
__device__ __forceinline__ void copy_end_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
__device__ __forceinline__ void copy_wait_previous() { asm volatile("cp.async.wait_group 1;" ::: "memory"); }
