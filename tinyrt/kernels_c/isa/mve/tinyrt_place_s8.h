/** The place of the best of some bytes, where this is included; TINYRT_BETTER and
 *  TINYRT_MOST_OF_VECTORS say which is the best. */
#ifndef TINYRT_PLACE_S8_H
#define TINYRT_PLACE_S8_H

#include "tinyrt_arg_loop.h"
#include "tinyrt_mve.h"

/** A row shorter than this is soonest done byte by byte. */
#define TINYRT_LONG_ROW 8

/** The lowest bit that is set; there is one. */
static inline int32_t tinyrt_lowest_bit(uint32_t bits) {
#ifdef __GNUC__
    return __builtin_ctz(bits);
#else
    int32_t lowest = 0;
    for (; (bits & 1) == 0; bits >>= 1) {
        ++lowest;
    }
    return lowest;
#endif
}

/** First the best of all, a vector at a time, then where it is first. */
static int32_t tinyrt_place_in_row(const int8_t *x, int32_t depth) {
    int8x16_t most = vdupq_n_s8(x[0]);
    for (int32_t i = 0; i < depth; i += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(depth - i));
        most = TINYRT_MOST_OF_VECTORS(most, most, vldrbq_z_s8(x + i, lanes), lanes);
    }
    const int8_t best = TINYRT_MOST_IN_VECTOR(x[0], most);
    for (int32_t i = 0;; i += TINYRT_VECTOR) {
        const mve_pred16_t lanes = vctp8q((uint32_t)(depth - i));
        const mve_pred16_t hits = vcmpeqq_m_n_s8(vldrbq_z_s8(x + i, lanes), best, lanes);
        if (hits != 0) {
            return i + tinyrt_lowest_bit(hits);
        }
    }
}

static int32_t tinyrt_place(const int8_t *x, int32_t depth, int32_t step) {
    if ((step == 1) && (depth >= TINYRT_LONG_ROW)) {
        return tinyrt_place_in_row(x, depth);
    }
    return tinyrt_place_one_by_one(x, depth, step);
}

#endif
