// Powers and inverses in Fr, for what is computed once.
#pragma once
#include "../field/fr.cuh"

// x^e.
__device__ __noinline__ fr_t fr_pow(const fr_t& x, uint64_t e) {
    fr_t y = fr_set_one();
#pragma unroll 1
    for (int i = 63 - __builtin_clzl(e | 1); i >= 0; i--) {
        y = fr_mul(y, y);
        if (e >> i & 1) y = fr_mul(y, x);
    }
    return y;
}

// 1/x by Fermat, x^(r - 2); 0 for 0.
__device__ __noinline__ fr_t fr_inv(const fr_t& x) {
    const uint64_t e[4] = {0xfffffffeffffffff, 0x53bda402fffe5bfe, 0x3339d80809a1d805, 0x73eda753299d7d48};
    fr_t y = fr_set_one();
#pragma unroll
    for (int k = 3; k >= 0; k--) {
        uint64_t word = e[k];
#pragma unroll 1
        for (int i = 63; i >= 0; i--) {
            y = fr_mul(y, y);
            if (word >> i & 1) y = fr_mul(y, x);
        }
    }
    return y;
}
