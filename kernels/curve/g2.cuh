// G2: y^2 = x^3 + 4 (u + 1) over Fp2.
#pragma once
#include "point.cuh"

typedef affine_t<fp2_t> g2_affine;
typedef xyzz_t<fp2_t> g2_xyzz;
static_assert(sizeof(g2_affine) == 192 && sizeof(g2_xyzz) == 384, "layout shared with the host");
