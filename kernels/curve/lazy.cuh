// Fp modulo 2p: values in [0, 2p), two for every element, in Montgomery form.
//
// A Montgomery product of a and b is below p + ab/R, and p/R is 0.1016: it is
// below 2p without the final subtraction whenever ab <= 8 p^2. So products take
// factors below 4p and 2p, and sums and differences are reduced modulo 2p, or not
// at all where a product follows. p has three spare bits, so 8p is below R.
//
// Each function is one asm statement: the compiler does not model the carry flag.
#pragma once
#include "../field/fp.cuh"

// The low words of p, 2p and 3p.
#define LAZY_P1 0xffffaaabu
#define LAZY_P2 0xffff5556u
#define LAZY_P3 0xffff0001u

// a - b modulo 2p, in [0, 2p), for a and b in [0, 2p].
__device__ __forceinline__ fp_t lazy_sub(const fp_t& a, const fp_t& b) {
    fp_t d;
    asm("{\n\t"
        ".reg .u32 m; .reg .u32 t<12>;\n\t"
        "sub.cc.u32 %0, %12, %24;\n\t"
        "subc.cc.u32 %1, %13, %25;\n\t"
        "subc.cc.u32 %2, %14, %26;\n\t"
        "subc.cc.u32 %3, %15, %27;\n\t"
        "subc.cc.u32 %4, %16, %28;\n\t"
        "subc.cc.u32 %5, %17, %29;\n\t"
        "subc.cc.u32 %6, %18, %30;\n\t"
        "subc.cc.u32 %7, %19, %31;\n\t"
        "subc.cc.u32 %8, %20, %32;\n\t"
        "subc.cc.u32 %9, %21, %33;\n\t"
        "subc.cc.u32 %10, %22, %34;\n\t"
        "subc.cc.u32 %11, %23, %35;\n\t"
        "subc.u32 m, 0, 0;\n\t"
        "and.b32 t0, m, 0xffff5556;\n\t"
        "and.b32 t1, m, 0x73fdffff;\n\t"
        "and.b32 t2, m, 0x62a7ffff;\n\t"
        "and.b32 t3, m, 0x3d57fffd;\n\t"
        "and.b32 t4, m, 0xed61ec48;\n\t"
        "and.b32 t5, m, 0xce61a541;\n\t"
        "and.b32 t6, m, 0xe70a257e;\n\t"
        "and.b32 t7, m, 0xc8ee9709;\n\t"
        "and.b32 t8, m, 0x869759ae;\n\t"
        "and.b32 t9, m, 0x96374f6c;\n\t"
        "and.b32 t10, m, 0x72ffcd34;\n\t"
        "and.b32 t11, m, 0x340223d4;\n\t"
        "add.cc.u32 %0, %0, t0;\n\t"
        "addc.cc.u32 %1, %1, t1;\n\t"
        "addc.cc.u32 %2, %2, t2;\n\t"
        "addc.cc.u32 %3, %3, t3;\n\t"
        "addc.cc.u32 %4, %4, t4;\n\t"
        "addc.cc.u32 %5, %5, t5;\n\t"
        "addc.cc.u32 %6, %6, t6;\n\t"
        "addc.cc.u32 %7, %7, t7;\n\t"
        "addc.cc.u32 %8, %8, t8;\n\t"
        "addc.cc.u32 %9, %9, t9;\n\t"
        "addc.cc.u32 %10, %10, t10;\n\t"
        "addc.u32 %11, %11, t11;\n\t"
        "}"
        : "=&r"(d.v[0]), "=&r"(d.v[1]), "=&r"(d.v[2]), "=&r"(d.v[3]), "=&r"(d.v[4]), "=&r"(d.v[5]), "=&r"(d.v[6]), "=&r"(d.v[7]), "=&r"(d.v[8]), "=&r"(d.v[9]), "=&r"(d.v[10]), "=&r"(d.v[11])
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]), "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(a.v[8]), "r"(a.v[9]), "r"(a.v[10]), "r"(a.v[11]), "r"(b.v[0]), "r"(b.v[1]), "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]), "r"(b.v[7]), "r"(b.v[8]), "r"(b.v[9]), "r"(b.v[10]), "r"(b.v[11]));
    return d;
}

