// Lists of additions as in ops.cuh, with all coordinates brought to shared memory
// by asynchronous copies: the loads of a step are under way during the step
// before, without registers to hold them, so an SM holds enough warps to keep its
// multiplier busy.
//
// A warp's lanes copy together, 16 bytes each, six or twelve lanes a point: a
// request then meets a few cache lines and not thirty-two.
#pragma once
#include "copy.cuh"
#include "ops.cuh"

// A warp's shared memory: 32 first and 32 second points, 32 first and 32 second x
// coordinates, 32 prefix products. Strides are such that eight lanes reading 16
// bytes each meet all banks once.
template <class F>
struct stage_t {
    static const int point_parts = sizeof(affine_t<F>) / 16, x_parts = sizeof(F) / 16;
    static const int point_stride = sizeof(affine_t<F>) + 16, x_stride = sizeof(F) == 48 ? 48 : sizeof(F) + 16;
    static const int x_offset = 64 * point_stride, prefix_offset = x_offset + 64 * x_stride;
    static const int bytes = prefix_offset + 32 * sizeof(F);
    char* mem;
    shared_at at;  // mem's address
};

__device__ __forceinline__ const char* shuffle_pointer(const char* p, uint32_t lane) {
    uint64_t a = (uint64_t)p;
    return (const char*)((uint64_t)shuffle((uint32_t)(a >> 32), lane) << 32 | shuffle((uint32_t)a, lane));
}

// Copies the first PARTS * 16 bytes of the points that the lanes refer to. Three
// copies by 32 lanes are 96 parts, so 96 / PARTS whole points: what a lane copies
// repeats after three steps, that many points on.
template <int PARTS, int STRIDE, class F>
__device__ __forceinline__ void stage_copy(shared_at to, const op_source<F>& s, const op_t& op) {
    const char *a = (const char*)ref_point(s, op.a), *b = (const char*)ref_point(s, op.b);
#pragma unroll
    for (int r = 0; r < 3; r++) {
        uint32_t c = 32 * r + lane_id(), first = c / PARTS, part = 16 * (c % PARTS);
        shared_at at = to + (first * STRIDE + part);
#pragma unroll
        for (int m = 0; m < PARTS / 3; m++) {
            copy16(at + m * (96 / PARTS) * STRIDE, shuffle_pointer(a, first + m * (96 / PARTS)) + part);
            copy16(at + (m * (96 / PARTS) + 32) * STRIDE, shuffle_pointer(b, first + m * (96 / PARTS)) + part);
        }
    }
}

template <class F>
__device__ __forceinline__ void stage_points(const stage_t<F>& m, const op_source<F>& s, const op_t& op) {
    stage_copy<stage_t<F>::point_parts, stage_t<F>::point_stride>(m.at, s, op);
}

template <class F>
__device__ __forceinline__ void stage_xs(const stage_t<F>& m, const op_source<F>& s, const op_t& op) {
    stage_copy<stage_t<F>::x_parts, stage_t<F>::x_stride>(m.at + stage_t<F>::x_offset, s, op);
}

template <class F>
__device__ __forceinline__ void stage_prefix(const stage_t<F>& m, F* prefix_mem, uint64_t slot) {
    const u128_t* from = prefix_slot(prefix_mem, slot);
    shared_at to = m.at + (stage_t<F>::prefix_offset + 16 * lane_id());
#pragma unroll
    for (int i = 0; i < stage_t<F>::x_parts; i++) copy16(to + 512 * i, from + 32 * i);
}

// This lane's first (0) or second (1) point, its x in the forward stage, its
// prefix.
template <class F>
__device__ __forceinline__ const affine_t<F>* staged_point(const stage_t<F>& m, int second) {
    return (const affine_t<F>*)(m.mem + (lane_id() + 32 * second) * stage_t<F>::point_stride);
}

template <class F>
__device__ __forceinline__ F staged_x(const stage_t<F>& m, int second) {
    return fload((const F*)(m.mem + stage_t<F>::x_offset + (lane_id() + 32 * second) * stage_t<F>::x_stride));
}

template <class F>
__device__ __forceinline__ F staged_prefix(const stage_t<F>& m) {
    return prefix_load((F*)(m.mem + stage_t<F>::prefix_offset), 0);
}

// The y of this lane's point with its sign, where any lane of the warp has one.
template <class F>
__device__ __forceinline__ F staged_y(const stage_t<F>& m, int second, uint32_t ref, bool signs) {
    F y = fload(&staged_point(m, second)->y);
    if (signs) y = fselect(ref & REF_NEG, lazy_neg(y), y);
    return y;
}

// What is left of a backward step when its points have been read.
template <class F>
struct op_rest {
    F slope, run, y, x3;
    uint32_t kind;
};

