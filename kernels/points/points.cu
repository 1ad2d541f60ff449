// Transforms of vectors of points, and what else turns the powers of a key into its
// quotient in values. Callers: backend/cuda/points*.go, which explains the order.
//
// Vectors are Jacobian points. A transform here evaluates Σ v_j x^j on the roots of
// x^n - C: a block of m points at depth s holds a residue modulo x^m - c^2, and its
// halves become the residues modulo x^(m/2) - c and x^(m/2) + c. All points of a
// block are multiplied by the same powers of c, so lanes of a warp agree in every
// branch. Where blocks become smaller than a warp, the lanes go over blocks instead,
// after a point j of a block has been multiplied by the j-th power of a number that
// makes all blocks the same.
#include "../msm/warp.cuh"
#include "multiply.cuh"

// Where the points of a launch lie: item t is point j of a part of a block. Lanes
// over several strides come first.
struct places_t {
    uint32_t base, lg_lanes, lg_stride, lg_block, lg_part, parts, first;

    __device__ __forceinline__ uint32_t part(uint64_t t) const { return (uint32_t)(t >> lg_lanes >> lg_part); }
    __device__ __forceinline__ uint64_t place(uint64_t t) const {
        uint64_t lane = t & ((1ul << lg_lanes) - 1), j = t >> lg_lanes & ((1ul << lg_part) - 1);
        uint32_t p = part(t);
        return base + (lane << lg_stride) + ((uint64_t)(p / parts) << lg_block) + ((uint64_t)(p % parts + first) << lg_part) + j;
    }
};

// Powers of a root g of order 2^lg_order, from two tables.
struct roots_t {
    const fr_t *low, *high;
    uint32_t lg_low, lg_order;

    __device__ __forceinline__ fr_t power(uint64_t e, bool inverse) const {
        uint64_t mask = (1ul << lg_order) - 1;
        e = (inverse ? -e : e) & mask;
        return fr_mul(fr_load(low + (e & ((1ul << lg_low) - 1))), fr_load(high + (e >> lg_low)));
    }
};

__device__ __forceinline__ uint32_t reversed(uint32_t v, uint32_t bits) {
    v = (v & 0x55555555u) << 1 | (v >> 1 & 0x55555555u);
    v = (v & 0x33333333u) << 2 | (v >> 2 & 0x33333333u);
    v = (v & 0x0f0f0f0fu) << 4 | (v >> 4 & 0x0f0f0f0fu);
    v = (v & 0x00ff00ffu) << 8 | (v >> 8 & 0x00ff00ffu);
    v = v << 16 | v >> 16;
    return bits == 0 ? 0 : v >> (32 - bits);
}

// The steps of scalars that are given.
extern "C" __global__ void __launch_bounds__(128) points_encode(const fr_t* scalars, uint32_t n, uint16_t* out) {
    uint64_t i = global_id();
    if (i < n) encode(fr_load(scalars + i), out + i * PROGRAM_STEPS);
}

// The steps of the factors at a depth, parts first, first + 1, ...: part p % parts of
// block p / parts is multiplied by c^(p % parts + 1).
extern "C" __global__ void __launch_bounds__(128)
    points_factors(const fr_t* low, const fr_t* high, uint32_t lg_low, uint32_t lg_order, uint32_t first, uint32_t n, uint32_t parts,
                   uint32_t depth, uint32_t coset, uint32_t inverse, uint16_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    roots_t roots = {low, high, lg_low, lg_order};
    uint32_t p = first + (uint32_t)i, lg_radix = parts == 1 ? 1 : 2;
    uint64_t e = (2ul * reversed(p / parts, depth) + coset) << (lg_order - 1 - lg_radix - depth);
    encode(roots.power(e * (p % parts + 1), inverse != 0), out + i * PROGRAM_STEPS);
}

// Item t of a launch over small blocks: what point j of block first + lane is
// multiplied by.
extern "C" __global__ void __launch_bounds__(128)
    points_twists(const fr_t* low, const fr_t* high, uint32_t lg_low, uint32_t lg_order, uint64_t from, uint32_t n, uint32_t lg_lanes,
                  uint32_t first, uint32_t depth, uint32_t coset, uint32_t inverse, fr_t* out) {
    uint64_t i = global_id();
    if (i >= n) return;
    roots_t roots = {low, high, lg_low, lg_order};
    uint64_t t = from + i, lane = t & ((1ul << lg_lanes) - 1);
    uint64_t e = 2ul * reversed(first + (uint32_t)lane, depth) + coset;
    fr_store(out + i, roots.power(e * (t >> lg_lanes), inverse != 0));
}

