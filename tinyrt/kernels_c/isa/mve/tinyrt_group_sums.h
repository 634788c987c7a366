/** Sums over the features of a group, four at once. */
#ifndef TINYRT_GROUP_SUMS_H
#define TINYRT_GROUP_SUMS_H

#include "tinyrt_group.h"
#include "tinyrt_mve.h"

/** Where four features lie behind the first of them. */
static inline uint32x4_t tinyrt_group_places(const tinyrt_group *g) {
    return vmulq_n_u32(vidupq_n_u32(0, 1), (uint32_t)g->step);
}

static inline uint64_t tinyrt_group_sum(const tinyrt_group *g) {
    const uint32x4_t places = tinyrt_group_places(g);
    const uint32x4_t flip = vdupq_n_u32(g->flip);
    const uint16_t *x = g->x;
    uint64_t sum = 0;
    int32_t left = g->count;
    for (; left >= 4; left -= 4) {
        const uint32x4_t four = vldrhq_gather_shifted_offset_u32(x, places);
        sum = vaddlvaq_u32(sum, veorq_u32(four, flip));
        x += 4 * g->step;
    }
    if (left > 0) {
        const mve_pred16_t rest = vctp32q((uint32_t)left);
        const uint32x4_t four = vldrhq_gather_shifted_offset_z_u32(x, places, rest);
        sum = vaddlvaq_p_u32(sum, veorq_u32(four, flip), rest);
    }
    return sum;
}

/** 16 times each of four features, less the mean. */
static inline int32x4_t tinyrt_group_far(uint32x4_t four, uint32x4_t flip, int32_t mean) {
    const int32x4_t fine = vreinterpretq_s32_u32(vshlq_n_u32(veorq_u32(four, flip), 4));
    return vsubq_n_s32(fine, mean);
}

/** Of squares of 16 times a feature, less the mean. */
static inline uint64_t tinyrt_group_squares(const tinyrt_group *g, int32_t mean) {
    const uint32x4_t places = tinyrt_group_places(g);
    const uint32x4_t flip = vdupq_n_u32(g->flip);
    const uint16_t *x = g->x;
    int64_t squares = 0;
    int32_t left = g->count;
    for (; left >= 4; left -= 4) {
        const uint32x4_t four = vldrhq_gather_shifted_offset_u32(x, places);
        const int32x4_t far = tinyrt_group_far(four, flip, mean);
        squares = vmlaldavaq_s32(squares, far, far);
        x += 4 * g->step;
    }
    if (left > 0) {
        const mve_pred16_t rest = vctp32q((uint32_t)left);
        const uint32x4_t four = vldrhq_gather_shifted_offset_z_u32(x, places, rest);
        const int32x4_t far = tinyrt_group_far(four, flip, mean);
        squares = vmlaldavaq_p_s32(squares, far, far, rest);
    }
    return (uint64_t)squares;
}

#endif