// The backward step up to x3, as in ops.cuh.
template <class F>
__device__ __forceinline__ op_rest<F> staged_backward(const stage_t<F>& m, const op_source<F>& s, const op_t& op,
                                                      F& inv, uint32_t* exceptions) {
    op_rest<F> r;
    r.slope = lazy_mul(inv, staged_prefix(m));
    F x1 = fload(&staged_point(m, 0)->x), x2 = fload(&staged_point(m, 1)->x), d = wide_sub(x2, x1), rise;
    r.kind = OP_ADD;
    if (op_suspect(x1, x2, d)) {
        op_look<F> look = op_examine(s.base, s.slots, s.infinity, op.a, op.b);
        r.kind = look.kind, d = look.d, rise = look.rise;
        if (r.kind == OP_DOUBLE || r.kind == OP_CANCEL) atomic_add(exceptions, 1);
    }
    inv = lazy_mul(d, inv);
    bool signs = ballot((op.a | op.b) & REF_NEG) != 0;
    r.y = staged_y(m, 0, op.a, signs);
    if (r.kind != OP_DOUBLE) rise = wide_sub(staged_y(m, 1, op.b, signs), r.y);
    r.slope = lazy_mul(rise, r.slope);
    r.x3 = lazy_sqr(r.slope);
    x1 = fload(&staged_point(m, 0)->x);
    r.x3 = lazy_sub(lazy_sub(r.x3, x1), fload(&staged_point(m, 1)->x));
    r.run = wide_sub(x1, r.x3);
    return r;
}

template <class F>
__device__ __forceinline__ void staged_finish(const op_list<F>& l, const op_t& op, uint64_t i, const op_rest<F>& r) {
    affine_t<F> sum = {r.x3, lazy_sub(lazy_mul(r.run, r.slope), r.y)};
    if (r.kind > OP_DOUBLE) sum = op_trivial(l.source.base, l.source.slots, l.source.infinity, op.a, op.b, r.kind);
    op_store(l, i, sum);
}

// As run_ops. Groups of copies alternate: points and prefix of a backward step, x
// coordinates of a forward step; each is waited for when the next has been ended.
template <class F>
__device__ __forceinline__ void run_ops_async(const op_list<F>& l, uint32_t k, F* prefix_mem, op_shared* words) {
    stage_t<F> m;
    m.mem = (char*)dynamic_shared() + tid_x() / 32 * stage_t<F>::bytes;
    m.at = shared_address(m.mem);
    prefix_mem += global_id() / 32 * k * 32;
    uint64_t next = op_take(words, k), cur = 0;
    bool forward = ballot(next < l.n), backward = false, down = false;
    F acc, inv;
    fset_one(acc), fset_one(inv);
    while (forward || backward) {
        uint32_t slot = down ? k - 1 : 0;
        op_t fop = {0, 0}, ahead = {0, 0}, bop = {0, 0};
        copy_fence();
        if (backward) {
            bop = l.ops[op_index(l, cur, slot)];
            stage_points(m, l.source, bop);
            stage_prefix(m, prefix_mem, slot);
        }
        copy_end_group();
        if (forward) {
            fop = l.ops[op_index(l, next, slot)];
            stage_xs(m, l.source, fop);
            ahead = l.ops[op_index(l, next, k == 1 ? slot : down ? slot - 1 : slot + 1)];
        }
        copy_end_group();
        for (uint32_t j = 0; j < k; j++) {
            bool more = j + 1 < k;
            uint32_t then = !more ? slot : down ? slot - 1 : slot + 1;
            copy_wait_previous();
            warp_sync();
            if (backward) {
                op_t op = bop;
                if (more) bop = l.ops[op_index(l, cur, then)];
                op_rest<F> r = staged_backward(m, l.source, op, inv, &words->exceptions);
                warp_sync();
                if (more) {
                    stage_points(m, l.source, bop);
                    stage_prefix(m, prefix_mem, then);
                }
                copy_end_group();
                staged_finish(l, op, op_index(l, cur, slot), r);
            } else {
                copy_end_group();
            }
            copy_wait_previous();
            warp_sync();
            if (forward) {
                F x1 = staged_x(m, 0), x2 = staged_x(m, 1);
                op_t op = fop;
                warp_sync();
                if (more) {
                    fop = ahead;
                    stage_xs(m, l.source, fop);
                }
                copy_end_group();
                F d = op_forward(l.source, op, x1, x2);
                if (j + 2 < k) ahead = l.ops[op_index(l, next, down ? then - 1 : then + 1)];
                prefix_store(prefix_mem, slot, acc);
                acc = lazy_mul(d, acc);
            } else {
                copy_end_group();
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