// a + b modulo 2p, in [0, 2p).
__device__ __forceinline__ fp_t lazy_add(const fp_t& a, const fp_t& b) {
    fp_t d;
    asm("{\n\t"
        ".reg .u32 m; .reg .pred q; .reg .u32 t<12>;\n\t"
        "add.cc.u32 %0, %12, %24;\n\t"
        "addc.cc.u32 %1, %13, %25;\n\t"
        "addc.cc.u32 %2, %14, %26;\n\t"
        "addc.cc.u32 %3, %15, %27;\n\t"
        "addc.cc.u32 %4, %16, %28;\n\t"
        "addc.cc.u32 %5, %17, %29;\n\t"
        "addc.cc.u32 %6, %18, %30;\n\t"
        "addc.cc.u32 %7, %19, %31;\n\t"
        "addc.cc.u32 %8, %20, %32;\n\t"
        "addc.cc.u32 %9, %21, %33;\n\t"
        "addc.cc.u32 %10, %22, %34;\n\t"
        "addc.u32 %11, %23, %35;\n\t"
        "sub.cc.u32 t0, %0, 0xffff5556;\n\t"
        "subc.cc.u32 t1, %1, 0x73fdffff;\n\t"
        "subc.cc.u32 t2, %2, 0x62a7ffff;\n\t"
        "subc.cc.u32 t3, %3, 0x3d57fffd;\n\t"
        "subc.cc.u32 t4, %4, 0xed61ec48;\n\t"
        "subc.cc.u32 t5, %5, 0xce61a541;\n\t"
        "subc.cc.u32 t6, %6, 0xe70a257e;\n\t"
        "subc.cc.u32 t7, %7, 0xc8ee9709;\n\t"
        "subc.cc.u32 t8, %8, 0x869759ae;\n\t"
        "subc.cc.u32 t9, %9, 0x96374f6c;\n\t"
        "subc.cc.u32 t10, %10, 0x72ffcd34;\n\t"
        "subc.cc.u32 t11, %11, 0x340223d4;\n\t"
        "subc.u32 m, 0, 0;\n\t"
        "setp.ne.u32 q, m, 0;\n\t"
        "selp.u32 %0, %0, t0, q;\n\t"
        "selp.u32 %1, %1, t1, q;\n\t"
        "selp.u32 %2, %2, t2, q;\n\t"
        "selp.u32 %3, %3, t3, q;\n\t"
        "selp.u32 %4, %4, t4, q;\n\t"
        "selp.u32 %5, %5, t5, q;\n\t"
        "selp.u32 %6, %6, t6, q;\n\t"
        "selp.u32 %7, %7, t7, q;\n\t"
        "selp.u32 %8, %8, t8, q;\n\t"
        "selp.u32 %9, %9, t9, q;\n\t"
        "selp.u32 %10, %10, t10, q;\n\t"
        "selp.u32 %11, %11, t11, q;\n\t"
        "}"
        : "=&r"(d.v[0]), "=&r"(d.v[1]), "=&r"(d.v[2]), "=&r"(d.v[3]), "=&r"(d.v[4]), "=&r"(d.v[5]), "=&r"(d.v[6]), "=&r"(d.v[7]), "=&r"(d.v[8]), "=&r"(d.v[9]), "=&r"(d.v[10]), "=&r"(d.v[11])
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]), "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(a.v[8]), "r"(a.v[9]), "r"(a.v[10]), "r"(a.v[11]), "r"(b.v[0]), "r"(b.v[1]), "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]), "r"(b.v[7]), "r"(b.v[8]), "r"(b.v[9]), "r"(b.v[10]), "r"(b.v[11]));
    return d;
}

