/** Products with constant weights on lanes of x86: the loop over pixels and channels that
 *  convolutions and dense layers share. */
#ifndef TINYRT_PRODUCT_X86_H
#define TINYRT_PRODUCT_X86_H

#include "tinyrt_output_x86.h"

#ifdef __cplusplus
extern "C" {
#endif

/** offsets: for each pixel, where it begins in x, in bytes. steps: where each of its step_count
 *  groups of four bytes lies from there. tiles: which of TINYRT_TILES each of tile_count groups of
 *  vectors of channels takes. w: groups x steps x vectors x lanes x four. quant: see tinyrt_tile.h.
 *  stride: bytes from one pixel of y to the next. */
typedef struct {
    const int8_t *w;
    const int32_t *quant;
    const int32_t *offsets;
    const int32_t *steps;
    const uint8_t *tiles;
    int32_t tile_count;
    int32_t pixels;
    int32_t step_count;
    int32_t channels;
    int32_t stride;
    tinyrt_output_x86 out;
} tinyrt_product_x86_params;

/** y[i * stride + c] = clamp(requant(first sum + sum(x * w)) + y_zp). x has three readable bytes
 *  behind its last one. y overlaps nothing. */
void tinyrt_product_x86(const tinyrt_product_x86_params *p, const uint8_t *x, const int8_t *w,
                        const int32_t *quant, int8_t *TINYRT_RESTRICT y);

#ifdef __cplusplus
}
#endif

#endif
