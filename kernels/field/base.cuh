// Language base of every kernel: the CUDA keywords and special registers,
// declared by compiler attributes and builtins. Kernels are compiled by clang
// without the CUDA toolkit (-nocudainc -nocudalib), so nothing else is included.
#pragma once

#define __host__ __attribute__((host))
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
// Maximum threads of a block and the blocks an SM should hold.
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef int int32_t;
typedef unsigned long uint64_t;
typedef long int64_t;
typedef unsigned long size_t;
static_assert(sizeof(uint64_t) == 8 && sizeof(uint32_t) == 4, "LP64 only");

// A 16-byte access: the widest that one thread makes.
struct __attribute__((aligned(16))) u128_t {
    uint32_t x, y, z, w;
};

__device__ __forceinline__ uint32_t tid_x() { return __nvvm_read_ptx_sreg_tid_x(); }
__device__ __forceinline__ uint32_t ntid_x() { return __nvvm_read_ptx_sreg_ntid_x(); }
__device__ __forceinline__ uint32_t ctaid_x() { return __nvvm_read_ptx_sreg_ctaid_x(); }
__device__ __forceinline__ uint32_t ctaid_y() { return __nvvm_read_ptx_sreg_ctaid_y(); }
__device__ __forceinline__ uint32_t nctaid_x() { return __nvvm_read_ptx_sreg_nctaid_x(); }
__device__ __forceinline__ uint32_t lane_id() { return __nvvm_read_ptx_sreg_laneid(); }

// Index of the thread in a one-dimensional grid, and the grid's threads:
// the bounds of a grid-stride loop. 64 bits, because byte offsets pass 2^32.
__device__ __forceinline__ uint64_t global_id() { return (uint64_t)ctaid_x() * ntid_x() + tid_x(); }
__device__ __forceinline__ uint64_t global_size() { return (uint64_t)nctaid_x() * ntid_x(); }

typedef uint32_t uint4_v __attribute__((ext_vector_type(4)));

// A 16-byte load of memory that no thread writes during the kernel.
__device__ __forceinline__ u128_t load_const(const u128_t* p) {
    uint4_v t = __nvvm_ldg_ui4((const uint4_v*)p);
    return u128_t{t.x, t.y, t.z, t.w};
}

// Barrier over the warp, with its memory.
__device__ __forceinline__ void warp_barrier() { __nvvm_bar_warp_sync(0xffffffffu); }

// Barrier over the block.
__device__ __forceinline__ void block_sync() { __syncthreads(); }
