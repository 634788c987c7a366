/** Which taps of a window that slides over the output in strides lie on an output. */
#ifndef TINYRT_STRIDES_H
#define TINYRT_STRIDES_H

#include "tinyrt_types.h"

/** Taps first, first + stride, ... as many as count; the i-th belongs to the input x - i. */
typedef struct {
    int32_t first;
    int32_t count;
    int32_t x;
} tinyrt_strided_taps;

/** The taps k of kernel with at = k + stride * x for an input x in [0, size).
 *  Requires: at >= 0, the output's place counted from the first window's first tap. */
static inline tinyrt_strided_taps tinyrt_taps_at(int32_t at, int32_t size, int32_t kernel,
                                                 int32_t stride) {
    int32_t x = at / stride;
    int32_t first = at - (x * stride);
    if (x >= size) {
        first += (x - size + 1) * stride;
        x = size - 1;
    }
    const int32_t left = (first < kernel) ? ((kernel - first + stride - 1) / stride) : 0;
    const tinyrt_strided_taps taps = {first, (left <= (x + 1)) ? left : (x + 1), x};
    return taps;
}

#endif
