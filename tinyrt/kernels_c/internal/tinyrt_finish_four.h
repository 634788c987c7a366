/** Outputs of four pixels, whatever the output zero point. */
#ifndef TINYRT_FINISH_FOUR_H
#define TINYRT_FINISH_FOUR_H

#include "tinyrt_block_four.h"
#include "tinyrt_four_sums.h"
#include "tinyrt_requant4.h"

/** A channel of four pixels. */
static inline void tinyrt_finish_four(const tinyrt_block_s8_params *p, const int32_t *sums,
                                      const int32_t *mult, const int8_t *shift,
                                      const tinyrt_offsets *out, int8_t *y) {
    const int32_t zp = (2 * p->y_zp) + 1;
    const int32_t factor = *mult;
    const int32_t right = *shift;
    uint32_t pixels[4];
    tinyrt_take_apart(sums, pixels);
    const int8_t fourth = tinyrt_requant_alike((int32_t)pixels[3] >> 7, factor, right, zp);
    const int8_t third = tinyrt_requant_alike((int32_t)(pixels[2] << 8) >> 7, factor, right, zp);
    const int8_t second = tinyrt_requant_alike((int32_t)(pixels[1] << 8) >> 7, factor, right, zp);
    const int8_t first = tinyrt_requant_alike((int32_t)(pixels[0] << 8) >> 7, factor, right, zp);
    y[out->fourth] = fourth;
    y[out->third] = third;
    y[out->second] = second;
    y[0] = first;
}

#endif
