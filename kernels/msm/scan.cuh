// Sums over a block of threads.
#pragma once
#include "warp.cuh"

// Words of shared memory that a block scan needs.
#define SCAN_SHARED 33

// Exclusive sums over the block of one word a thread, and the total.
__device__ __forceinline__ uint32_t block_scan(uint32_t v, uint32_t* sums, uint32_t& total) {
    uint32_t incl = warp_scan(v), warp = tid_x() / 32;
    if (lane_id() == 31) sums[warp] = incl;
    block_sync();
    if (warp == 0) {
        uint32_t t = lane_id() < ntid_x() / 32 ? sums[lane_id()] : 0, u = warp_scan(t);
        sums[lane_id()] = u - t;
        if (lane_id() == 31) sums[32] = u;
    }
    block_sync();
    uint32_t r = incl - v + sums[warp];
    total = sums[32];
    block_sync();
    return r;
}
