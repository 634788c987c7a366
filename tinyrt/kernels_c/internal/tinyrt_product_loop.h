/** A matrix product on cores with MVE, as the function TINYRT_KERNEL over weights of
 *  TINYRT_WEIGHT_BITS, which are set where this is included, with TINYRT_PRODUCT_ROW. */
#ifndef TINYRT_PRODUCT_LOOP_H
#define TINYRT_PRODUCT_LOOP_H

#include "tinyrt_mve_pairs.h"

/** Bytes of four packed filters. */
static inline int32_t tinyrt_quad_bytes(uint32_t patch) {
    return TINYRT_WEIGHT_BITS / 2 * TINYRT_VECTOR * (1 + (int32_t)(patch >> 16));
}

/** Patches two by two, channels four by four; count is even and not 0. */
TINYRT_NOINLINE static void tinyrt_pairs_of_patches(const tinyrt_product_s8_params *p,
                                                    const int8_t *x, int32_t x_step, int32_t count,
                                                    const int8_t *w, const int32_t *scales,
                                                    int8_t *y, int32_t y_step) {
    const uint32_t patch = tinyrt_mve_patch(p->length);
    const uint32_t blocks = patch >> 16;
    const int32_t fours = p->c_out / 4;
    x += tinyrt_mve_first_bytes(p->length);
    tinyrt_mve_pairs pairs;
    pairs.w = w;
    pairs.scales = scales;
    pairs.rounding = p->rounding;
    pairs.scales_end = scales + (fours * TINYRT_SCALE_WORDS);
    pairs.x_next = 2 * x_step;
    pairs.y_next = (2 * y_step) - (4 * fours);
    pairs.a = x;
    pairs.b = x + x_step;
    pairs.a_end = x + (count * x_step);
    pairs.patch = patch;
    pairs.turns = (blocks <= TINYRT_MVE_CHAIN) ? 0 : ((blocks - TINYRT_MVE_CHAIN + 3) / 4);
    pairs.rest = (blocks - (4 * pairs.turns)) * TINYRT_MVE_BLOCK_BYTES;
    pairs.entry = 0;
    pairs.kept = 0;
    pairs.y_zp = p->y_zp;
    pairs.y = y;
    pairs.y_of_b = y + y_step;
    pairs.p0 = 0;
    tinyrt_mve_patch_pairs(&pairs, p);
}

/** Channels from c on of one patch. */
static void tinyrt_channels_from(const tinyrt_product_s8_params *p, int32_t c, const int8_t *x,
                                 const int8_t *w, const int32_t *scales, int8_t *y) {
    const int32_t *const own = scales + (c / 4 * TINYRT_SCALE_WORDS);
    const tinyrt_product_scales by_fours = {.bias = own,
                                            .mult = own + 4,
                                            .shift = (const int8_t *)(own + 8),
                                            .bias_step = TINYRT_SCALE_WORDS,
                                            .mult_step = TINYRT_SCALE_WORDS,
                                            .shift_step = 4 * TINYRT_SCALE_WORDS};
    tinyrt_product_s8_params rest = *p;
    rest.c_out = p->c_out - c;
    TINYRT_PRODUCT_ROW(&rest, &by_fours, x,
                       w + (c / 4 * tinyrt_quad_bytes(tinyrt_mve_patch(p->length))), y + c);
}

void TINYRT_KERNEL(const tinyrt_product_s8_params *p, const int8_t *x, int32_t x_step,
                   int32_t count, const int8_t *w, const int32_t *scales, int8_t *y,
                   int32_t y_step) {
    const int32_t even = count & ~1;
    const int32_t full = p->c_out & ~3;
    if ((even != 0) && (full != 0)) {
        tinyrt_pairs_of_patches(p, x, x_step, even, w, scales, y, y_step);
    }
    if (even != count) {
        tinyrt_channels_from(p, 0, x + (even * x_step), w, scales, y + (even * y_step));
    }
    if (full != p->c_out) {
        for (int32_t i = 0; i < even; ++i) {
            tinyrt_channels_from(p, full, x + (i * x_step), w, scales, y + (i * y_step));
        }
    }
}

#endif