// Points times the scalars of their parts: steps has one program a part, from that of
// the first item on, or one for all.
extern "C" __global__ void __launch_bounds__(128, 4)
    points_scale(g1_jac* v, uint64_t from, uint32_t n, uint32_t base, uint32_t lg_lanes, uint32_t lg_stride, uint32_t lg_block,
                 uint32_t lg_part, uint32_t parts, uint32_t first, const uint16_t* steps, uint32_t one) {
    uint64_t i = global_id();
    if (i >= n) return;
    places_t places = {base, lg_lanes, lg_stride, lg_block, lg_part, parts, first};
    uint64_t t = from + i;
    uint32_t p = one ? 0 : places.part(t) - places.part(from);
    g1_jac* at = v + places.place(t);
    jac_store(at, multiply(jac_load(at), shared_program{steps + (uint64_t)p * PROGRAM_STEPS}));
}

// Points times scalars of their own, Montgomery form, in the order of the items.
extern "C" __global__ void __launch_bounds__(128, 4)
    points_scale_each(g1_jac* v, uint64_t from, uint32_t n, uint32_t base, uint32_t lg_lanes, uint32_t lg_stride, uint32_t lg_block,
                      uint32_t lg_part, uint32_t parts, uint32_t first, const fr_t* scalars) {
    uint64_t i = global_id();
    if (i >= n) return;
    places_t places = {base, lg_lanes, lg_stride, lg_block, lg_part, parts, first};
    g1_jac* at = v + places.place(from + i);
    jac_store(at, multiply(jac_load(at), own_program(fr_from_mont(fr_load(scalars + i)))));
}

// Pairs 2^lg_half apart become their sum and their difference.
extern "C" __global__ void __launch_bounds__(128, 3) points_pairs(g1_jac* v, uint64_t from, uint32_t n, uint32_t lg_half) {
    uint64_t i = global_id();
    if (i >= n) return;
    uint64_t t = from + i, low = t & ((1ul << lg_half) - 1);
    g1_jac *a = v + ((t - low) * 2 + low), *b = a + (1ul << lg_half);
    g1_jac p = jac_load(a), q = jac_load(b);
    jac_sum_difference(p, q);
    jac_store(a, p);
    jac_store(b, q);
}

// v[first + i] = in[i].
extern "C" __global__ void __launch_bounds__(128) points_load(const g1_affine* in, uint32_t n, uint32_t first, g1_jac* v) {
    uint64_t i = global_id();
    if (i >= n) return;
    g1_affine a = point_load(in + i);
    jac_store(v + first + i, is_infinity(a) ? jac_infinity() : g1_jac{a.x, a.y, fp_set_one()});
}

// dst[to + i] = src[from + i], or src[from - i] where backward, or the same added.
extern "C" __global__ void __launch_bounds__(128)
    points_move(g1_jac* dst, uint32_t to, uint32_t dst_mask, const g1_jac* src, uint32_t from, uint32_t src_mask, uint32_t backward,
                uint32_t add, uint32_t n) {
    uint64_t i = global_id();
    if (i >= n) return;
    uint32_t k = (uint32_t)i;
    g1_jac p = jac_load(src + ((backward ? from - k : from + k) & src_mask));
    g1_jac* at = dst + ((to + k) & dst_mask);
    if (add) p = jac_add(jac_load(at), p);
    jac_store(at, p);
}

// dst[i] = the value number from + i 2^shift of a transform of 2^lg points.
extern "C" __global__ void __launch_bounds__(128)
    points_gather(const g1_jac* v, uint32_t lg, uint32_t from, uint32_t shift, uint32_t n, g1_jac* dst) {
    uint64_t i = global_id();
    if (i < n) jac_store(dst + i, jac_load(v + reversed(from + ((uint32_t)i << shift), lg)));
}

// Affine points, exact. A thread's points share an inversion.
#define AFFINE_SHARE 16

extern "C" __global__ void __launch_bounds__(128) points_affine(const g1_jac* v, uint32_t n, g1_affine* out) {
    uint64_t first = global_id(), width = global_size();
    fp_t before[AFFINE_SHARE] __attribute__((aligned(16)));
    fp_t all = fp_set_one();
    int count = 0;
#pragma unroll 1
    for (uint64_t i = first; i < n && count < AFFINE_SHARE; i += width, count++) {
        fp_t z = fp_load(&v[i].z);
        fp_store(&before[count], all);
        if (!fp_is_zero(z)) all = jac_mul(all, z);
    }
    fp_t inverse = fp_inv(lazy_exact(all));
#pragma unroll 1
    for (count--; count >= 0; count--) {
        uint64_t i = first + (uint64_t)count * width;
        g1_jac p = jac_load(v + i);
        g1_affine a = affine_infinity<fp_t>();
        if (!jac_infinite(p)) {
            fp_t z = jac_mul(inverse, fp_load(&before[count])), zz = jac_sqr(z);
            inverse = jac_mul(inverse, p.z);
            a.x = lazy_exact(jac_mul(p.x, zz));
            a.y = lazy_exact(jac_mul(p.y, jac_mul(z, zz)));
        }
        point_store(out + i, a);
    }
}
