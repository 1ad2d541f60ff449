// The points of the coset that a quotient in values takes products at: up to six
// cosets of subgroups, the parts. backend/values derives them; backend/cuda/values.go
// writes this.
#pragma once
#include "../field/fr.cuh"

#define MAX_PARTS 6

struct form_t {
    uint32_t lg, parts; // the domain has 2^lg points
    // Part p has the points first[p] ... of the list, at g w^j for j = from[p],
    // from[p] + 2^stride[p], ...; it is a coset of the subgroup of 2^(lg - stride[p]).
    uint32_t first[MAX_PARTS], from[MAX_PARTS], stride[MAX_PARTS];
};

// Where point s of the list lies on the coset.
__device__ __forceinline__ uint32_t index_of(const form_t* f, uint32_t s) {
    uint32_t p = 0;
    while (p + 1 < f->parts && s >= f->first[p + 1]) p++;
    return f->from[p] + ((s - f->first[p]) << f->stride[p]);
}
