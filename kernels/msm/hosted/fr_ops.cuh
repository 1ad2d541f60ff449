// field/fr_ops.cuh for the host.
#pragma once
#include "field.h"

struct fr_t {
    uint32_t v[8];
};

#define fr_modulus {0x00000001, 0xffffffff, 0xfffe5bfe, 0x53bda402, 0x09a1d805, 0x3339d808, 0x299d7d48, 0x73eda753}
#define FR_one_limbs {0xfffffffe, 0x00000001, 0x00034802, 0x5884b7fa, 0xecbc4ff5, 0x998c4fef, 0xacc5056f, 0x1824b159}
#define FR_r2_limbs {0xf3f29c6d, 0xc999e990, 0x87925c23, 0x2b6cedcb, 0x7254398f, 0x05d31496, 0x9f59ff11, 0x0748d9d9}
FIELD_FUNCTIONS(fr, 4, 0xfffffffeffffffffull)
