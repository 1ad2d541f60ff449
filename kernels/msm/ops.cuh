// Affine additions by the list: out[i] = P(ops[i].a) + P(ops[i].b).
//
// Everything in this folder that adds points is such a list: trees inside
// buckets, sums over bits, the reduction of buckets, fixed-base multiples. An
// affine addition is 5 multiplications and a square once 1/(x2 - x1) is known,
// against 8 and 2 of an XYZZ addition; the inverses are shared (Montgomery):
//
//   forward:  prefix[k] = d_0 ... d_{k-1}, over the k additions of a lane
//   inverse:  one inversion for the product of the warp's 32 lanes
//   backward: 1/d_k = prefix[k] / (d_0 ... d_k), from the last k to the first
//
// A warp works alone, without barriers. Its loop does one backward step of a
// chunk and one forward step of the next chunk at a time, so that the memory
// traffic of the forward step runs under the multiplications of the backward
// one. The forward step writes the prefix slot that the backward step has just
// freed, hence the direction changes with every chunk.
//
// Infinity, equal and opposite points are found by their zero coordinates or
// zero difference and replace d: one zero would spoil the inverses of a warp.
#pragma once
#include "../curve/point.cuh"
#include "warp.cuh"

// A reference to a point: an index, taken from the caller's points or, with
// REF_SLOT, from earlier results; REF_NEG negates it; REF_NONE is infinity.
#define REF_NEG 0x80000000u
#define REF_SLOT 0x40000000u
#define REF_INDEX 0x3fffffffu
#define REF_NONE 0xffffffffu

struct op_t {
    uint32_t a, b;
};

template <class F>
struct op_source {
    const affine_t<F>*base, *slots;
};

template <class F>
__device__ __forceinline__ const affine_t<F>* ref_point(const op_source<F>& s, uint32_t ref) {
    return ((ref & REF_SLOT) ? s.slots : s.base) + (ref & REF_INDEX);
}

template <class F>
__device__ __forceinline__ F ref_x(const op_source<F>& s, uint32_t ref) {
    F x;
    fset_zero(x);
    if (ref != REF_NONE) x = fload(&ref_point(s, ref)->x);
    return x;
}

template <class F>
__device__ __forceinline__ F ref_y(const op_source<F>& s, uint32_t ref) {
    F y;
    fset_zero(y);
    if (ref == REF_NONE) return y;
    y = fload(&ref_point(s, ref)->y);
    if (ref & REF_NEG) y = fneg(y);
    return y;
}

enum op_kind { OP_ADD, OP_DOUBLE, OP_CANCEL, OP_FIRST, OP_SECOND };

template <class F>
__device__ __forceinline__ op_kind op_classify(const affine_t<F>& p, const affine_t<F>& q) {
    if (is_infinity(p)) return OP_SECOND;
    if (is_infinity(q)) return OP_FIRST;
    if (!feq(p.x, q.x)) return OP_ADD;
    return feq(p.y, q.y) && !fzero(p.y) ? OP_DOUBLE : OP_CANCEL;
}

// The denominator of the slope: x2 - x1, 2 y1 for a doubling, 1 where no slope
// is needed.
template <class F>
__device__ __forceinline__ F op_denominator(op_kind kind, const affine_t<F>& p, const F& d) {
    F one;
    fset_one(one);
    return kind == OP_ADD ? d : kind == OP_DOUBLE ? fdbl(p.y) : one;
}

// Whether the pair needs a closer look: x1, x2 or x2 - x1 is zero.
template <class F>
__device__ __forceinline__ bool op_suspect(const F& x1, const F& x2, const F& d) {
    return fzero(d) || fzero(x1) || fzero(x2);
}

template <class F>
__device__ __forceinline__ F op_forward(const op_source<F>& s, const op_t& op) {
    F x1 = ref_x(s, op.a), x2 = ref_x(s, op.b);
    F d = fsub(x2, x1);
    if (op_suspect(x1, x2, d)) {
        affine_t<F> p = {x1, ref_y(s, op.a)}, q = {x2, ref_y(s, op.b)};
        d = op_denominator(op_classify(p, q), p, d);
    }
    return d;
}

