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
// A warp works alone, without barriers. Its loop does one forward step of the next
// chunk and one backward step of the present one at a time, after the loads of
// both were issued. The forward step writes the prefix slot that the backward step
// has just read, hence the direction changes with every chunk.
//
// Coordinates of results are modulo 2p (curve/lazy.cuh) until a list asks for
// exact ones. Infinity, equal and opposite points are found by low words of zero
// coordinates or differences and replace d: one zero would spoil the inverses of a
// warp.
#pragma once
#include "../curve/lazy2.cuh"
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

// The exact point with its sign: the slow way, for exceptions.
template <class F>
__device__ __forceinline__ affine_t<F> ref_load(const op_source<F>& s, uint32_t ref) {
    affine_t<F> p = point_load(ref_point(s, ref));
    p.x = lazy_exact(p.x), p.y = lazy_exact(p.y);
    if (ref & REF_NEG) p.y = fneg(p.y);
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

// Whether the pair needs a closer look: x1, x2 or x2 - x1 may be zero.
template <class F>
__device__ __forceinline__ bool op_suspect(const F& x1, const F& x2, const F& d) {
    return lazy_maybe_zero(d) || low_zero(x1) || low_zero(x2);
}

// The close look, out of line: what kind of addition it is, its denominator and,
// for a doubling, the numerator 3 x^2.
template <class F>
struct op_look {
    F d, rise;
    uint32_t kind;
};

template <class F>
__device__ __noinline__ op_look<F> op_examine(const affine_t<F>* base, const affine_t<F>* slots,
                                              const affine_t<F>* infinity, uint32_t ra, uint32_t rb) {
    op_source<F> s = {base, slots, infinity};
    op_look<F> r;
    // References to none are common in arrays of buckets of unequal windows.
    if (ra == REF_NONE || rb == REF_NONE) {
        fset_one(r.d), fset_zero(r.rise);
        r.kind = ra == REF_NONE ? OP_SECOND : OP_FIRST;
        return r;
    }
    affine_t<F> a = ref_load(s, ra), b = ref_load(s, rb);
    op_kind kind = op_classify(a, b);
    r.kind = kind;
    r.d = op_denominator(kind, a, fsub(b.x, a.x));
    r.rise = fsqr(a.x);
    r.rise = fadd(fdbl(r.rise), r.rise);
    return r;
}

// The sum where no slope is needed.
template <class F>
__device__ __noinline__ affine_t<F> op_trivial(const affine_t<F>* base, const affine_t<F>* slots,
                                               const affine_t<F>* infinity, uint32_t ra, uint32_t rb, uint32_t kind) {
    op_source<F> s = {base, slots, infinity};
    if (kind == OP_FIRST) return ref_load(s, ra);
    if (kind == OP_SECOND) return ref_load(s, rb);
    return affine_infinity<F>();
}

// The denominator of the forward step from the x coordinates.
template <class F>
__device__ __forceinline__ F op_forward(const op_source<F>& s, const op_t& op, const F& x1, const F& x2) {
    F d = wide_sub(x2, x1);
    if (op_suspect(x1, x2, d)) d = op_examine(s.base, s.slots, s.infinity, op.a, op.b).d;
    return d;
}

// One backward step: inv is 1/(d_0 ... d_k) and becomes 1/(d_0 ... d_{k-1}). p and
// q are as loaded, without their signs.
template <class F>
__device__ __forceinline__ affine_t<F> op_backward(const op_source<F>& s, const op_t& op, affine_t<F>& p,
                                                   affine_t<F>& q, const F& prefix, F& inv, uint32_t* exceptions) {
    F d = wide_sub(q.x, p.x), slope = lazy_mul(inv, prefix);
    if (ballot((op.a | op.b) & REF_NEG)) {
        p.y = fselect(op.a & REF_NEG, lazy_neg(p.y), p.y);
        q.y = fselect(op.b & REF_NEG, lazy_neg(q.y), q.y);
    }
    F rise = wide_sub(q.y, p.y);
    uint32_t kind = OP_ADD;
    if (op_suspect(p.x, q.x, d)) {
        op_look<F> look = op_examine(s.base, s.slots, s.infinity, op.a, op.b);
        kind = look.kind, d = look.d;
        if (kind == OP_DOUBLE) rise = look.rise;
        if (kind == OP_DOUBLE || kind == OP_CANCEL) atomic_add(exceptions, 1);
    }
    inv = lazy_mul(d, inv);
    slope = lazy_mul(rise, slope);
    affine_t<F> r;
    r.x = lazy_sub(lazy_sub(lazy_sqr(slope), p.x), q.x);
    r.y = lazy_sub(lazy_mul(wide_sub(p.x, r.x), slope), p.y);
    if (kind > OP_DOUBLE) r = op_trivial(s.base, s.slots, s.infinity, op.a, op.b, kind);
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
        c = lazy_mul(c, o);
        g = lazy_mul(g, o);
    }
    return lazy_mul(finv(lazy_exact(g)), c);
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

// A list of additions and where its results go; exact asks for coordinates in
// [0, p).
template <class F>
struct op_list {
    const op_t* ops;
    uint32_t n;
    op_source<F> source;
    affine_t<F>* out;
    uint32_t exact;
};

// The operation of this lane in a slot of the chunk that begins at first. Lanes
// past the end repeat the last operation, so that warps stay uniform.
template <class F>
__device__ __forceinline__ uint64_t op_index(const op_list<F>& l, uint64_t first, uint32_t slot) {
    uint64_t i = first + 32 * slot + lane_id();
    return i < l.n ? i : l.n - 1;
}

template <class F>
__device__ __forceinline__ void op_store(const op_list<F>& l, uint64_t i, affine_t<F>& r) {
    if (l.exact) r.x = lazy_exact(r.x), r.y = lazy_exact(r.y);
    point_store(l.out + i, r);
}

// The words that a launch shares, zero before and after it: a count of exceptions
// to read, the next chunk, and the warps that have left. A warp takes a chunk when
// it is ready for one, for warps do not advance evenly.
struct op_shared {
    uint32_t exceptions, chunk, left;
};

// The first operation of the next chunk of 32 k.
__device__ __forceinline__ uint64_t op_take(op_shared* w, uint32_t k) {
    uint32_t c = lane_id() == 0 ? atomic_add(&w->chunk, 1) : 0;
    return (uint64_t)shuffle(c, 0) * 32 * k;
}

// The last warp to leave makes the words ready for the next launch.
__device__ __forceinline__ void op_leave(op_shared* w) {
    if (lane_id() == 0 && atomic_add(&w->left, 1) == (uint32_t)(global_size() / 32) - 1) w->chunk = w->left = 0;
}

// The list is cut into chunks of 32 k, which warps take in turn. prefix_mem holds
// 32 k field elements a warp.
template <class F>
__device__ __forceinline__ void run_ops(const op_list<F>& l, uint32_t k, F* prefix_mem, op_shared* words) {
    prefix_mem += global_id() / 32 * k * 32;
    // The chunk that goes forward and the one that goes backward.
    uint64_t next = op_take(words, k), cur = 0;
    bool forward = ballot(next < l.n), backward = false, down = false;
    F acc, inv;
    fset_one(acc), fset_one(inv);
    while (forward || backward) {
        uint32_t slot = down ? k - 1 : 0;
        op_t fop, bop, fnext = {0, 0}, bnext = {0, 0};
        if (forward) fnext = l.ops[op_index(l, next, slot)];
        if (backward) bnext = l.ops[op_index(l, cur, slot)];
        for (uint32_t j = 0; j < k; j++) {
            uint32_t then = j + 1 == k ? slot : down ? slot - 1 : slot + 1;
            F x1, x2, prefix;
            affine_t<F> p, q;
            if (forward) {
                fop = fnext;
                x1 = fload(&ref_point(l.source, fop.a)->x), x2 = fload(&ref_point(l.source, fop.b)->x);
            }
            if (backward) {
                bop = bnext;
                prefix = prefix_load(prefix_mem, slot);
                p = point_load(ref_point(l.source, bop.a)), q = point_load(ref_point(l.source, bop.b));
                bnext = l.ops[op_index(l, cur, then)];
            }
            if (forward) {
                x1 = op_forward(l.source, fop, x1, x2);
                prefix_store(prefix_mem, slot, acc);
                acc = lazy_mul(x1, acc);
                fnext = l.ops[op_index(l, next, then)];
            }
            if (backward) {
                affine_t<F> r = op_backward(l.source, bop, p, q, prefix, inv, &words->exceptions);
                op_store(l, op_index(l, cur, slot), r);
            }
            slot = then;
        }
        cur = next, backward = forward;
        if (forward) next = op_take(words, k);
        forward = ballot(next < l.n);
        down = !down;
        if (backward) inv = warp_inverse(acc);
        fset_one(acc);
    }
    op_leave(words);
}
