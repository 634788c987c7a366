/** The place of the best of some bytes, where this is included; TINYRT_BETTER and
 *  TINYRT_MOST_OF_BYTES say which is the best. */
#ifndef TINYRT_PLACE_S8_H
#define TINYRT_PLACE_S8_H

#include "tinyrt_arg_loop.h"
#include "tinyrt_simd.h"

/** A row shorter than this is soonest done byte by byte. */
#define TINYRT_LONG_ROW 12

/** First the best of all, four bytes at a time, then where it is first. */
static int32_t tinyrt_place_in_row(const int8_t *x, int32_t depth) {
    const int32_t last = depth - 4;
    uint32_t best = tinyrt_load_word(x + last);
    for (int32_t i = 0; i < last; i += 4) {
        best = TINYRT_MOST_OF_BYTES(best, tinyrt_load_word(x + i));
    }
    best = TINYRT_MOST_OF_BYTES(best, (best >> 16) | (best << 16));
    best = TINYRT_MOST_OF_BYTES(best, (best >> 8) | (best << 24));
    int32_t i = 0;
    for (; i < last; i += 4) {
        // A byte of a difference is 0 where borrowing sets a bit that it has not itself.
        const uint32_t differs = tinyrt_load_word(x + i) ^ best;
        if (((differs - 0x01010101U) & ~differs & 0x80808080U) != 0) {
            break;
        }
    }
    while (x[i] != (int8_t)(best & 0xff)) {
        ++i;
    }
    return i;
}

static int32_t tinyrt_place(const int8_t *x, int32_t depth, int32_t step) {
    if ((step == 1) && (depth >= TINYRT_LONG_ROW)) {
        return tinyrt_place_in_row(x, depth);
    }
    return tinyrt_place_one_by_one(x, depth, step);
}

#endif