// One backward step: inv is 1/(d_0 ... d_k) and becomes 1/(d_0 ... d_{k-1}).
template <class F>
__device__ __forceinline__ affine_t<F> op_backward(const op_source<F>& s, const op_t& op, const F& prefix, F& inv,
                                                   uint32_t* exceptions) {
    affine_t<F> p, q;
    p.x = ref_x(s, op.a), q.x = ref_x(s, op.b);
    F d = fsub(q.x, p.x), slope = fmul(inv, prefix);
    p.y = ref_y(s, op.a), q.y = ref_y(s, op.b);
    F rise = fsub(q.y, p.y);
    op_kind kind = OP_ADD;
    if (op_suspect(p.x, q.x, d)) {
        kind = op_classify(p, q);
        d = op_denominator(kind, p, d);
        if (kind == OP_DOUBLE) {
            rise = fsqr(p.x);
            rise = fadd(fdbl(rise), rise);
        }
        if (kind == OP_DOUBLE || kind == OP_CANCEL) atomic_add(exceptions, 1);
    }
    inv = fmul(inv, d);
    slope = fmul(slope, rise);
    affine_t<F> r;
    r.x = fsub(fsub(fsqr(slope), p.x), q.x);
    r.y = fsub(fmul(slope, fsub(p.x, r.x)), p.y);
    if (kind == OP_FIRST) r = p;
    if (kind == OP_SECOND) r = q;
    if (kind == OP_CANCEL) r = affine_infinity<F>();
    return r;
}

__device__ __forceinline__ fp_t shuffle_xor(const fp_t& a, uint32_t m) {
    fp_t d;
#pragma unroll
    for (int i = 0; i < 12; i++) d.v[i] = shuffle_xor(a.v[i], m);
    return d;
}

__device__ __forceinline__ fp2_t shuffle_xor(const fp2_t& a, uint32_t m) {
    return {shuffle_xor(a.c0, m), shuffle_xor(a.c1, m)};
}

// 1/a for every lane of a warp by one inversion. A butterfly keeps the product
// g of the lane's group and the product c of the group without the lane itself;
// all lanes invert the same g, so the inversion does not diverge.
template <class F>
__device__ __forceinline__ F warp_inverse(const F& a) {
    F g = a, c;
    fset_one(c);
#pragma unroll 1
    for (uint32_t m = 1; m < 32; m *= 2) {
        F o = shuffle_xor(g, m);
        c = fmul(c, o);
        g = fmul(g, o);
    }
    return fmul(finv(g), c);
}

// Prefix products of a warp: k slots of 32 lanes, lane by lane in 16-byte words.
template <class F>
__device__ __forceinline__ u128_t* prefix_slot(F* prefix, uint64_t slot) {
    return (u128_t*)prefix + slot * (32 * sizeof(F) / 16) + lane_id();
}

template <class F>
__device__ __forceinline__ void prefix_store(F* prefix, uint64_t slot, const F& a) {
    u128_t* p = prefix_slot(prefix, slot);
    const uint32_t* v = (const uint32_t*)&a;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(F) / 16); i++) {
        u128_t t = {v[4 * i], v[4 * i + 1], v[4 * i + 2], v[4 * i + 3]};
        p[32 * i] = t;
    }
}

template <class F>
__device__ __forceinline__ F prefix_load(F* prefix, uint64_t slot) {
    const u128_t* p = prefix_slot(prefix, slot);
    F a;
    uint32_t* v = (uint32_t*)&a;
#pragma unroll
    for (int i = 0; i < (int)(sizeof(F) / 16); i++) {
        u128_t t = p[32 * i];
        v[4 * i] = t.x, v[4 * i + 1] = t.y, v[4 * i + 2] = t.z, v[4 * i + 3] = t.w;
    }
    return a;
}

// The list of n additions is cut into chunks of 32 k; warp w of the grid does
// chunks w, w + warps, ... prefix holds 32 k field elements a warp.
template <class F>
__device__ __forceinline__ void run_ops(const op_t* ops, uint32_t n, uint32_t k, const op_source<F>& s, affine_t<F>* out,
                                        F* prefix, uint32_t* exceptions) {
    uint32_t warp = (uint32_t)(global_id() / 32), step = (uint32_t)(global_size() / 32) * 32 * k;
    uint64_t slots = (uint64_t)warp * k;
    // First operation of this lane in the chunk going forward and in the one
    // going backward; past the list means none.
    uint64_t next = (uint64_t)warp * 32 * k, cur = n;
    uint32_t down = 0;
    F acc, inv;
    fset_one(acc), fset_one(inv);
    while (next < n || cur < n) {
        for (uint32_t j = 0; j < k; j++) {
            uint32_t slot = down ? k - 1 - j : j;
            uint64_t i = cur + 32 * slot + lane_id();
            if (i < n) point_store(out + i, op_backward(s, ops[i], prefix_load(prefix, slots + slot), inv, exceptions));
            i = next + 32 * slot + lane_id();
            if (i < n) {
                F d = op_forward(s, ops[i]);
                prefix_store(prefix, slots + slot, acc);
                acc = fmul(acc, d);
            }
        }
        cur = next;
        next += step;
        down ^= 1;
        if (cur < n) inv = warp_inverse(acc);
        fset_one(acc);
    }
}
