// Atomic addition of 64 bits.
#pragma once
#include "../field/base.cuh"

__device__ __forceinline__ void atomic_add64(uint64_t* p, uint64_t v) { __nvvm_atom_add_gen_ll((long long*)p, (long long)v); }
