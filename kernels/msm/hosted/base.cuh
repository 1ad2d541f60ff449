// The kernels' language base for the host: field/base.cuh with every thread of a
// block a fiber. Blocks run one after another, so shared memory is static.
#pragma once
#include <stddef.h>
#include <stdint.h>

#define __host__
#define __device__
#define __global__
#define __shared__ static
#define __constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)

struct __attribute__((aligned(16))) u128_t {
    uint32_t x, y, z, w;
};

// What a fiber knows of its place, set by the scheduler before it runs.
struct place_t {
    uint32_t tid, ntid, block_x, block_y, blocks_x;
};
extern place_t place;
void block_sync();
// All 32 lanes of a warp meet and see each other's words.
const uint32_t* warp_exchange(uint32_t v);
void* dynamic_shared();

inline uint32_t tid_x() { return place.tid; }
inline uint32_t ntid_x() { return place.ntid; }
inline uint32_t ctaid_x() { return place.block_x; }
inline uint32_t ctaid_y() { return place.block_y; }
inline uint32_t nctaid_x() { return place.blocks_x; }
inline uint32_t lane_id() { return place.tid % 32; }
inline uint64_t global_id() { return (uint64_t)ctaid_x() * ntid_x() + tid_x(); }
inline uint64_t global_size() { return (uint64_t)nctaid_x() * ntid_x(); }
