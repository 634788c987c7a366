/** One row of activations with eight output channels at a time, whose weights are bytes. */
#ifndef TINYRT_ROW_BYTES_H
#define TINYRT_ROW_BYTES_H

#include "tinyrt_dense_row.h"
#include "tinyrt_dot_bytes.h"

/** The sum of a row. */
static inline int32_t tinyrt_row_sum(const int8_t *x, int32_t taps) {
    int32_t sum = 0;
    const int8_t *const end = x + taps;
    for (const int8_t *const fours = x + (taps & ~3); x != fours; x += 4) {
        sum += x[0] + x[1] + x[2] + x[3];
    }
    while (x != end) {
        TINYRT_SHORT_LOOP;
        sum += *x++;
    }
    return sum;
}

/** Four channels' outputs, from the three sums that hold them.
 *
 *  These are s0 + 2^8 * s1 + 2^16 * s2 + 2^24 * s3, then s2 + 2^8 * s3, and s1 + 2^8 * s0 +
 *  2^16 * s3 + 2^24 * s2, modulo 2^32. The first one less the second one is s0 + 2^8 * s1: with the
 *  low half of the third one it says s1 modulo 2^16, so that 24 bits of s0 are known, and all of
 *  s1. What these leave of the third one does the same for s2 and s3. */
static inline void tinyrt_finish_bytes(const int32_t *sums, const int32_t *mult,
                                       const int8_t *shift, int32_t zp, int8_t *y) {
    const uint32_t upper = (uint32_t)sums[1];
    const uint32_t lower = (uint32_t)sums[0] - (upper << 16);
    const uint32_t swapped = (uint32_t)sums[2];
    /* All four are doubled. */
    const int32_t s0 = (int32_t)((lower - ((swapped - (lower << 8)) << 8)) << 8) >> 7;
    const int32_t s1 = (int32_t)(lower - (uint32_t)(s0 >> 1)) >> 7;
    const uint32_t left = swapped - (uint32_t)(s1 >> 1) - ((uint32_t)s0 << 7);
    const int32_t s2 = (int32_t)((upper - ((left - (upper << 24)) >> 8)) << 8) >> 7;
    const int32_t s3 = (int32_t)(upper - (uint32_t)(s2 >> 1)) >> 7;
    y[0] = tinyrt_requant_doubled(s0, mult[0], shift[0], zp);
    y[1] = tinyrt_requant_doubled(s1, mult[1], shift[1], zp);
    y[2] = tinyrt_requant_doubled(s2, mult[2], shift[2], zp);
    y[3] = tinyrt_requant_doubled(s3, mult[3], shift[3], zp);
}

/** The layer of activations whose sum is known: 128 times that is what raised weights add to every
 *  channel. */
static inline void tinyrt_row_of_bytes(const tinyrt_dense_row_s8_params *p, const int8_t *x,
                                       int32_t sum, int8_t *y) {
    /* A copy: the compiler need not read it again after each output. */
    tinyrt_block_s8_params block = p->block;
    const int32_t zp = (2 * block.y_zp) + 1;
    const int32_t c_in = p->c_in;
    const uint32_t upper = ((uint32_t)sum << 7) * 0x101u;
    const uint32_t all = upper + (upper << 16);
    for (int32_t left = block.c_out; left > 0; left -= 8) {
        int32_t sums[TINYRT_BYTE_SUMS];
        int8_t last[8];
        int8_t *const eight = (left >= 8) ? y : last;
        for (int32_t i = 0; i < TINYRT_BYTE_SUMS; i += 3) {
            sums[i] = (int32_t)((uint32_t)*block.init++ - all);
            sums[i + 1] = (int32_t)((uint32_t)*block.init++ - upper);
            sums[i + 2] = (int32_t)((uint32_t)*block.init++ - all);
        }
        block.w = tinyrt_dot_bytes(block.w, x, c_in, sums);
        for (int32_t i = 0; i < 2; ++i) {
            tinyrt_finish_bytes(sums + (3 * i), block.mult, block.shift, zp, eight + (4 * i));
            block.mult += block.requant_step;
            block.shift += block.requant_step;
        }
        for (int32_t i = 0; (i < left) && (left < 8); ++i) {
            TINYRT_SHORT_LOOP;
            y[i] = last[i];
        }
        y += 8;
    }
}

#endif
