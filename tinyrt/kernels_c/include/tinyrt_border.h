/** Copies of activations as unsigned bytes, inside the border that a window reaches into. */
#ifndef TINYRT_BORDER_H
#define TINYRT_BORDER_H

#include "tinyrt_types.h"

#include <string.h>

/** What a copy with a border looks like, in elements; fill is what the border's bytes hold. */
typedef struct {
    int32_t h;
    int32_t w;
    int32_t top;
    int32_t left;
    int32_t fill;
} tinyrt_border;

/** y = x + 128, each element copies times. */
static inline void tinyrt_flip(const int8_t *TINYRT_RESTRICT x, uint8_t *TINYRT_RESTRICT y,
                               int32_t count, int32_t copies) {
    if (copies == 1) {
        for (int32_t i = 0; i < count; ++i) {
            y[i] = (uint8_t)((uint8_t)x[i] ^ 128U);
        }
        return;
    }
    for (int32_t i = 0; i < count; ++i) {
        memset(y + i * copies, (uint8_t)x[i] ^ 128U, (size_t)copies);
    }
}

/** One image (x.h, x.w, x.c) + 128 inside its border, each channel copies times. */
static inline void tinyrt_pad_flip(const tinyrt_nhwc *shape, const tinyrt_border *border,
                                   int32_t copies, const int8_t *x, uint8_t *y) {
    const int32_t pixel = shape->c * copies;
    const int32_t row = border->w * pixel;
    const int32_t inner = shape->w * pixel;
    const int32_t left = border->left * pixel;
    const int32_t below = border->h - border->top - shape->h;
    memset(y, border->fill, (size_t)(border->top * row));
    y += border->top * row;
    for (int32_t i = 0; i < shape->h; ++i) {
        memset(y, border->fill, (size_t)left);
        tinyrt_flip(x, y + left, shape->w * shape->c, copies);
        memset(y + left + inner, border->fill, (size_t)(row - left - inner));
        x += shape->w * shape->c;
        y += row;
    }
    memset(y, border->fill, (size_t)(below * row));
}

#endif
