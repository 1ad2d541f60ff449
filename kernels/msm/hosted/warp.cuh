// msm/warp.cuh for the host.
#pragma once
#include "../field/base.cuh"

inline uint32_t ballot(bool p) {
    const uint32_t* v = warp_exchange(p);
    uint32_t m = 0;
    for (int i = 0; i < 32; i++) m |= (v[i] & 1) << i;
    return m;
}
inline void warp_sync() { warp_exchange(0); }
inline uint32_t shuffle(uint32_t v, uint32_t lane) { return warp_exchange(v)[lane % 32]; }
inline uint32_t shuffle_xor(uint32_t v, uint32_t m) { return warp_exchange(v)[lane_id() ^ m]; }
inline uint32_t shuffle_up(uint32_t v, uint32_t d) {
    const uint32_t* w = warp_exchange(v);
    return lane_id() >= d ? w[lane_id() - d] : v;
}
inline uint32_t atomic_add(uint32_t* p, uint32_t v) {
    uint32_t old = *p;
    *p += v;
    return old;
}
inline void atomic_max(uint32_t* p, uint32_t v) { *p = *p < v ? v : *p; }
inline uint32_t popcount(uint32_t v) { return (uint32_t)__builtin_popcount(v); }
inline uint32_t lanes_below() { return (1u << lane_id()) - 1; }
inline uint32_t warp_scan(uint32_t v) {
    const uint32_t* w = warp_exchange(v);
    uint32_t s = 0;
    for (uint32_t i = 0; i <= lane_id(); i++) s += w[i];
    return s;
}
