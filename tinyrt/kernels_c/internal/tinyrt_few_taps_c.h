/** Pixels of a depthwise layer of floats with few channels in C, included by tinyrt_few_taps.h. */
#ifndef TINYRT_FEW_TAPS_C_H
#define TINYRT_FEW_TAPS_C_H

#include "tinyrt_channel_taps.h"
#include "tinyrt_float.h"
#include "tinyrt_types.h"

/** One filter of all channels, which are four at most, of four pixels x_step apart: sum has the
 *  channels of the first one, then those of the next, and begins with from. Requires: there is a
 *  tap, and neighbouring ones are as far apart as there are channels. */
static inline void tinyrt_few_taps(const tinyrt_channel_taps *taps, int32_t channels,
                                   int32_t x_step, const float *x, const float *w,
                                   const float *from, float *sum) {
    const int32_t run = taps->columns * channels;
    for (int32_t pixel = 0; pixel < 4; ++pixel, x += x_step) {
        for (int32_t c = 0; c < channels; ++c) {
            const float *factors = x + c;
            const float *weights = w + c;
            float acc = *from++;
            for (int32_t rows = taps->rows; rows > 0; --rows) {
                for (int32_t i = 0; i < run; i += channels) {
                    acc = tinyrt_mlaf(acc, factors[i], weights[i]);
                }
                factors += run + taps->x_next;
                weights += run + taps->w_next;
            }
            *sum++ = acc;
        }
    }
}

/** The same of one pixel, with taps as far apart as taps says. */
static inline void tinyrt_few_of_pixel(const tinyrt_channel_taps *taps, int32_t channels,
                                       const float *x, const float *w, const float *from,
                                       float *sum) {
    for (int32_t c = 0; c < channels; ++c) {
        const float *factors = x + c;
        const float *weights = w + c;
        float acc = from[c];
        for (int32_t rows = taps->rows; rows > 0; --rows) {
            for (int32_t left = taps->columns; left > 0; --left) {
                acc = tinyrt_mlaf(acc, *factors, *weights);
                factors += taps->x_tap;
                weights += taps->w_tap;
            }
            factors += taps->x_next;
            weights += taps->w_next;
        }
        sum[c] = acc;
    }
}

#endif
