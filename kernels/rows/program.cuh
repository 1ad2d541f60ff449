// A compiled circuit on the device: the own rows of each template, cut into
// slices of up to 32 rows, and the list of instances. backend/cuda/rows_pack.go
// makes it of r1cs.Program and says the same in Go.
//
// One warp reads one slice of one instance, a lane a row. The terms of a slice
// lie matrix by matrix, term by term, 32 lanes side by side, filled up with terms
// that add nothing. Combinations of many terms (the packed sums of SHA-256, the
// mixing layers of Poseidon) are not in slices: a warp reads each of them alone.
#pragma once
#include "../field/fr.cuh"
#include "../msm/warp.cuh"

// Classes of a variable, in the two top bits of a reference.
#define REF_CLASS(r) ((r) >> 30)
#define CLASS_INPUT 0u
#define CLASS_BIT 1u
#define CLASS_ELEMENT 2u
#define CLASS_PORT 3u
#define CLASS_INDEX 0x3fffffffu
// Reference 0 is the constant one, everywhere.
#define REF_ONE 0u

// A term: a variable, the index of its coefficient in the low 20 bits, and the
// coefficient itself, if it is a small integer, in the 12 bits above.
struct term_t {
    uint32_t ref, coef;
};
#define COEF_INDEX 0xfffffu
#define COEF_LARGE (-2048)

// Rows row, row + 1, ... of an instance; their terms begin at first. shape is the
// number of rows, then the terms of a row in A, B and C, one byte each.
struct slice_t {
    uint32_t row, first, shape, unused;
};

// One combination read by a whole warp.
struct long_t {
    uint32_t row, first, count, matrix;
};

// Slices and long combinations of all instances are numbered through, template
// by template, instance by instance: unit first_slice is the first slice of the
// template's first instance.
struct template_t {
    uint32_t first_unit, slices, slice, first_long, longs, combination, instance, unused;
};

struct instance_t {
    uint32_t input, bit, element, row, ports;
};

struct program_t {
    const template_t* templates;
    const instance_t* instances;
    const slice_t* slices;
    const long_t* longs;
    const term_t* terms;
    const uint32_t* ports;
    const fr_t* coefs;
    const fr_t* small; // -16 ... 16 in Montgomery form
    uint32_t count, units, long_units, unused;
};
#define SMALL_LIMIT 16

// The template of a unit: the last one that begins at or before it.
template <uint32_t template_t::*FIRST>
__device__ __forceinline__ const template_t* template_of(const program_t* p, uint32_t unit) {
    uint32_t lo = 0, hi = p->count;
    while (hi - lo > 1) {
        uint32_t mid = (lo + hi) / 2;
        if (p->templates[mid].*FIRST <= unit) lo = mid;
        else hi = mid;
    }
    return p->templates + lo;
}

// A template's reference as one of the whole circuit.
__device__ __forceinline__ uint32_t resolve(const program_t* p, const instance_t& at, uint32_t ref) {
    uint32_t c = REF_CLASS(ref);
    if (c == CLASS_PORT) return p->ports[at.ports + (ref & CLASS_INDEX)];
    if (ref == REF_ONE) return ref;
    return ref + (c == CLASS_BIT ? at.bit : c == CLASS_ELEMENT ? at.element : at.input - 1);
}

// The small coefficient of a term, or COEF_LARGE.
__device__ __forceinline__ int32_t small_of(const term_t& t) { return (int32_t)t.coef >> 20; }

// s in Montgomery form.
__device__ __forceinline__ fr_t fr_of_int(const program_t* p, int32_t s) {
    if (s >= -SMALL_LIMIT && s <= SMALL_LIMIT) return fr_load(p->small + (s + SMALL_LIMIT));
    fr_t x = fr_set_zero();
    x.v[0] = (uint32_t)(s < 0 ? -s : s);
    x = fr_to_mont(x);
    return s < 0 ? fr_neg(x) : x;
}

// The sum of x over the lanes of a warp, in all of them.
__device__ __forceinline__ fr_t warp_sum(fr_t x) {
#pragma unroll 1
    for (uint32_t m = 16; m > 0; m /= 2) {
        fr_t y;
#pragma unroll
        for (int i = 0; i < 8; i++) y.v[i] = shuffle_xor(x.v[i], m);
        x = fr_add(x, y);
    }
    return x;
}
