// Every field operation as a kernel over vectors, for the self-test, and chains of
// multiplications for the rate of a device. Callers: backend/cuda/selftest.go.
#include "fp.cuh"
#include "fr.cuh"

// out[i] = op(a[i], b[i]); the numbers are the order of fieldOps in
// backend/cuda/selftest_field.go.
extern "C" __global__ void __launch_bounds__(128) fp_apply(uint32_t op, uint32_t n, const fp_t* a, const fp_t* b, fp_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    fp_t x = fp_load(a + i), y = fp_load(b + i), z = fp_set_zero();
    switch (op) {
    case 0: z = fp_add(x, y); break;
    case 1: z = fp_sub(x, y); break;
    case 2: z = fp_mul(x, y); break;
    case 3: z = fp_sqr(x); break;
    case 4: z = fp_neg(x); break;
    case 5: z = fp_reduce(fp_mul_lazy(x, y)); break;
    case 6: z = fp_to_mont(x); break;
    case 7: z = fp_from_mont(x); break;
    }
    fp_store(out + i, z);
}

extern "C" __global__ void __launch_bounds__(128) fr_apply(uint32_t op, uint32_t n, const fr_t* a, const fr_t* b, fr_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    fr_t x = fr_load(a + i), y = fr_load(b + i), z = fr_set_zero();
    switch (op) {
    case 0: z = fr_add(x, y); break;
    case 1: z = fr_sub(x, y); break;
    case 2: z = fr_mul(x, y); break;
    case 3: z = fr_sqr(x); break;
    case 4: z = fr_neg(x); break;
    case 5: z = fr_reduce(fr_mul_lazy(x, y)); break;
    case 6: z = fr_to_mont(x); break;
    case 7: z = fr_from_mont(x); break;
    case 8: z = fr_reduce(fr_add_lazy(x, y)); break;
    case 9: z = fr_reduce(fr_sub_lazy(x, y)); break;
    case 10: z = fr_reduce(fr_mul_i(x)); break;
    case 11: z = fr_reduce(fr_mul_c(x)); break;
    case 12: z = fr_reduce(fr_mul_ci(x)); break;
    case 13: {
        // b holds pairs: the factor, then its companion.
        fr_t w = fr_load(b + (i & ~1ul)), v = fr_load(b + (i | 1ul));
        z = fr_reduce(fr_mul_shoup(x, w, v));
        break;
    }
    }
    fr_store(out + i, z);
}

// Chains of `n` dependent operations a thread, as many threads as the grid has.
// The result is stored so that nothing is left out.
#define RATE(name, field, expr)                                                                       \
    extern "C" __global__ void __launch_bounds__(256, 2) name(uint32_t n, const field##_t* in, field##_t* out) { \
        field##_t x = field##_load(in + (global_id() & 1023)), y = field##_load(in + ((global_id() + 1) & 1023)); \
        _Pragma("unroll 1") for (uint32_t i = 0; i < n; i++) { x = expr; }                            \
        field##_store(out + (global_id() & 1023), x);                                                 \
    }

RATE(rate_fp_mul, fp, fp_mul(x, y))
RATE(rate_fp_sqr, fp, fp_sqr(fp_select(n != 0, x, y)))
RATE(rate_fr_mul, fr, fr_mul(x, y))
RATE(rate_fr_mul_lazy, fr, fr_mul_lazy(y, x))
RATE(rate_fr_shoup, fr, fr_mul_shoup(x, y, y))
RATE(rate_fr_const, fr, fr_mul_c(fr_select(n != 0, x, y)))
RATE(rate_fr_add, fr, fr_add_lazy(x, y))
