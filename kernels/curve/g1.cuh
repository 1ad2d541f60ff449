// G1: y^2 = x^3 + 4 over Fp.
#pragma once
#include "point.cuh"

typedef affine_t<fp_t> g1_affine;
typedef xyzz_t<fp_t> g1_xyzz;
static_assert(sizeof(g1_affine) == 96 && sizeof(g1_xyzz) == 192, "layout shared with the host");