// a - b + 2p, in (0, 4p), for a factor of a product.
__device__ __forceinline__ fp_t wide_sub(const fp_t& a, const fp_t& b) {
    fp_t d;
    asm("{\n\t"
        ".reg .u32 m; .reg .u32 t<12>;\n\t"
        "add.cc.u32 t0, %12, 0xffff5556;\n\t"
        "addc.cc.u32 t1, %13, 0x73fdffff;\n\t"
        "addc.cc.u32 t2, %14, 0x62a7ffff;\n\t"
        "addc.cc.u32 t3, %15, 0x3d57fffd;\n\t"
        "addc.cc.u32 t4, %16, 0xed61ec48;\n\t"
        "addc.cc.u32 t5, %17, 0xce61a541;\n\t"
        "addc.cc.u32 t6, %18, 0xe70a257e;\n\t"
        "addc.cc.u32 t7, %19, 0xc8ee9709;\n\t"
        "addc.cc.u32 t8, %20, 0x869759ae;\n\t"
        "addc.cc.u32 t9, %21, 0x96374f6c;\n\t"
        "addc.cc.u32 t10, %22, 0x72ffcd34;\n\t"
        "addc.u32 t11, %23, 0x340223d4;\n\t"
        "sub.cc.u32 %0, t0, %24;\n\t"
        "subc.cc.u32 %1, t1, %25;\n\t"
        "subc.cc.u32 %2, t2, %26;\n\t"
        "subc.cc.u32 %3, t3, %27;\n\t"
        "subc.cc.u32 %4, t4, %28;\n\t"
        "subc.cc.u32 %5, t5, %29;\n\t"
        "subc.cc.u32 %6, t6, %30;\n\t"
        "subc.cc.u32 %7, t7, %31;\n\t"
        "subc.cc.u32 %8, t8, %32;\n\t"
        "subc.cc.u32 %9, t9, %33;\n\t"
        "subc.cc.u32 %10, t10, %34;\n\t"
        "subc.u32 %11, t11, %35;\n\t"
        "}"
        : "=&r"(d.v[0]), "=&r"(d.v[1]), "=&r"(d.v[2]), "=&r"(d.v[3]), "=&r"(d.v[4]), "=&r"(d.v[5]), "=&r"(d.v[6]), "=&r"(d.v[7]), "=&r"(d.v[8]), "=&r"(d.v[9]), "=&r"(d.v[10]), "=&r"(d.v[11])
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]), "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(a.v[8]), "r"(a.v[9]), "r"(a.v[10]), "r"(a.v[11]), "r"(b.v[0]), "r"(b.v[1]), "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]), "r"(b.v[7]), "r"(b.v[8]), "r"(b.v[9]), "r"(b.v[10]), "r"(b.v[11]));
    return d;
}

// a + b, in [0, 4p), for a factor of a product.
__device__ __forceinline__ fp_t wide_add(const fp_t& a, const fp_t& b) {
    fp_t d;
    asm("{\n\t"
        ".reg .u32 m; .reg .u32 t<12>;\n\t"
        "add.cc.u32 %0, %12, %24;\n\t"
        "addc.cc.u32 %1, %13, %25;\n\t"
        "addc.cc.u32 %2, %14, %26;\n\t"
        "addc.cc.u32 %3, %15, %27;\n\t"
        "addc.cc.u32 %4, %16, %28;\n\t"
        "addc.cc.u32 %5, %17, %29;\n\t"
        "addc.cc.u32 %6, %18, %30;\n\t"
        "addc.cc.u32 %7, %19, %31;\n\t"
        "addc.cc.u32 %8, %20, %32;\n\t"
        "addc.cc.u32 %9, %21, %33;\n\t"
        "addc.cc.u32 %10, %22, %34;\n\t"
        "addc.u32 %11, %23, %35;\n\t"
        "}"
        : "=&r"(d.v[0]), "=&r"(d.v[1]), "=&r"(d.v[2]), "=&r"(d.v[3]), "=&r"(d.v[4]), "=&r"(d.v[5]), "=&r"(d.v[6]), "=&r"(d.v[7]), "=&r"(d.v[8]), "=&r"(d.v[9]), "=&r"(d.v[10]), "=&r"(d.v[11])
        : "r"(a.v[0]), "r"(a.v[1]), "r"(a.v[2]), "r"(a.v[3]), "r"(a.v[4]), "r"(a.v[5]), "r"(a.v[6]), "r"(a.v[7]), "r"(a.v[8]), "r"(a.v[9]), "r"(a.v[10]), "r"(a.v[11]), "r"(b.v[0]), "r"(b.v[1]), "r"(b.v[2]), "r"(b.v[3]), "r"(b.v[4]), "r"(b.v[5]), "r"(b.v[6]), "r"(b.v[7]), "r"(b.v[8]), "r"(b.v[9]), "r"(b.v[10]), "r"(b.v[11]));
    return d;
}

// a b / R modulo p, in [0, 2p), for a b <= 8 p^2.
__device__ __forceinline__ fp_t lazy_mul(const fp_t& a, const fp_t& b) { return fp_mul_lazy(a, b); }

// a^2 / R modulo p, in [0, p), for a < 2p.
__device__ __forceinline__ fp_t lazy_sqr(const fp_t& a) { return fp_sqr(a); }

// The one in [0, p), for a in [0, 2p].
__device__ __forceinline__ fp_t lazy_exact(const fp_t& a) { return fp_reduce(fp_reduce(a)); }

// Whether a in (0, 4p) may be a multiple of p, by its low word: wrong once in
// 2^30, never when it is one.
__device__ __forceinline__ bool lazy_maybe_zero(const fp_t& a) {
    return a.v[0] == LAZY_P1 || a.v[0] == LAZY_P2 || a.v[0] == LAZY_P3 || a.v[0] == 0;
}
