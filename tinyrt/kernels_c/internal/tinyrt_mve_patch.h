/** Vectors of any length as loops read them: first bytes (1 to 16), then full blocks of 16. */
#ifndef TINYRT_MVE_PATCH_H
#define TINYRT_MVE_PATCH_H

#include "tinyrt_mve.h"

/** A patch's length, as the loops want it: the full blocks from bit 16 on, below them the lanes
 *  that the first bytes take, at the end of a vector. */
static inline uint32_t tinyrt_mve_patch(int32_t length) {
    const uint32_t blocks = (uint32_t)(length - 1) / TINYRT_VECTOR;
    const uint32_t first = (uint32_t)length - blocks * TINYRT_VECTOR;
    return (blocks << 16) | (0xFFFFU & (0xFFFFU << (TINYRT_VECTOR - first)));
}

/** Bytes before a patch's full blocks, 1 to 16. */
static inline int32_t tinyrt_mve_first_bytes(int32_t length) {
    return ((length - 1) % TINYRT_VECTOR) + 1;
}

#endif
