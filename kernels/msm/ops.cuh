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
// chunk and one forward step of the next chunk at a time. The loads of each step
// are issued before a multiplication of the other, where few registers are in use:
// the coordinates of the forward step before the last product of the backward
// step, those of the next backward step before the product of the forward one.
// The forward step writes the prefix slot that the backward step has just freed,
// hence the direction changes with every chunk.
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

// Where references point; infinity is a point of zeros.
template <class F>
struct op_source {
    const affine_t<F>*base, *slots, *infinity;
};

template <class F>
__device__ __forceinline__ const affine_t<F>* ref_point(const op_source<F>& s, uint32_t ref) {
    const affine_t<F>* p = ((ref & REF_SLOT) ? s.slots : s.base) + (ref & REF_INDEX);
    return ref == REF_NONE ? s.infinity : p;
}

template <class F>
__device__ __forceinline__ F ref_sign(uint32_t ref, const F& y) {
    return fselect(ref & REF_NEG, fneg(y), y);
}

// A point with its sign: the slow way, for exceptions.
template <class F>
__device__ __forceinline__ affine_t<F> ref_load(const op_source<F>& s, uint32_t ref) {
    affine_t<F> p = point_load(ref_point(s, ref));
    p.y = ref_sign(ref, p.y);
    return p;
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

// The denominator of the forward step from the x coordinates.
template <class F>
__device__ __forceinline__ F op_forward(const op_source<F>& s, const op_t& op, const F& x1, const F& x2) {
    F d = fsub(x2, x1);
    if (op_suspect(x1, x2, d)) {
        affine_t<F> p = ref_load(s, op.a), q = ref_load(s, op.b);
        d = op_denominator(op_classify(p, q), p, d);
    }
    return d;
}

// What a backward step loads, and what it keeps for its last product:
// y3 = slope * run - y.
template <class F>
struct op_step {
    op_t op;
    affine_t<F> p, q;
    F prefix;
};

template <class F>
struct op_rest {
    F slope, run, y, x3;
    op_kind kind;
};

// The backward step up to x3: inv is 1/(d_0 ... d_k) and becomes
// 1/(d_0 ... d_{k-1}).
template <class F>
__device__ __forceinline__ op_rest<F> op_backward(op_step<F>& b, F& inv) {
    op_rest<F> r;
    F d = fsub(b.q.x, b.p.x);
    r.slope = fmul(inv, b.prefix);
    r.y = ref_sign(b.op.a, b.p.y);
    F rise = fsub(ref_sign(b.op.b, b.q.y), r.y);
    r.kind = OP_ADD;
    if (op_suspect(b.p.x, b.q.x, d)) {
        b.p.y = r.y, b.q.y = ref_sign(b.op.b, b.q.y);
        r.kind = op_classify(b.p, b.q);
        d = op_denominator(r.kind, b.p, d);
        if (r.kind == OP_DOUBLE) {
            rise = fsqr(b.p.x);
            rise = fadd(fdbl(rise), rise);
        }
    }
    inv = fmul(inv, d);
    r.slope = fmul(r.slope, rise);
    r.x3 = fsub(fsub(fsqr(r.slope), b.p.x), b.q.x);
    r.run = fsub(b.p.x, r.x3);
    return r;
}

template <class F>
__device__ __forceinline__ affine_t<F> op_finish(const op_source<F>& s, const op_t& op, const op_rest<F>& r,
                                                 uint32_t* exceptions) {
    affine_t<F> sum = {r.x3, fsub(fmul(r.slope, r.run), r.y)};
    if (r.kind != OP_ADD) {
        if (r.kind == OP_FIRST) sum = ref_load(s, op.a);
        if (r.kind == OP_SECOND) sum = ref_load(s, op.b);
        if (r.kind == OP_CANCEL) sum = affine_infinity<F>();
        if (r.kind == OP_CANCEL || r.kind == OP_DOUBLE) atomic_add(exceptions, 1);
    }
    return sum;
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

// Prefix products of a warp: slots of 32 lanes, lane by lane in 16-byte words.
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

// A list of additions and where its results go.
template <class F>
struct op_list {
    const op_t* ops;
    uint32_t n;
    op_source<F> source;
    affine_t<F>* out;
};

// The operation of this lane in a slot of the chunk that begins at first. Lanes
// past the end repeat the last operation, so that warps stay uniform.
template <class F>
__device__ __forceinline__ uint64_t op_index(const op_list<F>& l, uint64_t first, uint32_t slot) {
    uint64_t i = first + 32 * slot + lane_id();
    return i < l.n ? i : l.n - 1;
}

template <class F>
__device__ __forceinline__ void op_load(op_step<F>& b, const op_list<F>& l, const op_t& op, F* prefix, uint64_t slot) {
    b.op = op;
    b.p = point_load(ref_point(l.source, op.a));
    b.q = point_load(ref_point(l.source, op.b));
    b.prefix = prefix_load(prefix, slot);
}

// The list is cut into chunks of 32 k; warp w of the grid does chunks w,
// w + warps, ... prefix holds 32 k field elements a warp.
template <class F>
__device__ __forceinline__ void run_ops(const op_list<F>& l, uint32_t k, F* prefix, uint32_t* exceptions) {
    uint32_t warp = (uint32_t)(global_id() / 32), step = (uint32_t)(global_size() / 32) * 32 * k;
    prefix += (uint64_t)warp * k * 32;
    // The chunk that goes forward and the one that goes backward.
    uint64_t next = (uint64_t)warp * 32 * k, cur = 0;
    bool forward = next < l.n, backward = false, down = false;
    F acc, inv;
    fset_one(acc), fset_one(inv);
    while (forward || backward) {
        uint32_t slot = down ? k - 1 : 0;
        op_step<F> b;
        op_t ahead, op;
        if (backward) op_load(b, l, l.ops[op_index(l, cur, slot)], prefix, slot);
        if (forward) op = l.ops[op_index(l, next, slot)];
        for (uint32_t j = 0; j < k; j++) {
            uint32_t then = j + 1 == k ? slot : down ? slot - 1 : slot + 1;
            op_rest<F> r;
            F x1, x2;
            if (backward) {
                ahead = l.ops[op_index(l, cur, then)];
                r = op_backward(b, inv);
            }
            if (forward) x1 = fload(&ref_point(l.source, op.a)->x), x2 = fload(&ref_point(l.source, op.b)->x);
            if (backward) point_store(l.out + op_index(l, cur, slot), op_finish(l.source, b.op, r, exceptions));
            if (forward) {
                x1 = op_forward(l.source, op, x1, x2);
                prefix_store(prefix, slot, acc);
                op = l.ops[op_index(l, next, then)];
            }
            if (backward) op_load(b, l, ahead, prefix, then);
            if (forward) acc = fmul(acc, x1);
            slot = then;
        }
        cur = next, backward = forward;
        next += step, forward = next < l.n;
        down = !down;
        if (backward) inv = warp_inverse(acc);
        fset_one(acc);
    }
}
